/* SPDX-License-Identifier: Apache-2.0 */
#include "pixels.h"

#include "error.h"
#include "jpeg_codec.h"
#include "jpeg_write.h"
#include "memory.h"
#include "resample.h"
#include "stop.h"

#include <string.h>

/* Memory of an encoder: the coefficients of the largest image, and rows. Mostly address space. */
#define CODING_BYTES      ((size_t)SL_RECORD_PIXELS_MAX * 8 + ((size_t)64 << 20))
#define CODING_KEEP_BYTES ((size_t)16 << 20)

sluice_status sl_pixels_open(sl_pixels *pixels, const sl_pixels_config *config, sluice_error *error)
{
    const sl_decoder_config how = {.max_pixels = SL_RECORD_PIXELS_MAX,
                                   .max_unpacked_bytes = SL_RECORD_IMAGE_MAX,
                                   .exif = SLUICE_EXIF_IGNORE,
                                   .stop = sl_stop_of_thread()};
    *pixels = (sl_pixels){.config = *config, .simd = sl_simd_best()};
    sluice_status status = sl_decoder_open(&pixels->decoder, &how, error);
    if (status == SLUICE_OK && config->max_side > 0) {
        status = sl_scratch_open(&pixels->scratch, CODING_BYTES, CODING_KEEP_BYTES, error);
        if (status < 0) {
            sl_decoder_close(pixels->decoder);
            *pixels = (sl_pixels){.decoder = NULL};
        }
    }
    return status;
}

void sl_pixels_close(sl_pixels *pixels)
{
    if (pixels->decoder != NULL && pixels->config.max_side > 0) {
        sl_scratch_close(&pixels->scratch);
    }
    sl_decoder_close(pixels->decoder);
    *pixels = (sl_pixels){.decoder = NULL};
}

static uint32_t in_proportion(uint32_t shorter, uint32_t longer, uint32_t limit)
{
    const uint64_t side = ((uint64_t)shorter * limit * 2 + longer) / ((uint64_t)longer * 2);
    return side > 0 ? (uint32_t)side : 1;
}

sl_picture sl_pixels_smaller(sl_picture size, uint32_t max_side)
{
    return size.width >= size.height
               ? (sl_picture){max_side, in_proportion(size.height, size.width, max_side)}
               : (sl_picture){in_proportion(size.width, size.height, max_side), max_side};
}

/* Takes all pixels of the open image, in new memory. */
static sluice_status pixels_take_pixels(sl_pixels *pixels, const sl_allowance *allowance,
                                        sl_picture size, sl_picture wanted, uint8_t **rgb,
                                        sluice_error *error)
{
    const sl_rect all = {0, 0, size.width, size.height};
    sl_image view;
    sluice_status status = sl_decoder_decode(pixels->decoder, all, 0, 0, &view, error);
    if (status == SLUICE_OK) {
        status = sl_piece_new(allowance, (uint64_t)wanted.width * wanted.height * 3, rgb, error);
    }
    if (status < 0 || *rgb == NULL) {
        return status;
    }
    if (wanted.width == size.width && wanted.height == size.height) {
        sl_image_copy(&view, *rgb);
        return SLUICE_OK;
    }
    const sl_mapping mapping = {.source = all,
                                .virtual_width = wanted.width,
                                .virtual_height = wanted.height,
                                .width = wanted.width,
                                .height = wanted.height};
    return sl_resample(pixels->simd, &view, &mapping, *rgb, sl_decoder_scratch(pixels->decoder),
                       error);
}

/* Memory that was charged. */
typedef struct made {
    uint8_t *data;
    size_t bytes;
} made;

/* Encodes pixels of a size as a JPEG. */
static sluice_status code(sl_pixels *pixels, const sl_allowance *allowance, const sl_value *source,
                          sl_picture size, made *rgb, sluice_error *error)
{
    made jpeg = {NULL, 0};
    const bool has_profile = source->codec == sl_codec_jpeg.number && !pixels->config.drop_profile;
    const sl_jpeg_picture picture = {.rgb = rgb->data,
                                     .width = size.width,
                                     .height = size.height,
                                     .quality = pixels->config.quality,
                                     .orientation = sl_decoder_orientation(pixels->decoder),
                                     .optimise = pixels->config.optimise,
                                     .profile_of = has_profile ? source->bytes : (sl_bytes){0}};
    sl_scratch_reset(&pixels->scratch);
    sluice_status status =
        sl_jpeg_write(&picture, &pixels->scratch, &jpeg.data, &jpeg.bytes, error);
    if (status == SLUICE_OK) {
        status = sl_allowance_charge(allowance, jpeg.bytes, error);
    }
    if (status < 0) {
        sl_free(jpeg.data);
        return status;
    }
    if (allowance != NULL) {
        allowance->give_back(allowance->ctx, rgb->bytes);
    }
    sl_free(rgb->data);
    *rgb = jpeg;
    return SLUICE_OK;
}

/* Checks that the annotated width and height determine the orientation of the image. */
static sluice_status check_sides(const sl_turn *stored, const int64_t sides[2], sluice_error *error)
{
    const bool known = sides[0] > 0 && sides[1] > 0;
    if (known && sl_turn_by_size(stored, sides[0], sides[1]) != SLUICE_ORIENTATION_AUTO) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_CORRUPT, "pack",
                        "the image is %u x %u with EXIF orientation %u, and %s in which "
                        "orientation it was annotated: its pixels cannot be stored without it",
                        stored->width, stored->height, stored->orientation,
                        known ? "its size does not show" : "no width and height show");
}

/*
 * Applies the orientation, since pixels have no EXIF. A size that fits neither orientation stays,
 * for loaders to report.
 */
static sluice_status turn_pixels(const sl_pixels *pixels, const sl_pixels_wish *wish,
                                 sl_picture *size, sluice_error *error)
{
    const sl_turn stored = sl_decoder_stored(pixels->decoder);
    sluice_status status = SLUICE_OK;
    bool turns = false;
    if (sl_turn_is_none(&stored)) {
        return SLUICE_OK;
    }
    const bool fits = sl_decoder_turns(pixels->decoder, SLUICE_EXIF_AUTO, wish->orientation,
                                       wish->annotated, &turns, NULL) == SLUICE_OK;
    if (fits && wish->orientation == SLUICE_ORIENTATION_BY_SIZE && wish->dependent) {
        status = check_sides(&stored, wish->annotated, error);
    }
    if (status == SLUICE_OK && wish->mask != NULL && sl_turn_keeps_size(&stored)) {
        status = sl_error_set(
            error, SLUICE_CORRUPT, "pack",
            "the image is %u x %u with EXIF orientation %u, and the size of \"%s\" does not show "
            "in which orientation it was drawn: its pixels cannot be stored without it",
            stored.width, stored.height, stored.orientation, wish->mask);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    sl_decoder_turn(pixels->decoder, fits && turns, size);
    return SLUICE_OK;
}

sluice_status sl_pixels_replace(sl_pixels *pixels, const sl_allowance *allowance,
                                const sl_pixels_wish *wish, sl_value *value, uint8_t **piece,
                                sluice_error *error)
{
    const bool stays = wish->as_pixels || value->codec == SL_CODEC_RAW;
    sl_picture size;
    made result = {NULL, 0};
    sluice_status status = sl_decoder_open_picture(pixels->decoder, value, &size, error);
    if (status == SLUICE_OK && stays) {
        status = turn_pixels(pixels, wish, &size, error);
    }
    if (status < 0) {
        return status;
    }
    const sl_picture wanted = sl_pixels_too_large(&pixels->config, size)
                                  ? sl_pixels_smaller(size, pixels->config.max_side)
                                  : size;
    result.bytes = (size_t)wanted.width * wanted.height * 3;
    status = pixels_take_pixels(pixels, allowance, size, wanted, &result.data, error);
    if (status == SLUICE_OK && !stays) {
        status = code(pixels, allowance, value, wanted, &result, error);
    }
    if (status < 0) {
        sl_free(result.data);
        return status;
    }
    sl_free(*piece); /* the image may have been there */
    *piece = result.data;
    value->bytes = (sl_bytes){result.data, result.bytes};
    value->codec = stays ? SL_CODEC_RAW : sl_codec_jpeg.number;
    value->width = wanted.width;
    value->height = wanted.height;
    return SLUICE_OK;
}
