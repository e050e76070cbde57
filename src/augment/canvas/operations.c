/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operations: maps an operation's values to the arguments of a kernel. Pure; on a worker, with its
 * scratch.
 */
#include "operations.h"

#include "blur.h"
#include "box_blur.h"
#include "elastic.h"
#include "erase.h"
#include "error.h"
#include "geometry.h"
#include "pixels.h"
#include "run.h"
#include "sharpness.h"
#include "tables.h"

#include <string.h>

static void same_for_all(uint8_t table[3][SL_LUT_SIZE])
{
    memcpy(table[1], table[0], SL_LUT_SIZE);
    memcpy(table[2], table[0], SL_LUT_SIZE);
}

/* ---- tables ---- */

static void brightness_table(const sl_operation *operation, const sl_measured *measured,
                             uint8_t table[3][SL_LUT_SIZE])
{
    (void)measured;
    sl_lut_brightness(table[0], (float)operation->values[0]);
    same_for_all(table);
}

static void contrast_table(const sl_operation *operation, const sl_measured *measured,
                           uint8_t table[3][SL_LUT_SIZE])
{
    sl_lut_contrast(table[0], measured->mean_grey, (float)operation->values[0]);
    same_for_all(table);
}

static void posterize_table(const sl_operation *operation, const sl_measured *measured,
                            uint8_t table[3][SL_LUT_SIZE])
{
    (void)measured;
    sl_lut_posterize(table[0], (uint32_t)operation->values[0]);
    same_for_all(table);
}

static void solarize_table(const sl_operation *operation, const sl_measured *measured,
                           uint8_t table[3][SL_LUT_SIZE])
{
    (void)measured;
    sl_lut_solarize(table[0], operation->values[0]);
    same_for_all(table);
}

static void solarize_add_table(const sl_operation *operation, const sl_measured *measured,
                               uint8_t table[3][SL_LUT_SIZE])
{
    (void)measured;
    sl_lut_solarize_add(table[0], (int32_t)operation->values[0], (int32_t)operation->values[1]);
    same_for_all(table);
}

static void invert_table(const sl_operation *operation, const sl_measured *measured,
                         uint8_t table[3][SL_LUT_SIZE])
{
    (void)operation;
    (void)measured;
    sl_lut_invert(table[0]);
    same_for_all(table);
}

static void autocontrast_table(const sl_operation *operation, const sl_measured *measured,
                               uint8_t table[3][SL_LUT_SIZE])
{
    (void)operation;
    for (size_t c = 0; c < 3; c++) {
        sl_lut_autocontrast(table[c], measured->histogram[c]);
    }
}

static void equalize_table(const sl_operation *operation, const sl_measured *measured,
                           uint8_t table[3][SL_LUT_SIZE])
{
    (void)operation;
    for (size_t c = 0; c < 3; c++) {
        sl_lut_equalize(table[c], measured->histogram[c]);
    }
}

const sl_operation_kind sl_operation_brightness = {.name = "brightness",
                                                   .number = SL_OPERATION_BRIGHTNESS,
                                                   .table = brightness_table};
const sl_operation_kind sl_operation_contrast = {.name = "contrast",
                                                 .number = SL_OPERATION_CONTRAST,
                                                 .measure = SL_MEASURE_GREY,
                                                 .table = contrast_table};
const sl_operation_kind sl_operation_posterize = {.name = "posterize",
                                                  .number = SL_OPERATION_POSTERIZE,
                                                  .table = posterize_table};
const sl_operation_kind sl_operation_solarize = {.name = "solarize",
                                                 .number = SL_OPERATION_SOLARIZE,
                                                 .table = solarize_table};
const sl_operation_kind sl_operation_solarize_add = {.name = "solarize_add",
                                                     .number = SL_OPERATION_SOLARIZE_ADD,
                                                     .table = solarize_add_table};
const sl_operation_kind sl_operation_invert = {.name = "invert",
                                               .number = SL_OPERATION_INVERT,
                                               .table = invert_table};
const sl_operation_kind sl_operation_autocontrast = {.name = "autocontrast",
                                                     .number = SL_OPERATION_AUTOCONTRAST,
                                                     .measure = SL_MEASURE_HISTOGRAM,
                                                     .table = autocontrast_table};
const sl_operation_kind sl_operation_equalize = {.name = "equalize",
                                                 .number = SL_OPERATION_EQUALIZE,
                                                 .measure = SL_MEASURE_HISTOGRAM,
                                                 .table = equalize_table};

/* ---- rows ---- */

static void saturation_rows(const sl_operation *operation, const sl_tools *tools, uint8_t *pixels,
                            uint32_t first_row, uint32_t rows)
{
    (void)first_row;
    sl_pixel_kernels_for(tools->simd)
        ->blend_grey(pixels, (size_t)operation->width * rows, (float)operation->values[0]);
}

static void grey_rows(const sl_operation *operation, const sl_tools *tools, uint8_t *pixels,
                      uint32_t first_row, uint32_t rows)
{
    (void)first_row;
    sl_pixel_kernels_for(tools->simd)->grey(pixels, (size_t)operation->width * rows);
}

static void hue_rows(const sl_operation *operation, const sl_tools *tools, uint8_t *pixels,
                     uint32_t first_row, uint32_t rows)
{
    (void)first_row;
    sl_pixel_kernels_for(tools->simd)
        ->hue(pixels, (size_t)operation->width * rows, sl_hue_shift(operation->values[0]));
}

static void hsv_rows(const sl_operation *operation, const sl_tools *tools, uint8_t *pixels,
                     uint32_t first_row, uint32_t rows)
{
    const sl_hsv_change change = {.hue = (uint8_t)operation->values[0],
                                  .saturation = (float)operation->values[1],
                                  .value = (float)operation->values[2]};
    (void)first_row;
    sl_pixel_kernels_for(tools->simd)->hsv(pixels, (size_t)operation->width * rows, &change);
}

static void permute_rows(const sl_operation *operation, const sl_tools *tools, uint8_t *pixels,
                         uint32_t first_row, uint32_t rows)
{
    const uint8_t order[3] = {(uint8_t)operation->values[0], (uint8_t)operation->values[1],
                              (uint8_t)operation->values[2]};
    (void)first_row;
    sl_pixel_kernels_for(tools->simd)->permute(pixels, (size_t)operation->width * rows, order);
}

static void erase_rows(const sl_operation *operation, const sl_tools *tools, uint8_t *pixels,
                       uint32_t first_row, uint32_t rows)
{
    const double *v = operation->values;
    const uint32_t left = (uint32_t)v[0];
    const uint32_t top = (uint32_t)v[1];
    const uint32_t width = (uint32_t)v[2];
    const uint32_t bottom = top + (uint32_t)v[3];
    const uint8_t colour[3] = {(uint8_t)v[4], (uint8_t)v[5], (uint8_t)v[6]};
    const sl_noise noise = {.key = operation->key,
                            .mean = {(float)v[4], (float)v[5], (float)v[6]},
                            .stddev = {(float)v[7], (float)v[8], (float)v[9]}};
    (void)tools;
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t y = first_row + row;
        uint8_t *at = pixels + ((size_t)row * operation->width + left) * 3;
        if (y < top || y >= bottom) {
            continue;
        }
        if (operation->key != 0) {
            sl_fill_noise(at, width, &noise, (uint64_t)y * operation->width + left);
        } else {
            sl_fill_colour(at, width, colour);
        }
    }
}

const sl_operation_kind sl_operation_saturation = {.name = "saturation",
                                                   .number = SL_OPERATION_SATURATION,
                                                   .rows = saturation_rows};
const sl_operation_kind sl_operation_grey = {.name = "grayscale",
                                             .number = SL_OPERATION_GREY,
                                             .rows = grey_rows};
const sl_operation_kind sl_operation_hue = {.name = "hue",
                                            .number = SL_OPERATION_HUE,
                                            .rows = hue_rows};
const sl_operation_kind sl_operation_hsv = {.name = "hsv",
                                            .number = SL_OPERATION_HSV,
                                            .rows = hsv_rows};
const sl_operation_kind sl_operation_permute = {.name = "permute_channels",
                                                .number = SL_OPERATION_PERMUTE,
                                                .rows = permute_rows};
const sl_operation_kind sl_operation_erase = {.name = "erase",
                                              .number = SL_OPERATION_ERASE,
                                              .rows = erase_rows};

/* ---- canvases ---- */

static sluice_status sharpness_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    return sl_sharpness(work->run->tools->simd, &work->in, (float)operation->values[0], work->out,
                        work->run->scratch, work->run->error);
}

static sluice_status gaussian_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    const sl_gaussian blur = {.kernel_x = (uint32_t)operation->values[0],
                              .kernel_y = (uint32_t)operation->values[1],
                              .sigma_x = operation->values[2],
                              .sigma_y = operation->values[3]};
    return sl_blur_gaussian(work->run->tools->simd, &work->in, &blur, work->out, work->run->scratch,
                            work->run->error);
}

static sluice_status box_blur_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    const sl_boxes boxes = sl_boxes_gaussian((float)operation->values[0]);
    return sl_box_blur(work->run->tools->simd, &work->in, &boxes, work->out, work->run->scratch,
                       work->run->error);
}

static sluice_status elastic_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    const double *values = operation->values;
    const double *fill = values + SL_ELASTIC_FILL;
    const sl_elastic elastic = {.alpha = {values[0], values[1]},
                                .sigma = {values[2], values[3]},
                                .key = operation->key,
                                .nearest = values[SL_ELASTIC_INTERPOLATION] == SL_NEAREST,
                                .fill = {(uint8_t)fill[0], (uint8_t)fill[1], (uint8_t)fill[2]}};
    return sl_elastic_apply(&work->in, &elastic, work->out, work->run->scratch, work->run->error);
}

static sluice_status jpeg_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    sl_jpeg_function *const jpeg = work->run->tools->jpeg;
    if (jpeg == NULL) {
        return sl_error_set(work->run->error, SLUICE_UNSUPPORTED, "augment",
                            "step \"jpeg\" is not available: no JPEG codec");
    }
    return jpeg(&work->in, (int)operation->values[0], work->out, work->run->scratch,
                work->run->error);
}

/* Returns the source of the pixel at `at` of a padded axis. */
static uint32_t padded_from(int64_t at, uint32_t size, sl_pad_mode mode)
{
    const int64_t last = (int64_t)size - 1;
    if (mode == SL_PAD_EDGE || size == 1) {
        return (uint32_t)(at < 0 ? 0 : at > last ? last : at);
    }
    const int64_t period = mode == SL_PAD_REFLECT ? 2 * last : 2 * (int64_t)size;
    int64_t place = at % period;
    place += place < 0 ? period : 0;
    if (place > last) {
        place = mode == SL_PAD_REFLECT ? period - place : period - 1 - place;
    }
    return (uint32_t)place;
}

static sluice_status pad_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    const int64_t left = (int64_t)operation->values[0];
    const int64_t top = (int64_t)operation->values[1];
    const sl_pad_mode mode = (sl_pad_mode)(int)operation->values[2];
    const size_t stride = (size_t)operation->width * 3;
    for (uint32_t y = 0; y < operation->height; y++) {
        const uint8_t *from =
            work->in.pixels +
            (size_t)padded_from(y - top, work->in.height, mode) * work->in.width * 3;
        uint8_t *to = work->out + y * stride;
        for (int64_t x = 0; x < left; x++) {
            memcpy(to + x * 3, from + (size_t)padded_from(x - left, work->in.width, mode) * 3, 3);
        }
        memcpy(to + left * 3, from, (size_t)work->in.width * 3);
        for (int64_t x = left + work->in.width; x < operation->width; x++) {
            memcpy(to + x * 3, from + (size_t)padded_from(x - left, work->in.width, mode) * 3, 3);
        }
    }
    return SLUICE_OK;
}

static sluice_status geometry_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    return sl_run_geometry(work->run, (uint32_t)operation->values[0], &work->in, work->out);
}

static sluice_status mix_canvas(const sl_operation *operation, const sl_canvas_work *work)
{
    return sl_run_mix(work->run, operation, work->in.pixels, work->out);
}

/* ---- in place ---- */

static sluice_status native_in_place(const sl_operation *operation, const sl_run *run,
                                     uint8_t *pixels)
{
    const sl_native *native = operation->native;
    const int result =
        native->function(pixels, operation->width, operation->height, (size_t)operation->width * 3,
                         operation->key, native->user_data);
    return result == 0
               ? SLUICE_OK
               : sl_error_set(run->error, SLUICE_UNSUPPORTED, "augment",
                              "native step \"%s\": its function returned %d for an image of "
                              "%u x %u",
                              native->name, result, operation->width, operation->height);
}

const sl_operation_kind sl_operation_native = {.name = "native",
                                               .number = SL_OPERATION_NATIVE,
                                               .in_place = native_in_place};
const sl_operation_kind sl_operation_sharpness = {.name = "sharpness",
                                                  .number = SL_OPERATION_SHARPNESS,
                                                  .canvas = sharpness_canvas};
const sl_operation_kind sl_operation_gaussian_blur = {.name = "gaussian_blur",
                                                      .number = SL_OPERATION_GAUSSIAN_BLUR,
                                                      .canvas = gaussian_canvas};
const sl_operation_kind sl_operation_box_blur = {.name = "box_blur",
                                                 .number = SL_OPERATION_BOX_BLUR,
                                                 .canvas = box_blur_canvas};
const sl_operation_kind sl_operation_elastic = {.name = "elastic_transform",
                                                .number = SL_OPERATION_ELASTIC,
                                                .canvas = elastic_canvas};
const sl_operation_kind sl_operation_jpeg = {.name = "jpeg",
                                             .number = SL_OPERATION_JPEG,
                                             .canvas = jpeg_canvas};
const sl_operation_kind sl_operation_pad = {.name = "pad",
                                            .number = SL_OPERATION_PAD,
                                            .canvas = pad_canvas};
const sl_operation_kind sl_operation_geometry = {.name = "geometry",
                                                 .number = SL_OPERATION_GEOMETRY,
                                                 .canvas = geometry_canvas};
const sl_operation_kind sl_operation_mix = {.name = "aug_mix",
                                            .number = SL_OPERATION_MIX,
                                            .canvas = mix_canvas};
const sl_operation_kind sl_operation_chain = {.name = "chain", .number = SL_OPERATION_CHAIN};

const char *sl_operation_name(sl_operation_number number)
{
    static const sl_operation_kind *const kinds[SL_OPERATION_MIXING] = {
        &sl_operation_geometry,      &sl_operation_brightness,   &sl_operation_contrast,
        &sl_operation_posterize,     &sl_operation_solarize,     &sl_operation_solarize_add,
        &sl_operation_invert,        &sl_operation_autocontrast, &sl_operation_equalize,
        &sl_operation_saturation,    &sl_operation_grey,         &sl_operation_hue,
        &sl_operation_permute,       &sl_operation_erase,        &sl_operation_sharpness,
        &sl_operation_gaussian_blur, &sl_operation_box_blur,     &sl_operation_jpeg,
        &sl_operation_pad,           &sl_operation_mix,          &sl_operation_chain,
        &sl_operation_hsv,           &sl_operation_native,       &sl_operation_elastic};
    return number < SL_OPERATION_MIXING ? kinds[number]->name : "mixing";
}
