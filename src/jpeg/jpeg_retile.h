/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_retile: rewrites a JPEG so that parts of it can be decoded separately, without changing a
 * pixel.
 *
 * Purpose: a lossless transcode (coefficients, quantisation tables, sampling and colours stay) to
 * sequential Huffman coding in one scan, with optimised tables and a restart interval
 * (jpeg_tiles.h), or, if the fastest form is requested (jpeg_form.h), with the usual tables or no
 * interval if that is better. Any decoder reads the result. Every image is read back and compared
 * before it is returned (jpeg_readback.h); the caller keeps an image that cannot be written this
 * way. Strictness: as decoder.h for a whole decode, so an image that ends early is CORRUPT. Bytes
 * after the image in its file are dropped. Memory: address space for the coefficients of
 * max_pixels, reused between images; the pages of unusually large ones are released. libjpeg takes
 * all memory from there. Threads: one owner thread per retiler.
 */
#ifndef SL_JPEG_RETILE_H
#define SL_JPEG_RETILE_H

#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* The version of the rule that chooses the fastest form: part of the pack id. */
#define SL_JPEG_FASTEST_RULE 1

typedef struct sl_jpeg_retiler sl_jpeg_retiler;

typedef struct sl_jpeg_retile_options {
    uint64_t max_pixels; /* a larger image is UNSUPPORTED */
    size_t max_bytes;    /* a larger result is not made: the image is kept */
    uint32_t tile_mcus;  /* in an interval; 0: automatic */
    bool drop_metadata;  /* jpeg_segments.h */
    bool fastest;        /* choose the form that decodes fastest, which may be the original */
} sl_jpeg_retile_options;

/* The outcome for an image. */
typedef enum sl_jpeg_outcome {
    SL_JPEG_NONE,       /* not a JPEG */
    SL_JPEG_RETILED,    /* rewritten */
    SL_JPEG_AS_ASKED,   /* kept, because the caller wants that */
    SL_JPEG_FAST,       /* kept: no other form decodes faster */
    SL_JPEG_LARGE_MCU,  /* kept: its components do not fit into one scan */
    SL_JPEG_INCOMPLETE, /* kept: scans are missing, and decoders compensate */
    SL_JPEG_UNUSUAL,    /* kept: sequential coding, or the memory, does not allow it */
    SL_JPEG_DIFFERENT,  /* kept: a bug, the result was a different image */
    SL_JPEG_OUTCOMES
} sl_jpeg_outcome;

/* Errors: NOMEM. */
sluice_status sl_jpeg_retiler_open(sl_jpeg_retiler **out, const sl_jpeg_retile_options *options,
                                   sluice_error *error);
/* NULL is a no-op. */
void sl_jpeg_retiler_close(sl_jpeg_retiler *retiler);

/*
 * Reads the header of `jpeg`, which must stay until the run. `*memory_bytes`: approximate maximum
 * memory of the run. Errors: as sl_codec_size, and UNSUPPORTED for a sampling that libjpeg cannot
 * decode.
 */
sluice_status sl_jpeg_retiler_begin(sl_jpeg_retiler *retiler, sl_bytes jpeg, uint64_t *memory_bytes,
                                    sluice_error *error);
/*
 * Rewrites the image. RETILED: `*retiled` is in the retiler's memory until the next begin.
 * Otherwise the image should be kept and `error` gives the reason, though the status is OK. Errors:
 * CORRUPT, UNSUPPORTED (scans), NOMEM, CANCELED (the thread's stop, stop.h).
 */
sluice_status sl_jpeg_retiler_run(sl_jpeg_retiler *retiler, sl_jpeg_outcome *outcome,
                                  sl_bytes *retiled, sluice_error *error);

#endif
