/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels: decodes images in a pack, to store their pixels or to make them smaller.
 *
 * Purpose: an image is decoded whole. If it becomes a JPEG, it keeps its orientation and EXIF; as
 * pixels, which have no EXIF, it gets the orientation in which its field was annotated. If its
 * longer side exceeds a limit, it is resampled from all of its pixels, with the antialiasing filter
 * that training uses (augment/canvas/resample.h); the result is pixels or a JPEG. The same image
 * gives the same bytes on any thread, with one version of libjpeg. Threads: one owner.
 */
#ifndef SL_PIXELS_H
#define SL_PIXELS_H

#include "decoder.h"
#include "piece.h"
#include "simd.h"

typedef struct sl_pixels_config {
    uint32_t max_side; /* limit for images; 0: none */
    uint32_t quality;  /* JPEG quality, 1..100 */
    bool drop_profile; /* true if ICC profiles are dropped */
    bool optimise;     /* true if JPEGs get their own Huffman tables */
} sl_pixels_config;

typedef struct sl_pixels {
    sl_pixels_config config;
    sl_decoder *decoder; /* NULL: closed */
    sl_scratch scratch;  /* for encoding */
    sl_simd simd;
} sl_pixels;

/* Errors: NOMEM. */
sluice_status sl_pixels_open(sl_pixels *pixels, const sl_pixels_config *config,
                             sluice_error *error);
/* Releases `pixels`, which may be zeroed. */
void sl_pixels_close(sl_pixels *pixels);

static inline bool sl_pixels_too_large(const sl_pixels_config *config, sl_picture size)
{
    return config->max_side > 0 &&
           (size.width > config->max_side || size.height > config->max_side);
}

/*
 * Returns the new size of an image: the longer side is the limit, the other one proportional,
 * rounded, at least 1.
 */
sl_picture sl_pixels_smaller(sl_picture size, uint32_t max_side);

/* Known facts about the image, and what it becomes. */
typedef struct sl_pixels_wish {
    bool as_pixels;
    sluice_orientation orientation; /* of its field */
    int64_t annotated[2];           /* BY_SIZE: width and height; 0: unknown */
    bool dependent;   /* true if positions in the image are stored with it, which depend on its
                         annotated orientation */
    const char *mask; /* a field stored with it, whose own size determines that; NULL: none */
} sl_pixels_wish;

/*
 * Replaces the image `value`, which is not a frame, by its pixels, downscaled if it is too large,
 * or by a JPEG of them unless as_pixels or it already was pixels. The result is in `*piece`, whose
 * previous memory is freed. Errors: those of the decoder; NOMEM, CANCELED; CORRUPT: its size does
 * not determine the annotated orientation.
 */
sluice_status sl_pixels_replace(sl_pixels *pixels, const sl_allowance *allowance,
                                const sl_pixels_wish *wish, sl_value *value, uint8_t **piece,
                                sluice_error *error);

#endif
