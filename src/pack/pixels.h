/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels: pictures whose pixels a pack looks at: stored as such, or made smaller.
 *
 * Purpose: a picture is decoded whole; as stored where it becomes a JPEG, which keeps its EXIF
 * orientation, and as pixels, which have none, the way up that its field was annotated in. Where
 * its longer side is above a limit it is resampled by the antialiasing filter that training uses
 * (augment/canvas/resample.h), from all of its pixels; then it is pixels, or a JPEG. The same
 * picture gives the same bytes, whoever makes it, with one version of libjpeg. Threads: one owner.
 */
#ifndef SL_PIXELS_H
#define SL_PIXELS_H

#include "decoder.h"
#include "piece.h"
#include "simd.h"

typedef struct sl_pixels_config {
    uint32_t max_side; /* of pictures; 0: any */
    uint32_t quality;  /* of JPEGs, 1..100 */
    bool drop_profile; /* ICC profiles do not go along */
    bool optimise;     /* JPEGs get Huffman tables of their own */
} sl_pixels_config;

typedef struct sl_pixels {
    sl_pixels_config config;
    sl_decoder *decoder; /* NULL: closed */
    sl_scratch scratch;  /* for coding */
    sl_simd simd;
} sl_pixels;

/* Errors: NOMEM. */
sluice_status sl_pixels_open(sl_pixels *pixels, const sl_pixels_config *config,
                             sluice_error *error);
/* A zeroed one may be closed. */
void sl_pixels_close(sl_pixels *pixels);

static inline bool sl_pixels_too_large(const sl_pixels_config *config, sl_picture size)
{
    return config->max_side > 0 &&
           (size.width > config->max_side || size.height > config->max_side);
}

/* What a picture of such a size becomes: the longer side is the limit, the other one in
 * proportion, rounded, at least 1. */
sl_picture sl_pixels_smaller(sl_picture size, uint32_t max_side);

/* What is known of the picture, and what becomes of it. */
typedef struct sl_pixels_wish {
    bool as_pixels;
    sluice_orientation orientation; /* of its field */
    int64_t annotated[2];           /* BY_SIZE: width and height; 0: nobody knows them */
    bool dependent;   /* places in it are stored beside it, which go by how it was annotated */
    const char *mask; /* a field stored beside it, whose own size tells that; NULL: none */
} sl_pixels_wish;

/*
 * Replaces the picture `value`, which is not a frame, by its pixels, smaller if it is too large, or
 * by a JPEG of them where not as_pixels and it was not pixels before. `*piece`, whose old memory
 * is freed, holds it. Errors: of the decoder; NOMEM, CANCELED; CORRUPT: its size does not tell
 * which way up it was annotated.
 */
sluice_status sl_pixels_replace(sl_pixels *pixels, const sl_allowance *allowance,
                                const sl_pixels_wish *wish, sl_value *value, uint8_t **piece,
                                sluice_error *error);

#endif
