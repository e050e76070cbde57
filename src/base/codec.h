/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: the contract of one picture format: a row in the table of decode/decoder.c.
 *
 * Owner thread and memory: those of the decoder that the state belongs to. A codec keeps nothing
 * between pictures but what its `open` made: picture N never depends on picture N-1.
 * Seam: `decode` may return less than the whole picture and may scale it down, as long as the view
 * covers `need`; a codec that can decode a region alone does it here.
 */
#ifndef SL_CODEC_H
#define SL_CODEC_H

#include "scratch.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_picture {
    uint32_t width, height; /* pixels */
} sl_picture;

/* Ways to decode a JPEG that a decoder can do without: they are only quicker. */
enum {
    SL_ROAD_KERNELS = 1,  /* our own instead of libjpeg's */
    SL_ROAD_INTERVALS = 2 /* the restart intervals under a rectangle, as a JPEG of their own */
};

/* What the codec works on: set up by the decoder, the same for header and decode. */
typedef struct sl_codec_source {
    sl_bytes bytes;
    sl_scratch *scratch;
    uint64_t max_pixels;
    uint32_t avoid; /* an or of SL_ROAD_*: ways of decoding not to take */
} sl_codec_source;

/* What the header says. */
typedef struct sl_codec_info {
    sl_picture stored;
    uint32_t orientation; /* EXIF, 1..8; 1 when there is none */
} sl_codec_info;

/* What to decode, in stored orientation. */
typedef struct sl_codec_request {
    sl_rect need;         /* inside the picture; its edges are multiples of the denominator, or the
                             picture's right and lower edge */
    uint32_t denominator; /* 1, 2, 4 or 8: the view may be scaled down by as much, or by less */
} sl_codec_request;

typedef struct sl_codec {
    const char *name;
    /* Whether the bytes begin like this format. */
    bool (*probe)(sl_bytes bytes);
    /* Per-decoder state; NULL state is fine for codecs without any. */
    sluice_status (*open)(void **state, sluice_error *error);
    void (*close)(void *state);
    sluice_status (*header)(void *state, const sl_codec_source *source, sl_codec_info *info,
                            sluice_error *error);
    /* After header of the same source. */
    sluice_status (*decode)(void *state, const sl_codec_source *source,
                            const sl_codec_request *request, sl_image *view, sluice_error *error);
} sl_codec;

/*
 * Reads the size of a picture of this codec, as stored, with a state of its own: for writers and
 * checks. Any thread. Errors: those of `header`.
 */
sluice_status sl_codec_size(const sl_codec *codec, sl_bytes bytes, uint64_t max_pixels,
                            sl_picture *picture, sluice_error *error);

#endif
