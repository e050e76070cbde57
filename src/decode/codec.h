/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: the contract of one picture format, a row in the table of decoder.c.
 *
 * Owner thread and memory: those of the decoder that the state belongs to. A codec keeps nothing
 * between pictures but what its `open` made: picture N never depends on picture N-1.
 * Seam: `decode` may return less than the whole picture and may scale it down, as long as the view
 * covers `need`; a codec that can decode a region alone does it here.
 */
#ifndef SL_CODEC_H
#define SL_CODEC_H

#include "decoder.h"

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
    /* 1 when the bytes begin like this format. */
    int (*probe)(sl_bytes bytes);
    /* Per-decoder state; NULL state is fine for codecs without any. */
    sluice_status (*open)(void **state, sluice_error *error);
    void (*close)(void *state);
    sluice_status (*header)(void *state, const sl_codec_source *source, sl_codec_info *info,
                            sluice_error *error);
    /* After header of the same source. */
    sluice_status (*decode)(void *state, const sl_codec_source *source,
                            const sl_codec_request *request, sl_image *view, sluice_error *error);
} sl_codec;

extern const sl_codec sl_codec_jpeg;

#endif
