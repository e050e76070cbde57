/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: makes a converter's tables once, then rows: the operations after a program's last canvas
 * (run.h) are done strip by strip, and each strip is converted. A converter is immutable once made;
 * pixels in between are in the caller's scratch.
 */
#include "apply.h"

#include "clock.h"
#include "convert.h"
#include "crop.h"
#include "erase.h"
#include "error.h"
#include "mix_rows.h"
#include "resample.h"
#include "run.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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

void sl_converter_fill(sl_converter *converter, const float scales[3], const float biases[3])
{
    converter->tools = (sl_tools){.simd = sl_simd_best()};
    converter->finite = true;
    for (size_t c = 0; c < 3; c++) {
        fill_channel(converter, c, scales[c], biases[c]);
    }
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

static sluice_status apply_no_memory(sluice_error *error, uint32_t width, uint32_t height)
{
    return sl_error_set(error, SLUICE_NOMEM, "augment", "no scratch memory for %u x %u pixels",
                        width, height);
}

/* Source of finished rows: one of three. */
typedef struct row_source {
    uint8_t *canvas; /* NULL: not used */
    bool is_crop;
    sl_crop crop;
    sl_resampler resampler;
} row_source;

static sluice_status source_open(row_source *source, const sl_run *run, const sl_image *view,
                                 uint8_t *canvas)
{
    const sl_mapping box = sl_run_box(run, 0);
    source->canvas = canvas;
    if (canvas != NULL) {
        return SLUICE_OK;
    }
    source->is_crop = sl_crop_open(&source->crop, run->tools->simd, view, &box);
    return source->is_crop ? SLUICE_OK
                           : sl_resampler_open(&source->resampler, run->tools->simd, view, &box,
                                               run->scratch, run->error);
}

static void source_rows(const row_source *source, uint32_t width, uint32_t first, uint32_t rows,
                        uint8_t *to)
{
    const size_t stride = (size_t)width * 3;
    for (uint32_t i = 0; i < rows; i++) {
        if (source->is_crop) {
            sl_crop_row(&source->crop, first + i, to + i * stride);
        } else {
            memcpy(to + i * stride, sl_resampler_row(&source->resampler, first + i), stride);
        }
    }
}

/* Resamples rows one by one, each converted at once. */
static void convert_resampled(const sl_converter *converter, const sl_resampler *resampler,
                              void *row)
{
    sl_convert *convert = sl_convert_for(converter);
    for (uint32_t y = 0; y < converter->height; y++) {
        convert(converter, sl_resampler_row(resampler, y), (size_t)y * converter->width,
                converter->width, row);
    }
}

/* Makes, processes and converts as many rows at a time as stay in the nearest cache. */
static sluice_status apply_finish(const sl_converter *converter, const sl_run *run,
                                  const row_source *source, const sl_chain *chain, void *row)
{
    const uint32_t width = converter->width;
    const uint32_t height = converter->height;
    const size_t stride = (size_t)width * 3;
    const bool direct = leaves_bytes(converter);
    const uint32_t strip = sl_strip_rows(width);
    uint8_t *pixels = NULL;
    if (!direct && source->canvas == NULL) {
        pixels = sl_scratch_take(run->scratch, stride * strip);
        if (pixels == NULL) {
            return apply_no_memory(run->error, width, height);
        }
    }
    sl_convert *convert = sl_convert_for(converter);
    for (uint32_t y = 0; y < height; y += strip) {
        const uint32_t rows = height - y < strip ? height - y : strip;
        uint8_t *at = direct                   ? (uint8_t *)row + y * stride
                      : source->canvas != NULL ? source->canvas + y * stride
                                               : pixels;
        if (source->canvas == NULL) {
            source_rows(source, width, y, rows, at);
        } else if (direct && source->canvas != row) {
            memcpy(at, source->canvas + y * stride, rows * stride);
        }
        sl_chain_apply(run, chain, at, width, y, rows);
        if (!direct) {
            convert(converter, at, (size_t)y * width, (size_t)rows * width, row);
        }
    }
    return SLUICE_OK;
}

static sluice_status apply(const sl_converter *converter, const sl_run *run, const sl_image *view,
                           void *row)
{
    const bool direct = leaves_bytes(converter);
    row_source source = {.canvas = NULL};
    sl_run_result result;
    sluice_status status = sl_run_program(run, view, direct ? row : NULL,
                                          direct ? sl_converter_row_bytes(converter) : 0, &result);
    if (status == SLUICE_OK) {
        status = source_open(&source, run, view, result.canvas);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (result.canvas == NULL && !source.is_crop && result.chain.count == 0) {
        convert_resampled(converter, &source.resampler, row);
        return SLUICE_OK;
    }
    return apply_finish(converter, run, &source, &result.chain, row);
}

sluice_status sl_augment_apply(const sl_converter *converter, const sl_image *view,
                               const sl_params *params, const sl_apply_work *work, void *row,
                               sluice_error *error)
{
    assert(params->width == converter->width && params->height == converter->height);
    const sl_run run = {.tools = &converter->tools,
                        .params = params,
                        .scratch = work->scratch,
                        .error = error,
                        .profile = work->profile,
                        .unmirrored = work->unmirrored,
                        .work = work->work};
    const size_t mark = sl_scratch_mark(work->scratch);
    const sluice_status status = apply(converter, &run, view, row);
    sl_scratch_release(work->scratch, mark);
    return status;
}

/* ---- rows of several images ---- */

size_t sl_canvas_bytes(const sl_params *params)
{
    return (size_t)params->geometries[0].warp.width * params->geometries[0].warp.height * 3;
}

void sl_canvas_begin(const sl_params *params, uint8_t *canvas)
{
    const sl_warp *warp = &params->geometries[0].warp;
    assert(warp->keeps);
    for (uint32_t y = 0; y < warp->height; y++) {
        sl_fill_colour(canvas + (size_t)y * warp->width * 3, warp->width, warp->fill);
    }
}

static sl_run canvas_run(const sl_converter *converter, const sl_params *params,
                         const sl_apply_work *work, sluice_error *error)
{
    return (sl_run){.tools = &converter->tools,
                    .params = params,
                    .scratch = work->scratch,
                    .error = error,
                    .profile = work->profile,
                    .work = work->work};
}

sluice_status sl_canvas_tile(const sl_converter *converter, const sl_image *view,
                             const sl_params *params, const sl_apply_work *work, uint8_t *canvas,
                             sluice_error *error)
{
    const sl_run run = canvas_run(converter, params, work, error);
    const uint64_t began = work->profile != NULL ? sl_now_ns() : 0;
    const sluice_status status = sl_run_geometry(&run, 0, view, canvas);
    if (work->profile != NULL) {
        work->profile->ns[SL_OPERATION_GEOMETRY] += sl_now_ns() - began;
    }
    return status;
}

size_t sl_layer_bytes(const sl_params *params)
{
    return (size_t)params->layer_width * params->layer_height * 3;
}

/* Blends the second layer into the first. */
static void blend(const sl_converter *converter, const sl_params *params, uint8_t *pixels,
                  const uint8_t *second)
{
    const sl_converter bytes = {.dtype = SLUICE_U8,
                                .layout = SLUICE_NHWC,
                                .width = params->layer_width,
                                .height = params->layer_height,
                                .tools = converter->tools,
                                .finite = true};
    sl_mix_rows(&bytes,
                &(sl_mix_side){.samples = pixels, .row = pixels, .how = {.weight = params->share}},
                &(sl_mix_side){.samples = second});
}

void sl_put_over(const uint8_t *over, size_t pixels, size_t pixel_bytes, const uint8_t *from,
                 uint8_t *to)
{
    enum { AT_A_TIME = sizeof(uint64_t) };
    const uint64_t all = UINT64_C(0x0101010101010101);
    for (size_t first = 0; first < pixels; first += AT_A_TIME) {
        const size_t left = pixels - first;
        const size_t count = left < AT_A_TIME ? left : AT_A_TIME;
        uint64_t some = 0;
        memcpy(&some, over + first, count);
        if (some == all) {
            memcpy(to + first * pixel_bytes, from + first * pixel_bytes, AT_A_TIME * pixel_bytes);
            continue;
        }
        for (size_t i = first; some != 0 && i < first + count; i++) {
            if (over[i] != 0) {
                memcpy(to + i * pixel_bytes, from + i * pixel_bytes, pixel_bytes);
            }
        }
    }
}

sluice_status sl_layer_make(const sl_converter *converter, const sl_params *params,
                            const sl_apply_work *work, const sl_layer *layer, sluice_error *error)
{
    const sl_run run = canvas_run(converter, params, work, error);
    const size_t mark = sl_scratch_mark(work->scratch);
    const bool second = params->layer > 0;
    uint8_t *made = NULL;
    const sluice_status status =
        sl_run_layer(&run, layer->view, layer->tiles, second ? NULL : layer->pixels, &made);
    if (status == SLUICE_OK && second) {
        const uint64_t began = work->profile != NULL ? sl_now_ns() : 0;
        if (layer->over != NULL) {
            sl_put_over(layer->over, (size_t)params->layer_width * params->layer_height, 3, made,
                        layer->pixels);
        } else {
            blend(converter, params, layer->pixels, made);
        }
        if (work->profile != NULL) {
            work->profile->ns[SL_OPERATION_MIXING] += sl_now_ns() - began;
        }
    }
    sl_scratch_release(work->scratch, mark);
    return status;
}

sluice_status sl_canvas_end(const sl_converter *converter, const sl_params *params,
                            const sl_apply_work *work, uint8_t *canvas, void *row,
                            sluice_error *error)
{
    assert(params->width == converter->width && params->height == converter->height);
    const sl_run run = canvas_run(converter, params, work, error);
    const size_t mark = sl_scratch_mark(work->scratch);
    const bool direct = leaves_bytes(converter);
    sl_run_result result;
    sluice_status status = sl_run_operations(
        &run, canvas, direct ? row : NULL, direct ? sl_converter_row_bytes(converter) : 0, &result);
    if (status == SLUICE_OK) {
        const row_source source = {.canvas = result.canvas};
        status = apply_finish(converter, &run, &source, &result.chain, row);
    }
    sl_scratch_release(work->scratch, mark);
    return status;
}
