/* SPDX-License-Identifier: Apache-2.0 */
#include "drawing_box.h"

#include "operations.h"

#include <math.h>

/* To what [x, x + width] x [y, y + height] has of it. False: nothing. */
static bool cut_box(double box[4], double x, double y, double width, double height)
{
    box[0] = fmax(box[0], x);
    box[1] = fmax(box[1], y);
    box[2] = fmin(box[2], x + width);
    box[3] = fmin(box[3], y + height);
    return box[0] <= box[2] && box[1] <= box[3];
}

/* One axis of a mapping, from the picture to its output. */
typedef struct axis_move {
    double source, scale, window, size;
    bool flip;
} axis_move;

static void move_ends(double box[4], size_t axis, const axis_move *move)
{
    const double first = (box[axis] - move->source) * move->scale - move->window;
    const double last = (box[axis + 2] - move->source) * move->scale - move->window;
    box[axis] = move->flip ? move->size - last : first;
    box[axis + 2] = move->flip ? move->size - first : last;
}

static bool box_through_mapping(const sl_mapping *m, double box[4])
{
    const sl_rect *source = &m->source;
    const axis_move across = {source->x, (double)m->virtual_width / source->width, m->window_x,
                              m->width, m->flip_x};
    const axis_move down = {source->y, (double)m->virtual_height / source->height, m->window_y,
                            m->height, m->flip_y};
    if (!cut_box(box, source->x, source->y, source->width, source->height)) {
        return false;
    }
    move_ends(box, 0, &across);
    move_ends(box, 1, &down);
    return true;
}

/* False: there is none. */
static bool matrix_inverse(const double m[9], double inverse[9])
{
    for (size_t row = 0; row < 3; row++) {
        for (size_t column = 0; column < 3; column++) {
            const size_t a = (column + 1) % 3 * 3;
            const size_t b = (column + 2) % 3 * 3;
            const size_t c = (row + 1) % 3;
            const size_t d = (row + 2) % 3;
            inverse[row * 3 + column] = m[a + c] * m[b + d] - m[a + d] * m[b + c];
        }
    }
    const double determinant = m[0] * inverse[0] + m[1] * inverse[3] + m[2] * inverse[6];
    for (size_t i = 0; i < 9; i++) {
        inverse[i] /= determinant;
    }
    return isfinite(1 / determinant);
}

/* The matrix goes from the output to the input: a corner's w' there is 1 / w of its inverse. */
static bool box_through_warp(const sl_warp *warp, double box[4])
{
    double m[9];
    double hull[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    if (!matrix_inverse(warp->matrix, m)) {
        return false;
    }
    for (size_t corner = 0; corner < 4; corner++) {
        const double x = box[corner % 2 * 2];
        const double y = box[corner / 2 * 2 + 1];
        const double w = m[6] * x + m[7] * y + m[8];
        const double at[2] = {(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w};
        if (!(w > 0)) {
            return false;
        }
        for (size_t axis = 0; axis < 2; axis++) {
            hull[axis] = fmin(hull[axis], at[axis]);
            hull[axis + 2] = fmax(hull[axis + 2], at[axis]);
        }
    }
    for (size_t i = 0; i < 4; i++) {
        box[i] = hull[i];
    }
    return cut_box(box, 0, 0, warp->width, warp->height);
}

/* `open`: nobody has cut the box's output to what the warp shows yet (sl_drawing_close). */
static bool box_through_geometry(const sl_geometry *g, bool open, double box[4])
{
    if (!box_through_mapping(&g->box, box)) {
        return false;
    }
    if (!g->warps) {
        return cut_box(box, 0, 0, g->box.width, g->box.height);
    }
    const double x = open ? 0 : g->canvas_x;
    const double y = open ? 0 : g->canvas_y;
    box[0] += x;
    box[1] += y;
    box[2] += x;
    box[3] += y;
    return cut_box(box, 0, 0, open ? g->box.width : g->canvas_width,
                   open ? g->box.height : g->canvas_height) &&
           box_through_warp(&g->warp, box);
}

static bool box_through_operation(const sl_params *params, const sl_operation *operation, bool open,
                                  double box[4])
{
    if (operation->kind == &sl_operation_pad) {
        for (size_t i = 0; i < 4; i++) {
            box[i] += operation->values[i % 2];
        }
        return true;
    }
    if (operation->kind != &sl_operation_geometry) {
        return true;
    }
    const uint32_t number = (uint32_t)operation->values[0];
    return box_through_geometry(&params->geometries[number],
                                open && number + 1 == params->geometry_count, box);
}

/* What the chains of an AugMix move is mixed with what they do not: the box stays. */
static uint32_t operations_of_mix(const sl_operation *mix)
{
    uint32_t count = 1;
    for (uint32_t chain = 0; chain < (uint32_t)mix->values[3]; chain++) {
        count += 1 + (uint32_t)mix[count].values[1];
    }
    return count;
}

bool sl_drawing_box(const sl_drawing *drawing, const float in[4], float out[4])
{
    const sl_params *params = drawing->params;
    double box[4] = {(double)in[0], (double)in[1], (double)in[2], (double)in[3]};
    bool there = in[0] <= in[2] && in[1] <= in[3] &&
                 box_through_geometry(&params->geometries[0],
                                      drawing->open && params->geometry_count == 1, box);
    for (uint32_t i = 0; i < params->operation_count && there;) {
        const sl_operation *operation = &params->operations[i];
        const bool mixes = operation->kind == &sl_operation_mix;
        there = mixes || box_through_operation(params, operation, drawing->open, box);
        i += mixes ? operations_of_mix(operation) : 1;
    }
    for (size_t i = 0; i < 4; i++) {
        out[i] = (float)box[i];
    }
    return there;
}
