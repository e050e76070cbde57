/* SPDX-License-Identifier: Apache-2.0 */
/* labels: runs programs of geometry only, on bytes; and an interpolation of floats. Pure. */
#include "labels.h"

#include "apply.h"
#include "erase.h"
#include "error.h"
#include "nearest.h"
#include "operations.h"

#include <math.h>
#include <string.h>

enum { STEP = 3 }; /* bytes that kernels of RGB process at once */

/* ---- one box: from the stored pixels ---- */

static bool is_one_box(const sl_params *params)
{
    return params->geometry_count == 1 && params->operation_count == 0 &&
           !params->geometries[0].warps;
}

/* Inlined with `pixel` known, so that it is not a call for each. */
static inline void pick_pixels(const int32_t *columns, uint32_t count, const uint8_t *from,
                               const uint8_t *fill, size_t pixel, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(out, columns[i] < 0 ? fill : from + (size_t)columns[i] * pixel, pixel);
        out += pixel;
    }
}

static void pick_row(const int32_t *columns, uint32_t count, const uint8_t *from,
                     const uint8_t *fill, size_t pixel, uint8_t *out)
{
    switch (pixel) {
    case 1:
        pick_pixels(columns, count, from, fill, 1, out);
        break;
    case 2:
        pick_pixels(columns, count, from, fill, 2, out);
        break;
    case 4:
        pick_pixels(columns, count, from, fill, 4, out);
        break;
    case 8:
        pick_pixels(columns, count, from, fill, 8, out);
        break;
    default:
        pick_pixels(columns, count, from, fill, pixel, out);
        break;
    }
}

/* Returns false without scratch memory. `view`: of the needed part; its pixels are not read. */
static bool labels_pick(const sl_labels *labels, const sl_params *params, const sl_image *view,
                        const uint8_t *fill, uint8_t *out, sl_scratch *scratch)
{
    const sl_mapping *box = &params->geometries[0].box;
    const size_t pixel = labels->pixel_bytes;
    const size_t stride = params->trail.picture_width * pixel;
    const uint8_t *first =
        labels->rows + (params->need.y - labels->first_row) * stride + params->need.x * pixel;
    sl_nearest nearest;
    if (!sl_nearest_open(&nearest, view, box, scratch)) {
        return false;
    }
    for (uint32_t y = 0; y < box->height; y++) {
        const int32_t row = nearest.rows[y];
        if (row < 0) {
            for (uint32_t x = 0; x < box->width; x++) {
                memcpy(out + x * pixel, fill, pixel);
            }
        } else {
            pick_row(nearest.columns, box->width, first + (size_t)row * stride, fill, pixel, out);
        }
        out += box->width * pixel;
    }
    return true;
}

/* ---- any program: by the kernels of images ---- */

/* Copies `bytes` of every pixel, inlined as above. */
static inline void copy_pixels(const uint8_t *from, size_t from_step, uint8_t *to, size_t to_step,
                               size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * to_step, from + i * from_step, bytes);
    }
}

static void copy_label_part(const uint8_t *from, size_t from_step, uint8_t *to, size_t to_step,
                            size_t count, size_t bytes)
{
    if (bytes == 1) {
        copy_pixels(from, from_step, to, to_step, count, 1);
    } else if (bytes == 2) {
        copy_pixels(from, from_step, to, to_step, count, 2);
    } else {
        copy_pixels(from, from_step, to, to_step, count, STEP);
    }
}

/* Returns how many bytes from `first` on kernels process at once. */
static size_t part_bytes(uint32_t pixel_bytes, uint32_t first)
{
    return pixel_bytes - first < STEP ? pixel_bytes - first : STEP;
}

/* Gathers bytes [first, first + STEP) of each needed pixel, as far as there are any. */
static void labels_gather(const sl_labels *labels, const sl_params *params, uint32_t first,
                          uint8_t *to)
{
    const sl_rect *need = &params->need;
    const size_t pixel = labels->pixel_bytes;
    const size_t stride = params->trail.picture_width * pixel;
    for (uint32_t y = 0; y < need->height; y++) {
        const uint8_t *from =
            labels->rows + (need->y + y - labels->first_row) * stride + need->x * pixel + first;
        copy_label_part(from, pixel, to, STEP, need->width, part_bytes(labels->pixel_bytes, first));
        to += (size_t)need->width * STEP;
    }
}

static void labels_set_fill(sl_params *params, const uint8_t fill[STEP])
{
    for (uint32_t i = 0; i < params->geometry_count; i++) {
        memcpy(params->geometries[i].fill, fill, STEP);
        memcpy(params->geometries[i].warp.fill, fill, STEP);
    }
    for (uint32_t i = 0; i < params->operation_count; i++) {
        sl_operation *operation = &params->operations[i];
        for (int c = 0; c < STEP && operation->kind == &sl_operation_elastic; c++) {
            operation->values[SL_ELASTIC_FILL + c] = fill[c];
        }
    }
}

static sluice_status labels_no_memory(sluice_error *error, const sl_params *params)
{
    return sl_error_set(error, SLUICE_NOMEM, "augment", "no scratch memory for a mask of %u x %u",
                        params->need.width, params->need.height);
}

static sl_image view_of_need(const sl_params *params, const uint8_t *pixels)
{
    const sl_rect *need = &params->need;
    return (sl_image){.pixels = pixels,
                      .width = need->width,
                      .height = need->height,
                      .channels = STEP,
                      .stride_bytes = (size_t)need->width * STEP,
                      .origin_x = need->x,
                      .origin_y = need->y,
                      .picture_width = params->trail.picture_width,
                      .picture_height = params->trail.picture_height,
                      .denominator = 1};
}

static sl_converter labels_converter(const sl_params *params)
{
    return (sl_converter){.dtype = SLUICE_U8,
                          .layout = SLUICE_NHWC,
                          .width = params->width,
                          .height = params->height,
                          .tools = {.simd = sl_simd_best()}};
}

/* Runs the program for all bytes, STEP after STEP. */
static sluice_status labels_run(const sl_labels *labels, sl_params *params, const uint8_t *fill,
                                uint8_t *out, sl_scratch *scratch, sluice_error *error)
{
    const sl_rect need = params->need;
    const size_t pixels = (size_t)params->width * params->height;
    const sl_converter converter = labels_converter(params);
    const sl_apply_work work = {.scratch = scratch};
    uint8_t *in = sl_scratch_take(scratch, (size_t)need.width * need.height * STEP);
    uint8_t *made = sl_scratch_take(scratch, pixels * STEP);
    sluice_status status = SLUICE_OK;
    if (in == NULL || made == NULL) {
        status = labels_no_memory(error, params);
    }
    const sl_image view = view_of_need(params, in);
    for (uint32_t at = 0; at < labels->pixel_bytes && status == SLUICE_OK; at += STEP) {
        uint8_t part[STEP] = {0};
        memcpy(part, fill + at, part_bytes(labels->pixel_bytes, at));
        labels_set_fill(params, part);
        labels_gather(labels, params, at, in);
        status = sl_augment_apply(&converter, &view, params, &work, made, error);
        if (status == SLUICE_OK) {
            copy_label_part(made, STEP, out + at, labels->pixel_bytes, pixels,
                            part_bytes(labels->pixel_bytes, at));
        }
    }
    return status;
}

sluice_status sl_labels_nearest(const sl_labels *labels, sl_params *params, const uint8_t *fill,
                                uint8_t *out, sl_scratch *scratch, sluice_error *error)
{
    const size_t mark = sl_scratch_mark(scratch);
    sluice_status status = SLUICE_OK;
    if (is_one_box(params)) {
        const sl_image view = view_of_need(params, NULL);
        status = labels_pick(labels, params, &view, fill, out, scratch)
                     ? SLUICE_OK
                     : labels_no_memory(error, params);
    } else {
        status = labels_run(labels, params, fill, out, scratch, error);
    }
    sl_scratch_release(scratch, mark);
    return status;
}

/* ---- of several images ---- */

uint32_t sl_labels_passes(uint32_t pixel_bytes)
{
    return (pixel_bytes + STEP - 1) / STEP;
}

/* Returns the fill of the pass whose first byte is `at`. */
static void fill_of_pass(const sl_labels *labels, uint32_t at, uint8_t part[STEP])
{
    memset(part, 0, STEP);
    memcpy(part, labels->fill + at, part_bytes(labels->pixel_bytes, at));
}

void sl_labels_canvas_begin(const sl_labels *labels, const sl_params *params, uint8_t *canvas)
{
    const size_t pixels = sl_canvas_bytes(params) / STEP;
    for (uint32_t at = 0; at < labels->pixel_bytes; at += STEP) {
        uint8_t part[STEP];
        fill_of_pass(labels, at, part);
        sl_fill_colour(canvas, pixels, part);
        canvas += pixels * STEP;
    }
}

sluice_status sl_labels_canvas_tile(const sl_labels *labels, sl_params *params, uint8_t *canvas,
                                    sl_scratch *scratch, sluice_error *error)
{
    const size_t mark = sl_scratch_mark(scratch);
    const sl_converter converter = labels_converter(params);
    const sl_apply_work work = {.scratch = scratch};
    uint8_t *in = sl_scratch_take(scratch, (size_t)params->need.width * params->need.height * STEP);
    sluice_status status = in != NULL ? SLUICE_OK : labels_no_memory(error, params);
    const sl_image view = view_of_need(params, in);
    for (uint32_t at = 0; at < labels->pixel_bytes && status == SLUICE_OK; at += STEP) {
        labels_gather(labels, params, at, in);
        status = sl_canvas_tile(&converter, &view, params, &work, canvas, error);
        canvas += sl_canvas_bytes(params);
    }
    sl_scratch_release(scratch, mark);
    return status;
}

sluice_status sl_labels_canvas_end(const sl_labels *labels, sl_params *params, uint8_t *canvas,
                                   uint8_t *out, sl_scratch *scratch, sluice_error *error)
{
    const size_t mark = sl_scratch_mark(scratch);
    const size_t pixels = (size_t)params->width * params->height;
    const sl_converter converter = labels_converter(params);
    const sl_apply_work work = {.scratch = scratch};
    uint8_t *made = sl_scratch_take(scratch, pixels * STEP);
    if (made == NULL) {
        return labels_no_memory(error, params);
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t at = 0; at < labels->pixel_bytes && status == SLUICE_OK; at += STEP) {
        uint8_t part[STEP];
        fill_of_pass(labels, at, part);
        labels_set_fill(params, part);
        status = sl_canvas_end(&converter, params, &work, canvas, made, error);
        if (status == SLUICE_OK) {
            copy_label_part(made, STEP, out + at, labels->pixel_bytes, pixels,
                            part_bytes(labels->pixel_bytes, at));
        }
        canvas += sl_canvas_bytes(params);
    }
    sl_scratch_release(scratch, mark);
    return status;
}

/* ---- between pixels ---- */

typedef struct neighbours {
    size_t at[4]; /* pixels: left and right of two rows */
    float right, down;
} neighbours;

static uint32_t pixel_within(double at, uint32_t size)
{
    return !(at > 0) ? 0 : at >= size - 1.0 ? size - 1 : (uint32_t)at;
}

static neighbours neighbours_of(const sl_trail *trail, double x, double y)
{
    const double column = floor(x - 0.5);
    const double row = floor(y - 0.5);
    const uint32_t width = trail->picture_width;
    const uint32_t xs[2] = {pixel_within(column, width), pixel_within(column + 1, width)};
    const uint32_t ys[2] = {pixel_within(row, trail->picture_height),
                            pixel_within(row + 1, trail->picture_height)};
    return (neighbours){.at = {(size_t)ys[0] * width + xs[0], (size_t)ys[0] * width + xs[1],
                               (size_t)ys[1] * width + xs[0], (size_t)ys[1] * width + xs[1]},
                        .right = (float)(x - 0.5 - column),
                        .down = (float)(y - 0.5 - row)};
}

/* A neighbour without weight is ignored: it may not be a number, like depth that was not
 * measured. */
static float share_of(float from, float to, float share)
{
    return share > 0 ? from + share * (to - from) : from;
}

static float between(const float *map, const neighbours *n, uint32_t channels, uint32_t channel)
{
    float v[4];
    for (size_t i = 0; i < 4; i++) {
        v[i] = map[n->at[i] * channels + channel];
    }
    return share_of(share_of(v[0], v[1], n->right), share_of(v[2], v[3], n->right), n->down);
}

void sl_labels_bilinear(const sl_labels *labels, const sl_params *params, uint32_t channels,
                        float fill, float *out)
{
    const sl_trail *trail = &params->trail;
    const float *map = (const float *)(const void *)labels->rows;
    double back[9] = {0};
    const bool shows = sl_trail_inverse(trail, back);
    for (uint32_t y = 0; y < params->height; y++) {
        for (uint32_t x = 0; x < params->width; x++, out += channels) {
            const double at[2] = {x + 0.5, y + 0.5};
            const bool shown = shows && sl_trail_shows(trail, at);
            const double w = back[6] * at[0] + back[7] * at[1] + back[8];
            const neighbours n =
                shown ? neighbours_of(trail, (back[0] * at[0] + back[1] * at[1] + back[2]) / w,
                                      (back[3] * at[0] + back[4] * at[1] + back[5]) / w)
                      : (neighbours){.right = 0};
            for (uint32_t c = 0; c < channels; c++) {
                out[c] = shown ? between(map, &n, channels, c) : fill;
            }
        }
    }
}
