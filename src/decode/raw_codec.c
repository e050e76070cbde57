/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_codec: pixels as a codec (base/codec.h): u8 RGB, rows from the top, nothing before or
 * between.
 *
 * The bytes say neither their size nor what they are, so both must be given with them. The view is
 * the bytes themselves.
 *
 * Threads: pure.
 */
#include "codecs.h"

#include "error.h"
#include "value.h"

static bool raw_peek(const sl_codec_source *source, sl_picture *picture)
{
    const uint64_t pixels = (uint64_t)source->claimed.width * source->claimed.height;
    *picture = source->claimed;
    return pixels > 0 && source->bytes.size % 3 == 0 && source->bytes.size / 3 == pixels;
}

static sluice_status raw_header(void *state, const sl_codec_source *source, sl_codec_info *info,
                                sluice_error *error)
{
    (void)state;
    *info = (sl_codec_info){.orientation = 1};
    const bool fits = raw_peek(source, &info->stored);
    const sluice_status status = sl_codec_check_pixels(source, info->stored, error);
    if (status != SLUICE_OK || fits) {
        return status;
    }
    return sl_error_set(error, SLUICE_CORRUPT, "decode",
                        "%zu bytes are not the raw pixels of an image of %u x %u",
                        source->bytes.size, info->stored.width, info->stored.height);
}

static sluice_status raw_pixels(void *state, const sl_codec_source *source,
                                const sl_codec_request *request, sl_image *view,
                                sluice_error *error)
{
    (void)state;
    (void)request;
    (void)error;
    const sl_picture picture = source->claimed;
    const sl_rect whole = {.width = picture.width, .height = picture.height};
    *view = sl_codec_view(source->bytes.data, whole, picture);
    return SLUICE_OK;
}

const sl_codec sl_codec_raw = {
    .number = SL_CODEC_RAW,
    .denominator_max = 1,
    .peek = raw_peek,
    .header = raw_header,
    .pixels = raw_pixels,
};
