/* SPDX-License-Identifier: Apache-2.0 */
/* Pure, over the caller's drawing. */
#include "place_tile.h"

#include <math.h>
#include <string.h>

/* Returns whether the map is upright along an axis, from output to input. */
static bool is_upright(const double m[9])
{
    return m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && m[8] == 1 && m[0] != 0 && m[4] != 0;
}

/* Output pixels whose edges are those of [0, size) of the input, rounded. */
typedef struct edges {
    int64_t begin, end;
} edges;

static edges edges_of(double factor, double offset, uint32_t size)
{
    const double a = (0 - offset) / factor;
    const double b = (size - offset) / factor;
    const double far = (double)(INT32_MAX / 2);
    return (edges){(int64_t)nearbyint(fmax(fmin(a, b), -far)),
                   (int64_t)nearbyint(fmin(fmax(a, b), far))};
}

static edges edges_within(edges a, edges b)
{
    const edges both = {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
    return (edges){both.begin, both.end > both.begin ? both.end : both.begin};
}

/* Finds the tile's image along an axis: its position, and the shown part. */
static void tile_edges(const sl_warp *warp, size_t axis, uint32_t raster, edges *all, edges *shown)
{
    const edges output = {0, axis == 0 ? warp->width : warp->height};
    *all = edges_of(warp->matrix[4 * axis], warp->matrix[3 * axis + 2], raster);
    *shown = edges_within(*all, output);
    for (uint32_t i = 0; i < warp->frame_count; i++) {
        const sl_warp_frame *frame = &warp->frames[i];
        *shown = edges_within(*shown, edges_of(frame->matrix[4 * axis], frame->matrix[3 * axis + 2],
                                               axis == 0 ? frame->width : frame->height));
    }
}

static bool tile_is_upright(const sl_geometry *g)
{
    bool upright = is_upright(g->warp.matrix);
    for (uint32_t i = 0; i < g->warp.frame_count; i++) {
        upright = upright && is_upright(g->warp.frames[i].matrix);
    }
    return upright;
}

/* Makes the trail follow the rounded edges. */
static void tile_follow(sl_trail *trail, const edges all[2], const bool flips[2],
                        const sl_rect *place)
{
    const uint32_t sides[2] = {trail->picture_width, trail->picture_height};
    memset(trail->matrix, 0, sizeof(trail->matrix));
    for (size_t i = 0; i < 2; i++) {
        const double factor = (double)(all[i].end - all[i].begin) / sides[i];
        trail->matrix[4 * i] = flips[i] ? -factor : factor;
        trail->matrix[3 * i + 2] = (double)(flips[i] ? all[i].end : all[i].begin);
        trail->folded = trail->folded || factor == 0;
    }
    trail->matrix[8] = 1;
    trail->corner_count = 0;
    trail->shown[0] = place->x;
    trail->shown[1] = place->y;
    trail->shown[2] = (double)place->x + place->width;
    trail->shown[3] = (double)place->y + place->height;
}

bool sl_place_tile(sl_drawing *drawing, sl_geometry *g)
{
    sl_mapping *box = &g->box;
    const sl_warp *warp = &g->warp;
    edges all[2];
    edges shown[2];
    const bool flips[2] = {warp->matrix[0] < 0, warp->matrix[4] < 0};
    const bool unresized = sl_mapping_is_unresized(box);
    if (!tile_is_upright(g)) {
        return false;
    }
    tile_edges(warp, 0, box->virtual_width, &all[0], &shown[0]);
    tile_edges(warp, 1, box->virtual_height, &all[1], &shown[1]);
    g->warps = false;
    g->placed = true;
    g->place = (sl_rect){.x = (uint32_t)shown[0].begin, .y = (uint32_t)shown[1].begin};
    if (shown[0].end > shown[0].begin && shown[1].end > shown[1].begin) {
        g->place.width = (uint32_t)(shown[0].end - shown[0].begin);
        g->place.height = (uint32_t)(shown[1].end - shown[1].begin);
        box->virtual_width = (uint32_t)(all[0].end - all[0].begin);
        box->virtual_height = (uint32_t)(all[1].end - all[1].begin);
        box->flip_x = flips[0];
        box->flip_y = flips[1];
        box->window_x =
            (int32_t)(flips[0] ? all[0].end - shown[0].end : shown[0].begin - all[0].begin);
        box->window_y =
            (int32_t)(flips[1] ? all[1].end - shown[1].end : shown[1].begin - all[1].begin);
        box->width = g->place.width;
        box->height = g->place.height;
        if (!drawing->unwarped && (warp->interpolation == SL_NEAREST || unresized)) {
            sl_mapping_interpolate(box, warp->interpolation);
        }
    }
    tile_follow(&drawing->params->trail, all, flips, &g->place);
    return true;
}
