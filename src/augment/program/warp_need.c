/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an image that a warp shows. */
#include "warp_need.h"

#include <assert.h>
#include <math.h>

bool sl_warp_is_proper(const sl_warp *warp)
{
    const double *m = warp->matrix;
    for (int corner = 0; corner < 4; corner++) {
        const double x = corner % 2 == 0 ? 0 : warp->width;
        const double y = corner / 2 == 0 ? 0 : warp->height;
        const double w = m[6] * x + m[7] * y + m[8];
        if (!(w > 0) || isinf(w)) {
            return false;
        }
    }
    return true;
}

/* Pixels before and after that of a point: for interpolation, and one for rounding. */
static const int reach_of[] = {[SL_NEAREST] = 1, [SL_BILINEAR] = 2, [SL_BICUBIC] = 3};

/* Along a coordinate of the picture: pixels of [0, size) about [least, most], one at least. */
static void warp_cover(double least, double most, int reach, uint32_t size, uint32_t *begin,
                       uint32_t *pixels)
{
    const double first = fmin(fmax(floor(least) - reach, 0), size - 1.0);
    const double last = fmin(fmax(floor(most) + reach, first), size - 1.0);
    *begin = (uint32_t)first;
    *pixels = (uint32_t)(last - first) + 1;
}

sl_rect sl_warp_need(const sl_warp *warp, uint32_t width, uint32_t height)
{
    assert(width > 0 && height > 0 && warp->interpolation <= SL_BICUBIC);
    const double *m = warp->matrix;
    double least[2] = {INFINITY, INFINITY};
    double most[2] = {-INFINITY, -INFINITY};
    sl_rect need = {0, 0, width, height};
    if (!sl_warp_is_proper(warp)) {
        return need;
    }
    for (int corner = 0; corner < 4; corner++) {
        const double x = corner % 2 == 0 ? 0.5 : warp->width - 0.5;
        const double y = corner / 2 == 0 ? 0.5 : warp->height - 0.5;
        const double w = m[6] * x + m[7] * y + m[8];
        for (int i = 0; i < 2; i++) {
            const double *row = m + (size_t)3 * (size_t)i;
            const double at = (row[0] * x + row[1] * y + row[2]) / w;
            if (!isfinite(at)) {
                return need;
            }
            least[i] = fmin(least[i], at);
            most[i] = fmax(most[i], at);
        }
    }
    const int reach = reach_of[warp->interpolation];
    warp_cover(least[0], most[0], reach, width, &need.x, &need.width);
    warp_cover(least[1], most[1], reach, height, &need.y, &need.height);
    return need;
}
