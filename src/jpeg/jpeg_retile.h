/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_retile: rewrites a JPEG so that parts of it can be decoded alone, without changing a pixel.
 *
 * Purpose: a lossless transcode (coefficients, quantisation tables, sampling and colours stay) to
 * sequential Huffman coding in one scan, with optimised tables and a restart interval
 * (jpeg_tiles.h), or, when asked for the fastest form (jpeg_form.h), with the usual tables or no
 * interval where that is better. Any decoder reads the result. Every picture is read back and
 * compared before it is handed out (jpeg_readback.h); one that cannot be written this way is for
 * the caller to keep. Strictness: as decoder.h for a whole decode, so a picture that ends early is
 * CORRUPT. What follows the picture in its file is left behind. Memory: address space for the
 * coefficients of max_pixels, used again from one picture to the next; the pages of unusually large
 * ones are given back. libjpeg takes all from there. Threads: one owner thread per retiler.
 */
#ifndef SL_JPEG_RETILE_H
#define SL_JPEG_RETILE_H

#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* The number of the rule by which the fastest form is chosen: in the pack id. */
#define SL_JPEG_FASTEST_RULE 1

typedef struct sl_jpeg_retiler sl_jpeg_retiler;

typedef struct sl_jpeg_retile_options {
    uint64_t max_pixels; /* a larger picture is UNSUPPORTED */
    size_t max_bytes;    /* a larger result is not made: the picture is to be kept */
    uint32_t tile_mcus;  /* in an interval; 0: automatic */
    bool drop_metadata;  /* jpeg_segments.h */
    bool fastest;        /* take the form that is decoded fastest, which may be the one at hand */
} sl_jpeg_retile_options;

/* What becomes of a picture. */
typedef enum sl_jpeg_outcome {
    SL_JPEG_NONE,       /* not a JPEG */
    SL_JPEG_RETILED,    /* written anew */
    SL_JPEG_AS_ASKED,   /* kept as it is, because the caller wants that */
    SL_JPEG_FAST,       /* kept: nothing else would be decoded faster */
    SL_JPEG_LARGE_MCU,  /* kept: its components do not fit into one scan */
    SL_JPEG_INCOMPLETE, /* kept: scans are missing, and decoders make up for them */
    SL_JPEG_UNUSUAL,    /* kept: something that sequential coding, or the memory, does not allow */
    SL_JPEG_DIFFERENT,  /* kept: a bug, the result was not the same picture */
    SL_JPEG_OUTCOMES
} sl_jpeg_outcome;

/* Errors: NOMEM. */
sluice_status sl_jpeg_retiler_open(sl_jpeg_retiler **out, const sl_jpeg_retile_options *options,
                                   sluice_error *error);
/* NULL is fine. */
void sl_jpeg_retiler_close(sl_jpeg_retiler *retiler);

/*
 * Reads the header of `jpeg`, which must stay until the run. `*memory_bytes`: what the run will
 * hold at most, nearly. Errors: as sl_codec_size, and UNSUPPORTED for a sampling that libjpeg
 * cannot decode.
 */
sluice_status sl_jpeg_retiler_begin(sl_jpeg_retiler *retiler, sl_bytes jpeg, uint64_t *memory_bytes,
                                    sluice_error *error);
/*
 * Rewrites it. RETILED: `*retiled` is in the retiler's memory until the next begin. Otherwise
 * the picture is to be kept and `error` says why, though the status is OK. Errors: CORRUPT,
 * UNSUPPORTED (scans), NOMEM, CANCELED (the thread's stop, stop.h).
 */
sluice_status sl_jpeg_retiler_run(sl_jpeg_retiler *retiler, sl_jpeg_outcome *outcome,
                                  sl_bytes *retiled, sluice_error *error);

#endif
