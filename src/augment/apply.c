/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: makes a converter's tables once, then rows: each row is cropped or resampled, and
 * converted at once unless operations need the whole picture. A converter is immutable once made;
 * pixels in between are in the caller's scratch.
 */
#include "apply.h"

#include "convert.h"
#include "crop.h"
#include "error.h"
#include "resample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define STRIP_BYTES ((size_t)12 << 10)

static uint32_t output_bits(sluice_dtype dtype, uint32_t value, float result)
{
    uint32_t bits = value;
    switch (dtype) {
    case SLUICE_F32:
        memcpy(&bits, &result, sizeof(bits));
        break;
    case SLUICE_F16:
        bits = sl_half_from_float(result);
        break;
    case SLUICE_BF16:
        bits = sl_bfloat16_from_float(result);
        break;
    default:
        assert(dtype == SLUICE_U8);
        break;
    }
    return bits;
}

static void fill_channel(sl_converter *converter, size_t channel, float scale, float bias)
{
    for (uint32_t value = 0; value < 256; value++) {
        const float result = fmaf((float)value, scale, bias);
        converter->table[channel][value] = output_bits(converter->dtype, value, result);
        converter->finite = converter->finite && isfinite(result);
    }
    const bool planes = converter->layout == SLUICE_NCHW;
    for (size_t i = 0; i < SL_CONVERT_STEP; i++) {
        const size_t place = planes ? channel * SL_CONVERT_STEP + i : i * 3 + channel;
        converter->scales[place] = scale;
        converter->biases[place] = bias;
    }
}

sluice_status sl_converter_make(sl_converter *converter, const sluice_augment *recipe,
                                sluice_dtype dtype, sluice_layout layout, sluice_error *error)
{
    if (recipe->width == 0) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "the recipe has no geometry step");
    }
    for (uint32_t i = 0; i < recipe->count && dtype == SLUICE_U8; i++) {
        if (recipe->steps[i].kind->convert != NULL) {
            return sl_error_set(error, SLUICE_INVALID, "augment",
                                "%s needs a floating dtype, not u8", recipe->steps[i].kind->name);
        }
    }
    if (dtype < SLUICE_U8 || dtype > SLUICE_BF16) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "dtype %d is not for pictures",
                            (int)dtype);
    }
    *converter = (sl_converter){.dtype = dtype,
                                .layout = layout,
                                .width = recipe->width,
                                .height = recipe->height,
                                .simd = sl_simd_best(),
                                .finite = true};
    for (size_t c = 0; c < 3; c++) {
        float scale = 1.0F / 255.0F;
        float bias = 0.0F;
        for (uint32_t i = 0; i < recipe->count; i++) {
            if (recipe->steps[i].kind->convert != NULL) {
                recipe->steps[i].kind->convert(recipe->steps[i].arguments, c, &scale, &bias);
            }
        }
        fill_channel(converter, c, scale, bias);
    }
    return SLUICE_OK;
}

void sl_converter_factors(const sl_converter *converter, size_t c, float *scale, float *bias)
{
    const size_t place = converter->layout == SLUICE_NCHW ? c * SL_CONVERT_STEP : c;
    *scale = converter->scales[place];
    *bias = converter->biases[place];
}

void sl_converter_leave_bytes(sl_converter *converter)
{
    converter->dtype = SLUICE_U8;
    converter->layout = SLUICE_NHWC;
}

size_t sl_converter_row_bytes(const sl_converter *converter)
{
    return (size_t)converter->width * converter->height * 3 * sl_dtype_bytes(converter->dtype);
}

static bool leaves_bytes(const sl_converter *converter)
{
    return converter->dtype == SLUICE_U8 && converter->layout == SLUICE_NHWC;
}

static sluice_status apply_no_memory(sluice_error *error, const sl_mapping *mapping)
{
    return sl_error_set(error, SLUICE_NOMEM, "augment", "no scratch memory for %u x %u pixels",
                        mapping->width, mapping->height);
}

/* All of the picture in 8 bits, worked on in place, then converted where that changes anything. */
static sluice_status apply_with_operations(const sl_converter *converter, const sl_image *view,
                                           const sl_params *params, void *row, sl_scratch *scratch,
                                           sluice_error *error)
{
    const bool direct = leaves_bytes(converter);
    const sl_mapping *mapping = &params->mapping;
    const size_t stride = (size_t)mapping->width * 3;
    uint8_t *pixels = direct ? row : sl_scratch_take(scratch, stride * mapping->height);
    if (pixels == NULL) {
        return apply_no_memory(error, mapping);
    }
    const sluice_status status =
        sl_resample(converter->simd, view, mapping, pixels, scratch, error);
    if (status == SLUICE_OK) {
        for (uint32_t i = 0; i < params->operation_count; i++) {
            params->operations[i].apply(pixels, mapping->width, mapping->height,
                                        params->operations[i].amount);
        }
        if (!direct) {
            sl_convert_for(converter)(converter, pixels, 0,
                                      (size_t)mapping->width * mapping->height, row);
        }
    }
    return status;
}

/* As many rows at a time as stay in the nearest cache. */
static sluice_status apply_crop(const sl_converter *converter, const sl_crop *crop,
                                const sl_mapping *mapping, void *row, sl_scratch *scratch,
                                sluice_error *error)
{
    const size_t stride = (size_t)mapping->width * 3;
    if (leaves_bytes(converter)) {
        for (uint32_t y = 0; y < mapping->height; y++) {
            sl_crop_row(crop, y, (uint8_t *)row + y * stride);
        }
        return SLUICE_OK;
    }
    const uint32_t strip = stride < STRIP_BYTES ? (uint32_t)(STRIP_BYTES / stride) : 1;
    uint8_t *pixels = sl_scratch_take(scratch, stride * strip);
    if (pixels == NULL) {
        return apply_no_memory(error, mapping);
    }
    sl_convert *convert = sl_convert_for(converter);
    for (uint32_t y = 0; y < mapping->height; y += strip) {
        const uint32_t left = mapping->height - y;
        const uint32_t rows = left < strip ? left : strip;
        for (uint32_t i = 0; i < rows; i++) {
            sl_crop_row(crop, y + i, pixels + i * stride);
        }
        convert(converter, pixels, (size_t)y * mapping->width, (size_t)rows * mapping->width, row);
    }
    return SLUICE_OK;
}

static sluice_status apply(const sl_converter *converter, const sl_image *view,
                           const sl_mapping *mapping, void *row, sl_scratch *scratch,
                           sluice_error *error)
{
    sl_crop crop;
    if (sl_crop_open(&crop, converter->simd, view, mapping)) {
        return apply_crop(converter, &crop, mapping, row, scratch, error);
    }
    sl_resampler resampler;
    const sluice_status status =
        sl_resampler_open(&resampler, converter->simd, view, mapping, scratch, error);
    if (status == SLUICE_OK) {
        sl_convert *convert = sl_convert_for(converter);
        for (uint32_t y = 0; y < mapping->height; y++) {
            convert(converter, sl_resampler_row(&resampler, y), (size_t)y * mapping->width,
                    mapping->width, row);
        }
    }
    return status;
}

sluice_status sl_augment_apply(const sl_converter *converter, const sl_image *view,
                               const sl_params *params, void *row, sl_scratch *scratch,
                               sluice_error *error)
{
    assert(params->mapping.width == converter->width &&
           params->mapping.height == converter->height);
    const size_t mark = sl_scratch_mark(scratch);
    const sluice_status status =
        params->operation_count > 0
            ? apply_with_operations(converter, view, params, row, scratch, error)
            : apply(converter, view, &params->mapping, row, scratch, error);
    sl_scratch_release(scratch, mark);
    return status;
}
