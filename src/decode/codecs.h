/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codecs: the table of image codecs, and which row decodes an image.
 *
 * Purpose: the only place that knows which codecs exist.
 *
 * Threads: pure.
 */
#ifndef SL_CODECS_H
#define SL_CODECS_H

#include "codec.h"

/* For codecs: returns the view of `need` in an image of its own size, whose RGB rows are at
 * `pixels` without gaps. */
static inline sl_image sl_codec_view(const uint8_t *pixels, sl_rect need, sl_picture picture)
{
    return (sl_image){.pixels = pixels,
                      .width = need.width,
                      .height = need.height,
                      .channels = 3,
                      .stride_bytes = (size_t)need.width * 3,
                      .origin_x = need.x,
                      .origin_y = need.y,
                      .picture_width = picture.width,
                      .picture_height = picture.height,
                      .denominator = 1};
}

#define SL_CODECS_MAX 15

/* The codecs of this folder; each .c file describes its own. */
extern const sl_codec sl_codec_png, sl_codec_raw, sl_codec_webp;

/* Ends with NULL. Each codec has a row in the table of media (media.h), by its number. */
extern const sl_codec *const sl_codecs[SL_CODECS_MAX + 1];

/*
 * Finds the row of the codec with this number; with SL_CODEC_BY_BYTES (value.h), of the codec for
 * the kind of media that the bytes are. Errors: CORRUPT (empty, not an image), UNSUPPORTED (no
 * codec for it).
 */
sluice_status sl_codec_find(uint8_t number, sl_bytes bytes, uint32_t *row, sluice_error *error);
/* "JPEG": the name in the table of media. */
const char *sl_codec_name(const sl_codec *codec);

#endif
