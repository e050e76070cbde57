/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_geometry: runs one geometry of a program, box and warp, from a view to a canvas. On a worker,
 * which owns scratch and canvas.
 */
#include "crop.h"
#include "erase.h"
#include "error.h"
#include "resample.h"
#include "run.h"
#include "warp.h"

#include <string.h>

sluice_status sl_run_no_memory(const sl_run *run, uint32_t width, uint32_t height)
{
    return sl_error_set(run->error, SLUICE_NOMEM, "augment",
                        "no scratch memory for a canvas of %u x %u", width, height);
}

/* Returns the rectangle of the output that shows the raster. */
static sl_rect shown_part(const sl_mapping *box)
{
    int64_t begin[2] = {-(int64_t)box->window_x, -(int64_t)box->window_y};
    int64_t end[2] = {begin[0] + box->virtual_width, begin[1] + box->virtual_height};
    const int64_t size[2] = {box->width, box->height};
    const bool flip[2] = {box->flip_x, box->flip_y};
    for (int i = 0; i < 2; i++) {
        begin[i] = begin[i] < 0 ? 0 : begin[i] > size[i] ? size[i] : begin[i];
        end[i] = end[i] < begin[i] ? begin[i] : end[i] > size[i] ? size[i] : end[i];
        if (flip[i]) {
            const int64_t first = begin[i];
            begin[i] = size[i] - end[i];
            end[i] = size[i] - first;
        }
    }
    return (sl_rect){(uint32_t)begin[0], (uint32_t)begin[1], (uint32_t)(end[0] - begin[0]),
                     (uint32_t)(end[1] - begin[1])};
}

static bool geometry_is_filled(const sl_geometry *g)
{
    return (g->fill[0] | g->fill[1] | g->fill[2]) != 0;
}

/* Fills the output around the shown part. */
static void fill_around(const sl_mapping *box, const uint8_t fill[3], uint8_t *out)
{
    const sl_rect shown = shown_part(box);
    const uint32_t width = box->width;
    const uint32_t right = shown.x + shown.width;
    for (uint32_t y = 0; y < box->height; y++) {
        uint8_t *row = out + (size_t)y * width * 3;
        if (y < shown.y || y >= shown.y + shown.height) {
            sl_fill_colour(row, width, fill);
        } else {
            sl_fill_colour(row, shown.x, fill);
            sl_fill_colour(row + (size_t)right * 3, width - right, fill);
        }
    }
}

sl_mapping sl_run_box(const sl_run *run, uint32_t number)
{
    sl_mapping box = run->params->geometries[number].box;
    box.flip_x = box.flip_x && !(number == 0 && run->unmirrored);
    return box;
}

static sluice_status make_box(const sl_run *run, uint32_t number, const sl_image *view,
                              uint8_t *out)
{
    const sl_geometry *g = &run->params->geometries[number];
    const sl_mapping box = sl_run_box(run, number);
    const sluice_status status =
        sl_resample(run->tools->simd, view, &box, out, run->scratch, run->error);
    if (status == SLUICE_OK && geometry_is_filled(g)) {
        fill_around(&box, g->fill, out);
    }
    return status;
}

/* Writes the tile's place only. */
static sluice_status make_placed(const sl_run *run, const sl_geometry *g, const sl_image *view,
                                 uint8_t *out)
{
    const size_t stride = (size_t)g->warp.width * 3;
    const size_t bytes = (size_t)g->place.width * 3;
    const size_t mark = sl_scratch_mark(run->scratch);
    sl_resampler resampler;
    sl_crop crop;
    sluice_status status = SLUICE_OK;
    out += g->place.y * stride + (size_t)g->place.x * 3;
    if (sl_crop_open(&crop, run->tools->simd, view, &g->box)) {
        for (uint32_t y = 0; y < g->place.height; y++) {
            sl_crop_row(&crop, y, out + y * stride);
        }
        return SLUICE_OK;
    }
    status =
        sl_resampler_open(&resampler, run->tools->simd, view, &g->box, run->scratch, run->error);
    for (uint32_t y = 0; y < g->place.height && status == SLUICE_OK; y++) {
        memcpy(out + y * stride, sl_resampler_row(&resampler, y), bytes);
    }
    sl_scratch_release(run->scratch, mark);
    return status;
}

bool sl_geometry_is_box(const sl_geometry *geometry)
{
    return !geometry->warps && !geometry_is_filled(geometry);
}

/* Returns whether the box's output is in the view already. */
static bool box_is_view(const sl_mapping *box, const sl_image *view)
{
    return view->denominator == 1 && !box->flip_x && !box->flip_y && box->window_x >= 0 &&
           box->window_y >= 0 && box->virtual_width == box->source.width &&
           box->virtual_height == box->source.height &&
           (uint32_t)box->window_x + box->width <= box->virtual_width &&
           (uint32_t)box->window_y + box->height <= box->virtual_height;
}

sluice_status sl_run_geometry(const sl_run *run, uint32_t number, const sl_image *view,
                              uint8_t *out)
{
    const sl_geometry *g = &run->params->geometries[number];
    const sl_mapping *box = &g->box;
    if (g->placed) {
        return make_placed(run, g, view, out);
    }
    if (!g->warps) {
        return make_box(run, number, view, out);
    }
    const size_t mark = sl_scratch_mark(run->scratch);
    sl_image in = {.width = box->width,
                   .height = box->height,
                   .channels = 3,
                   .stride_bytes = (size_t)box->width * 3,
                   .origin_x = g->canvas_x,
                   .origin_y = g->canvas_y,
                   .picture_width = g->canvas_width,
                   .picture_height = g->canvas_height,
                   .denominator = 1};
    sluice_status status = SLUICE_OK;
    if (box_is_view(box, view)) {
        const size_t x = box->source.x + (uint32_t)box->window_x - view->origin_x;
        const size_t y = box->source.y + (uint32_t)box->window_y - view->origin_y;
        in.stride_bytes = view->stride_bytes;
        in.pixels = view->pixels + y * view->stride_bytes + x * 3;
    } else {
        uint8_t *canvas = sl_scratch_take(run->scratch, in.stride_bytes * box->height);
        in.pixels = canvas;
        status = canvas == NULL ? sl_run_no_memory(run, box->width, box->height)
                                : make_box(run, number, view, canvas);
    }
    if (status == SLUICE_OK) {
        status = sl_warp_apply(run->tools->simd, &g->warp, &in, out, run->scratch, run->error);
    }
    sl_scratch_release(run->scratch, mark);
    return status;
}
