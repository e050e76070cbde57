/* SPDX-License-Identifier: Apache-2.0 */
#include "finish.h"

#include "error.h"
#include "resample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static uint32_t output_bits(sluice_dtype dtype, uint32_t value, float scale, float bias)
{
    float result = fmaf((float)value, scale, bias);
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

sluice_status sl_converter_make(sl_converter *converter, const sluice_augment *recipe,
                                sluice_dtype dtype, sluice_layout layout, sluice_error *error)
{
    if (recipe->geometry == SL_GEOMETRY_NONE) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "the recipe has no geometry step");
    }
    if (recipe->normalize && dtype == SLUICE_U8) {
        return sl_error_set(error, SLUICE_INVALID, "augment",
                            "normalize needs a floating dtype, not u8");
    }
    if (dtype < SLUICE_U8 || dtype > SLUICE_BF16) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "dtype %d is not for pictures",
                            (int)dtype);
    }
    *converter = (sl_converter){
        .dtype = dtype, .layout = layout, .width = recipe->width, .height = recipe->height};
    for (int c = 0; c < 3; c++) {
        float deviation = recipe->normalize ? recipe->stddev[c] : 1.0F;
        float mean = recipe->normalize ? recipe->mean[c] : 0.0F;
        float scale = 1.0F / (255.0F * deviation);
        float bias = recipe->normalize ? -mean / deviation : 0.0F;
        for (uint32_t value = 0; value < 256; value++) {
            converter->table[c][value] = output_bits(dtype, value, scale, bias);
        }
    }
    return SLUICE_OK;
}

static size_t element_bytes(sluice_dtype dtype)
{
    if (dtype == SLUICE_U8) {
        return 1;
    }
    return dtype == SLUICE_F32 ? 4 : 2;
}

size_t sl_converter_row_bytes(const sl_converter *converter)
{
    return (size_t)converter->width * converter->height * 3 * element_bytes(converter->dtype);
}

/* One channel of `count` pixels to every `step`th element of `out`. */
static void convert_channel(const uint8_t *pixels, size_t count, const uint32_t table[256],
                            sluice_dtype dtype, void *out, size_t step)
{
    if (dtype == SLUICE_F32) {
        uint32_t *elements = out;
        for (size_t i = 0; i < count; i++) {
            elements[i * step] = table[pixels[i * 3]];
        }
    } else if (dtype == SLUICE_U8) {
        uint8_t *elements = out;
        for (size_t i = 0; i < count; i++) {
            elements[i * step] = pixels[i * 3];
        }
    } else {
        uint16_t *elements = out;
        for (size_t i = 0; i < count; i++) {
            elements[i * step] = (uint16_t)table[pixels[i * 3]];
        }
    }
}

static void convert(const sl_converter *converter, const uint8_t *pixels, void *row)
{
    size_t count = (size_t)converter->width * converter->height;
    bool planes = converter->layout == SLUICE_NCHW;
    size_t channel_bytes = element_bytes(converter->dtype) * (planes ? count : 1);
    for (size_t c = 0; c < 3; c++) {
        convert_channel(pixels + c, count, converter->table[c], converter->dtype,
                        (uint8_t *)row + c * channel_bytes, planes ? 1 : 3);
    }
}

sluice_status sl_augment_apply(const sl_converter *converter, const sl_image *view,
                               const sl_params *params, void *row, sl_scratch *scratch,
                               sluice_error *error)
{
    assert(params->width == converter->width && params->height == converter->height);
    bool direct = converter->dtype == SLUICE_U8 && converter->layout == SLUICE_NHWC;
    size_t mark = sl_scratch_mark(scratch);
    size_t stride = (size_t)params->width * 3;
    uint8_t *pixels = direct ? row : sl_scratch_take(scratch, stride * params->height);
    if (pixels == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "augment", "no scratch memory for %u x %u pixels",
                            params->width, params->height);
    }
    sluice_status status = sl_resample(view, params, pixels, stride, scratch, error);
    if (status == SLUICE_OK) {
        sl_jitter(pixels, params->width, params->height, params);
        if (!direct) {
            convert(converter, pixels, row);
        }
    }
    sl_scratch_release(scratch, mark);
    return status;
}
