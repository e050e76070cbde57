/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a program as run.c does. Pure. */
#include "largest_canvas.h"

#include "operations.h"

static uint64_t pixels_of(sl_canvas_size canvas)
{
    return (uint64_t)canvas.width * canvas.height;
}

static sl_canvas_size larger(sl_canvas_size a, uint32_t width, uint32_t height)
{
    const sl_canvas_size b = {width, height};
    return pixels_of(b) > pixels_of(a) ? b : a;
}

/* Includes the input of a warp. */
static sl_canvas_size with_geometry(sl_canvas_size most, const sl_geometry *g)
{
    return g->warps ? larger(most, g->box.width, g->box.height) : most;
}

static bool takes_canvas(const sl_operation_kind *kind)
{
    return kind->canvas != NULL || kind->in_place != NULL || kind->measure != SL_MEASURE_NOTHING;
}

sl_canvas_size sl_largest_canvas(const sl_params *params)
{
    const sl_geometry *first = &params->geometries[0];
    const bool by_warp = first->warps || first->placed;
    sl_canvas_size now = {by_warp ? first->warp.width : first->box.width,
                          by_warp ? first->warp.height : first->box.height};
    sl_canvas_size most = {0, 0};
    if (by_warp || params->layered) {
        most = now;
    }
    for (uint32_t i = 0; i < params->geometry_count; i++) {
        most = with_geometry(most, &params->geometries[i]);
    }
    for (uint32_t i = 0; i < params->operation_count; i++) {
        const sl_operation *operation = &params->operations[i];
        if (takes_canvas(operation->kind)) {
            most = larger(most, now.width, now.height);
        }
        if (operation->kind->canvas != NULL) {
            now = (sl_canvas_size){operation->width, operation->height};
            most = larger(most, now.width, now.height);
        }
    }
    return most;
}
