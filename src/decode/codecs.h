/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codecs: the table of picture codecs, and which row takes a picture.
 *
 * Purpose: the only place that knows which codecs there are. Threads: pure.
 */
#ifndef SL_CODECS_H
#define SL_CODECS_H

#include "codec.h"

/* For codecs: the view of `need`, whose rows of RGB are at `pixels` without gaps, of a picture in
 * its own size. */
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

/* Those of this folder; each .c says what it does. */
extern const sl_codec sl_codec_png, sl_codec_raw, sl_codec_webp;

/* NULL behind the last. Each has a row in the table of media (media.h), by its number. */
extern const sl_codec *const sl_codecs[SL_CODECS_MAX + 1];

/*
 * The row of the codec with this number; with SL_CODEC_BY_BYTES (value.h) that of the kind of media
 * that the bytes are. Errors: CORRUPT (empty, not a picture), UNSUPPORTED (there is no codec for
 * it).
 */
sluice_status sl_codec_find(uint8_t number, sl_bytes bytes, uint32_t *row, sluice_error *error);
/* "JPEG": as the table of media has it. */
const char *sl_codec_name(const sl_codec *codec);

#endif
