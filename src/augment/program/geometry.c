/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geometry: composes steps, in whole numbers while the result is a box, by matrices after a warp. A
 * geometry is closed when a different step follows: then the shown part of its canvas is known, and
 * the box makes no more than that. Pure, over the caller's drawing.
 */
#include "geometry.h"

#include "error.h"
#include "matrix.h"
#include "operations.h"
#include "place_tile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* From here on a warp that shrinks is antialiased: distance of neighbours in pixels. */
#define SHRINK_LEAST 1.25

/* ---- matrices ---- */

static void warp_append(sl_warp *warp, const double by[9])
{
    sl_matrix_multiply(warp->matrix, warp->matrix, by);
    for (uint32_t i = 0; i < warp->frame_count; i++) {
        sl_matrix_multiply(warp->frames[i].matrix, warp->frames[i].matrix, by);
    }
}

static void warp_add_frame(sl_warp *warp, const double matrix[9], uint32_t width, uint32_t height)
{
    sl_warp_frame *frame = &warp->frames[warp->frame_count++];
    memcpy(frame->matrix, matrix, sizeof(frame->matrix));
    frame->width = width;
    frame->height = height;
}

/* ---- boxes ---- */

/* Returns whether the window contains the whole raster. */
static bool window_covers(const sl_mapping *box)
{
    return box->window_x <= 0 && box->window_y <= 0 &&
           (int64_t)box->window_x + box->width >= box->virtual_width &&
           (int64_t)box->window_y + box->height >= box->virtual_height;
}

static bool window_is_inside(const sl_mapping *box)
{
    return box->window_x >= 0 && box->window_y >= 0 &&
           (int64_t)box->window_x + box->width <= box->virtual_width &&
           (int64_t)box->window_y + box->height <= box->virtual_height;
}

static bool window_is_raster(const sl_mapping *box)
{
    return window_covers(box) && window_is_inside(box);
}

/* Moves the window to a part of what it shows. */
static void window_move(sl_mapping *box, int64_t x, int64_t y, uint32_t width, uint32_t height)
{
    box->window_x += (int32_t)(box->flip_x ? (int64_t)box->width - x - width : x);
    box->window_y += (int32_t)(box->flip_y ? (int64_t)box->height - y - height : y);
    box->width = width;
    box->height = height;
}

/* ---- closing ---- */

/* Finds the distances of neighbours of the output in the canvas, across and down, in its middle. */
static void warp_steps(const sl_warp *warp, double steps[2])
{
    const double *m = warp->matrix;
    const double x = warp->width / 2.0;
    const double y = warp->height / 2.0;
    const double w = m[6] * x + m[7] * y + m[8];
    for (size_t i = 0; i < 2; i++) {
        const double at = (m[3 * i] * x + m[3 * i + 1] * y + m[3 * i + 2]) / w;
        steps[i] = hypot(m[3 * i] - at * m[6], m[3 * i + 1] - at * m[7]) / fabs(w);
    }
}

/* One side of the canvas is made smaller: from its coordinate u to factor * u + offset. */
// NOLINTNEXTLINE(readability-function-size): one side of four numbers
static void shrink_side(double step, bool flip, uint32_t *raster, int32_t *window, uint32_t *size,
                        double *factor, double *offset)
{
    const double wanted = step > SHRINK_LEAST ? round(*raster / step) : *raster;
    const uint32_t made = wanted >= 1 ? (uint32_t)wanted : 1;
    const double scale = (double)made / *raster;
    const double begin = *window * scale;
    const double end = ((double)*window + *size) * scale;
    const double first = floor(begin);
    const double last = fmin(ceil(end), made);
    *factor = scale;
    *offset = flip ? last - end : begin - first;
    *raster = made;
    *window = (int32_t)first;
    *size = (uint32_t)fmax(last - first, 1);
}

static void antialias(sl_geometry *g)
{
    double steps[2];
    double scale[9] = {0, 0, 0, 0, 0, 0, 0, 0, 1};
    sl_mapping *box = &g->box;
    sl_warp *warp = &g->warp;
    warp_steps(warp, steps);
    if (!(fmax(steps[0], steps[1]) > SHRINK_LEAST && fmax(steps[0], steps[1]) < 1e6) ||
        !window_is_inside(box) || warp->frame_count == SL_WARP_FRAMES || !sl_warp_is_proper(warp)) {
        return;
    }
    warp_add_frame(warp, warp->matrix, box->width, box->height);
    if (sl_mapping_is_unresized(box)) {
        sl_mapping_interpolate(box, SL_BILINEAR);
    }
    shrink_side(steps[0], box->flip_x, &box->virtual_width, &box->window_x, &box->width, &scale[0],
                &scale[2]);
    shrink_side(steps[1], box->flip_y, &box->virtual_height, &box->window_y, &box->height,
                &scale[4], &scale[5]);
    sl_matrix_multiply(scale, scale, warp->matrix);
    memcpy(warp->matrix, scale, sizeof(scale));
}

/* ---- closing ---- */

void sl_drawing_close(sl_drawing *drawing)
{
    sl_params *params = drawing->params;
    sl_geometry *g = &params->geometries[params->geometry_count - 1];
    if (!drawing->open) {
        return;
    }
    drawing->open = false;
    if (g->warps && g->warp.keeps && (!drawing->exact || drawing->unwarped) &&
        sl_place_tile(drawing, g)) {
        return;
    }
    if (params->geometry_count > 1) {
        sl_operation *operation = &params->operations[params->operation_count - 1];
        operation->width = drawing->width;
        operation->height = drawing->height;
    }
    if (!g->warps) {
        return;
    }
    if (!drawing->exact && g->warp.interpolation != SL_NEAREST) {
        antialias(g);
    }
    const sl_rect shown = sl_warp_need(&g->warp, g->box.width, g->box.height);
    g->canvas_width = g->box.width;
    g->canvas_height = g->box.height;
    g->canvas_x = shown.x;
    g->canvas_y = shown.y;
    window_move(&g->box, shown.x, shown.y, shown.width, shown.height);
}

/* ---- opening ---- */

static void geometry_begin(sl_drawing *drawing, sl_geometry *g)
{
    g->box = (sl_mapping){.source = {0, 0, drawing->width, drawing->height},
                          .width = drawing->width,
                          .height = drawing->height,
                          .virtual_width = drawing->width,
                          .virtual_height = drawing->height};
    g->warps = g->placed = false;
    g->warp.keeps = false;
    memset(g->fill, 0, sizeof(g->fill));
    drawing->open = true;
}

static bool kind_moves(const sl_operation_kind *kind)
{
    return kind->number == SL_OPERATION_GEOMETRY || kind->number == SL_OPERATION_PAD ||
           kind->number == SL_OPERATION_ELASTIC;
}

sl_operation *sl_draw_operation(sl_drawing *drawing, const sl_operation_kind *kind)
{
    sl_params *params = drawing->params;
    if (drawing->labels && !kind_moves(kind)) {
        return &drawing->left_out;
    }
    sl_drawing_close(drawing);
    if (params->operation_count == params->operations_most) {
        (void)sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                           "the recipe has more than %u operations", params->operations_most);
        return NULL;
    }
    sl_operation *operation = &params->operations[params->operation_count++];
    *operation = (sl_operation){.kind = kind, .width = drawing->width, .height = drawing->height};
    return operation;
}

/* Returns the open geometry; or begins another one, on the present canvas, as after every warp of
 * an exact drawing. NULL with an error. */
static sl_geometry *open_geometry(sl_drawing *drawing)
{
    sl_params *params = drawing->params;
    sl_geometry *last = &params->geometries[params->geometry_count - 1];
    if (drawing->open && !(drawing->exact && last->warps)) {
        return last;
    }
    sl_operation *operation = sl_draw_operation(drawing, &sl_operation_geometry);
    if (operation == NULL) {
        return NULL;
    }
    operation->values[0] = params->geometry_count;
    sl_geometry *g = &params->geometries[params->geometry_count++];
    geometry_begin(drawing, g);
    return g;
}

static sl_geometry *another_geometry(sl_drawing *drawing)
{
    sl_drawing_close(drawing);
    return open_geometry(drawing);
}

void sl_drawing_begin(sl_drawing *drawing, sl_params *params, uint32_t width, uint32_t height,
                      bool exact, sluice_error *error)
{
    *drawing = (sl_drawing){
        .params = params, .width = width, .height = height, .exact = exact, .error = error};
    sl_trail_begin(&params->trail, width, height);
    params->absent = params->layered = params->pastes = false;
    params->layer = 0;
    params->share = 1;
    params->operation_count = 0;
    params->geometry_count = 1;
    geometry_begin(drawing, &params->geometries[0]);
}

void sl_drawing_end(sl_drawing *drawing)
{
    sl_params *params = drawing->params;
    sl_drawing_close(drawing);
    params->width = drawing->width;
    params->height = drawing->height;
    params->need = sl_mapping_need(&params->geometries[0].box);
}

bool sl_drawing_box(const sl_drawing *drawing, const float from[4], float to[4])
{
    sl_trail_box moved;
    if (!sl_trail_move_box(&drawing->params->trail, from, &moved)) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        to[i] = (float)moved.box[i];
    }
    return true;
}

/* ---- steps ---- */

static sluice_status check_side(const sl_drawing *drawing, uint64_t width, uint64_t height)
{
    if (width > 0 && height > 0 && width <= INT32_MAX / 2 && height <= INT32_MAX / 2) {
        return SLUICE_OK;
    }
    return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                        "an image of %llu x %llu is %s", (unsigned long long)width,
                        (unsigned long long)height,
                        width > 0 && height > 0 ? "too large" : "empty");
}

static void drawing_resized(sl_drawing *drawing, uint32_t width, uint32_t height)
{
    drawing->width = width;
    drawing->height = height;
}

static bool reaches_outside(const sl_drawing *drawing, int64_t x, int64_t y, uint32_t width,
                            uint32_t height)
{
    return x < 0 || y < 0 || x + width > drawing->width || y + height > drawing->height;
}

/* Returns whether a crop that reaches outside the box's window can be part of the box. */
static bool box_can_pad(const sl_geometry *g, const uint8_t fill[3])
{
    return window_covers(&g->box) &&
           (window_is_inside(&g->box) || memcmp(g->fill, fill, sizeof(g->fill)) == 0);
}

static void crop_box(sl_geometry *g, int64_t x, int64_t y, uint32_t width, uint32_t height)
{
    sl_mapping *box = &g->box;
    if (!sl_mapping_is_unresized(box) || !window_is_raster(box) || x < 0 || y < 0 ||
        x + width > box->width || y + height > box->height) {
        window_move(box, x, y, width, height);
        return;
    }
    box->source.x += (uint32_t)(box->flip_x ? box->width - x - width : x);
    box->source.y += (uint32_t)(box->flip_y ? box->height - y - height : y);
    box->source.width = box->virtual_width = box->width = width;
    box->source.height = box->virtual_height = box->height = height;
}

static void crop_warp(sl_drawing *drawing, sl_geometry *g, int64_t x, int64_t y, uint32_t width,
                      uint32_t height)
{
    const double move[9] = {1, 0, (double)x, 0, 1, (double)y, 0, 0, 1};
    warp_append(&g->warp, move);
    if (reaches_outside(drawing, x, y, width, height)) {
        warp_add_frame(&g->warp, move, drawing->width, drawing->height);
    }
    g->warp.width = width;
    g->warp.height = height;
}

static sluice_status draw_crop_to(sl_drawing *drawing, int64_t x, int64_t y, uint32_t width,
                                  uint32_t height, const uint8_t fill[3])
{
    sluice_status status = check_side(drawing, width, height);
    sl_geometry *g = status == SLUICE_OK ? open_geometry(drawing) : NULL;
    if (g == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    fill = drawing->labels ? drawing->label_fill : fill;
    const bool outside = reaches_outside(drawing, x, y, width, height);
    const bool fits = !outside || (g->warps ? g->warp.frame_count < SL_WARP_FRAMES &&
                                                  memcmp(g->warp.fill, fill, sizeof(g->fill)) == 0
                                            : box_can_pad(g, fill));
    g = fits ? g : another_geometry(drawing);
    if (g == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    if (g->warps) {
        crop_warp(drawing, g, x, y, width, height);
    } else {
        if (outside) {
            memcpy(g->fill, fill, sizeof(g->fill));
        }
        crop_box(g, x, y, width, height);
    }
    sl_trail_crop(&drawing->params->trail, x, y, width, height);
    drawing_resized(drawing, width, height);
    return SLUICE_OK;
}

/* Returns whether a resize can be part of the box. A mirror before it is moved after it, which is
 * the same except for the nearest pixel: of two equally near ones it takes the right one. */
static bool box_can_resize(const sl_mapping *box, sl_interpolation interpolation)
{
    return sl_mapping_is_unresized(box) && window_is_raster(box) &&
           (interpolation != SL_NEAREST || !(box->flip_x || box->flip_y));
}

static sluice_status geometry_resize_to(sl_drawing *drawing, uint32_t width, uint32_t height,
                                        sl_interpolation interpolation)
{
    sluice_status status = check_side(drawing, width, height);
    if (status == SLUICE_OK && width == drawing->width && height == drawing->height) {
        return SLUICE_OK; /* as in Pillow: a copy */
    }
    interpolation = drawing->labels ? SL_NEAREST : interpolation;
    sl_geometry *g = status == SLUICE_OK ? open_geometry(drawing) : NULL;
    if (g != NULL && !g->warps && !box_can_resize(&g->box, interpolation)) {
        g = another_geometry(drawing);
    }
    if (g == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    if (g->warps) {
        const double scale[9] = {
            (double)drawing->width / width, 0, 0, 0, (double)drawing->height / height, 0, 0, 0, 1};
        const sl_interpolation possible = interpolation < SL_BICUBIC ? interpolation : SL_BICUBIC;
        warp_append(&g->warp, scale);
        g->warp.interpolation = possible > g->warp.interpolation ? possible : g->warp.interpolation;
        drawing->unwarped = false;
        g->warp.width = width;
        g->warp.height = height;
    } else {
        g->box.virtual_width = g->box.width = width;
        g->box.virtual_height = g->box.height = height;
        sl_mapping_interpolate(&g->box, interpolation);
    }
    sl_trail_resize(&drawing->params->trail, (double)width / drawing->width,
                    (double)height / drawing->height);
    drawing_resized(drawing, width, height);
    return SLUICE_OK;
}

static sluice_status draw_flip_to(sl_drawing *drawing, bool vertical)
{
    sl_geometry *g = open_geometry(drawing);
    if (g == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    if (g->warps) {
        double turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        const size_t axis = vertical ? 1 : 0;
        turn[axis * 4] = -1;
        turn[axis * 3 + 2] = vertical ? drawing->height : drawing->width;
        warp_append(&g->warp, turn);
    } else if (vertical) {
        g->box.flip_y = !g->box.flip_y;
    } else {
        g->box.flip_x = !g->box.flip_x;
    }
    sl_trail_flip(&drawing->params->trail, vertical, vertical ? drawing->height : drawing->width);
    return SLUICE_OK;
}

static sluice_status draw_warp_to(sl_drawing *drawing, const double matrix[9], uint32_t width,
                                  uint32_t height, sl_interpolation interpolation,
                                  const uint8_t fill[3])
{
    sluice_status status = check_side(drawing, width, height);
    sl_geometry *g = status == SLUICE_OK ? open_geometry(drawing) : NULL;
    interpolation = drawing->labels ? SL_NEAREST : interpolation;
    fill = drawing->labels ? drawing->label_fill : fill;
    if (g != NULL && drawing->unwarped) {
        g->warp.interpolation = interpolation;
    }
    if (g != NULL && g->warps &&
        (g->warp.interpolation != interpolation || g->warp.frame_count == SL_WARP_FRAMES ||
         memcmp(g->warp.fill, fill, sizeof(g->fill)) != 0)) {
        g = another_geometry(drawing);
    }
    if (g == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    if (g->warps) {
        warp_append(&g->warp, matrix);
        warp_add_frame(&g->warp, matrix, drawing->width, drawing->height);
    } else {
        g->warps = true;
        g->warp.frame_count = 0;
        g->warp.interpolation = interpolation;
        memcpy(g->warp.matrix, matrix, sizeof(g->warp.matrix));
        memcpy(g->warp.fill, fill, sizeof(g->warp.fill));
    }
    drawing->unwarped = false;
    g->warp.width = width;
    g->warp.height = height;
    sl_trail_warp(&drawing->params->trail, matrix, width, height);
    drawing_resized(drawing, width, height);
    return SLUICE_OK;
}

static sluice_status draw_tile_to(sl_drawing *drawing, const sl_tile *tile)
{
    const double place[9] = {1, 0, (double)-tile->x, 0, 1, (double)-tile->y, 0, 0, 1};
    const uint32_t width = tile->width;
    const uint32_t height = tile->height;
    sl_geometry *g = &drawing->params->geometries[0];
    const sluice_status status = check_side(drawing, width, height);
    assert(drawing->params->geometry_count == 1 && drawing->open && !g->warps);
    if (status != SLUICE_OK) {
        return status;
    }
    g->warps = true;
    g->warp =
        (sl_warp){.width = width, .height = height, .interpolation = SL_NEAREST, .keeps = true};
    memcpy(g->warp.matrix, place, sizeof(place));
    memcpy(g->warp.fill, drawing->labels ? drawing->label_fill : tile->fill, sizeof(g->warp.fill));
    drawing->unwarped = true;
    drawing->params->absent = tile->absent;
    sl_trail_crop(&drawing->params->trail, -tile->x, -tile->y, width, height);
    drawing_resized(drawing, width, height);
    return SLUICE_OK;
}

static void end_layer_of(sl_drawing *drawing, bool alone)
{
    sl_params *params = drawing->params;
    sl_drawing_close(drawing);
    params->layered = true;
    params->layer = drawing->layer;
    params->layer_operations = params->operation_count;
    params->layer_width = drawing->width;
    params->layer_height = drawing->height;
    params->layer_trail = params->trail;
    params->share = 1;
    params->absent = params->absent || (alone && drawing->layer > 0);
}

static void end_layer(sl_drawing *drawing, bool alone)
{
    end_layer_of(drawing, alone);
    if (drawing->twin != NULL) {
        end_layer_of(drawing->twin, alone);
    }
}

void sl_draw_blend(sl_drawing *drawing, float share, bool alone)
{
    end_layer(drawing, alone);
    drawing->params->share = alone ? 1 : share;
}

void sl_draw_paste(sl_drawing *drawing, uint64_t key, double chance, bool alone)
{
    end_layer(drawing, alone);
    drawing->params->pastes = !alone;
    drawing->params->paste_key = key;
    drawing->params->paste_chance = chance;
}

static sluice_status draw_border_to(sl_drawing *drawing, uint32_t left, uint32_t top,
                                    uint32_t width, uint32_t height, double mode)
{
    sl_operation *operation = sl_draw_operation(drawing, &sl_operation_pad);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    operation->values[0] = left;
    operation->values[1] = top;
    operation->values[2] = mode;
    operation->width = width;
    operation->height = height;
    sl_trail_crop(&drawing->params->trail, -(int64_t)left, -(int64_t)top, width, height);
    drawing_resized(drawing, width, height);
    return SLUICE_OK;
}

static sluice_status draw_elastic_to(sl_drawing *drawing, const double values[SL_OPERATION_VALUES],
                                     uint64_t key)
{
    sl_operation *operation = sl_draw_operation(drawing, &sl_operation_elastic);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    memcpy(operation->values, values, sizeof(operation->values));
    operation->key = key;
    if (drawing->labels) {
        operation->values[SL_ELASTIC_INTERPOLATION] = SL_NEAREST;
        for (int c = 0; c < 3; c++) {
            operation->values[SL_ELASTIC_FILL + c] = drawing->label_fill[c];
        }
    }
    return SLUICE_OK;
}

/* ---- to the image, and to its labels ---- */

sluice_status sl_draw_crop(sl_drawing *drawing, int64_t x, int64_t y, uint32_t width,
                           uint32_t height, const uint8_t fill[3])
{
    sluice_status status = SLUICE_OK;
    for (sl_drawing *to = drawing; to != NULL && status == SLUICE_OK; to = to->twin) {
        status = draw_crop_to(to, x, y, width, height, fill);
    }
    return status;
}

sluice_status sl_draw_resize(sl_drawing *drawing, uint32_t width, uint32_t height,
                             sl_interpolation interpolation)
{
    sluice_status status = SLUICE_OK;
    for (sl_drawing *to = drawing; to != NULL && status == SLUICE_OK; to = to->twin) {
        status = geometry_resize_to(to, width, height, interpolation);
    }
    return status;
}

sluice_status sl_draw_flip(sl_drawing *drawing, bool vertical)
{
    sluice_status status = SLUICE_OK;
    for (sl_drawing *to = drawing; to != NULL && status == SLUICE_OK; to = to->twin) {
        status = draw_flip_to(to, vertical);
    }
    return status;
}

sluice_status sl_draw_warp(sl_drawing *drawing, const double matrix[9], uint32_t width,
                           uint32_t height, sl_interpolation interpolation, const uint8_t fill[3])
{
    sluice_status status = SLUICE_OK;
    for (sl_drawing *to = drawing; to != NULL && status == SLUICE_OK; to = to->twin) {
        status = draw_warp_to(to, matrix, width, height, interpolation, fill);
    }
    return status;
}

sluice_status sl_draw_tile(sl_drawing *drawing, const sl_tile *tile)
{
    sluice_status status = SLUICE_OK;
    for (sl_drawing *to = drawing; to != NULL && status == SLUICE_OK; to = to->twin) {
        status = draw_tile_to(to, tile);
    }
    return status;
}

sluice_status sl_draw_elastic(sl_drawing *drawing, const double values[SL_OPERATION_VALUES],
                              uint64_t key)
{
    sluice_status status = SLUICE_OK;
    for (sl_drawing *to = drawing; to != NULL && status == SLUICE_OK; to = to->twin) {
        status = draw_elastic_to(to, values, key);
    }
    return status;
}

sluice_status sl_draw_border(sl_drawing *drawing, uint32_t left, uint32_t top, uint32_t width,
                             uint32_t height, double mode)
{
    sluice_status status = SLUICE_OK;
    for (sl_drawing *to = drawing; to != NULL && status == SLUICE_OK; to = to->twin) {
        status = draw_border_to(to, left, top, width, height, mode);
    }
    return status;
}
