/* SPDX-License-Identifier: Apache-2.0 */
#include "orient.h"

#include "error.h"

#include <assert.h>

/* Each orientation mirrors stored columns, mirrors stored rows, then exchanges the axes. */
static bool mirrors_columns(uint32_t orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool mirrors_rows(uint32_t orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

bool sl_orient_transposes(uint32_t orientation)
{
    return orientation >= 5;
}

sl_rect sl_orient_to_stored(uint32_t orientation, sl_rect upright, uint32_t stored_width,
                            uint32_t stored_height)
{
    assert(orientation >= 1 && orientation <= 8);
    sl_rect stored = upright;
    if (sl_orient_transposes(orientation)) {
        stored = (sl_rect){upright.y, upright.x, upright.height, upright.width};
    }
    if (mirrors_columns(orientation)) {
        stored.x = stored_width - stored.x - stored.width;
    }
    if (mirrors_rows(orientation)) {
        stored.y = stored_height - stored.y - stored.height;
    }
    return stored;
}

/* A walk over stored pixels: the first one, and the steps to the next upright column and row. */
typedef struct walk {
    const uint8_t *first;
    ptrdiff_t column_step, row_step;
} walk;

static walk walk_of(uint32_t orientation, sl_rect stored, const sl_image *view)
{
    ptrdiff_t stride = (ptrdiff_t)view->stride_bytes;
    ptrdiff_t x = (ptrdiff_t)(stored.x - view->origin_x);
    ptrdiff_t y = (ptrdiff_t)(stored.y - view->origin_y);
    ptrdiff_t column_step = 3;
    ptrdiff_t row_step = stride;
    if (mirrors_columns(orientation)) {
        x += (ptrdiff_t)stored.width - 1;
        column_step = -3;
    }
    if (mirrors_rows(orientation)) {
        y += (ptrdiff_t)stored.height - 1;
        row_step = -stride;
    }
    bool transpose = sl_orient_transposes(orientation);
    return (walk){.first = view->pixels + y * stride + x * 3,
                  .column_step = transpose ? row_step : column_step,
                  .row_step = transpose ? column_step : row_step};
}

bool sl_orient_scales(uint32_t orientation, uint32_t stored_width, uint32_t stored_height,
                      uint32_t denominator)
{
    return (!mirrors_columns(orientation) || stored_width % denominator == 0) &&
           (!mirrors_rows(orientation) || stored_height % denominator == 0);
}

/* Returns the pixels of an image scaled down by d that lie on `rect`, which begins at multiples of
 * d. */
static sl_rect orient_scaled(sl_rect rect, uint32_t d)
{
    assert(rect.x % d == 0 && rect.y % d == 0);
    return (sl_rect){rect.x / d, rect.y / d, (rect.width + d - 1) / d, (rect.height + d - 1) / d};
}

sluice_status sl_orient_turn(uint32_t orientation, sl_rect need, sl_image *view,
                             sl_scratch *scratch, sluice_error *error)
{
    assert(view->channels == 3);
    need = orient_scaled(need, view->denominator);
    size_t stride = (size_t)need.width * 3;
    uint8_t *pixels = sl_scratch_take(scratch, stride * need.height);
    if (pixels == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "decode",
                            "no scratch memory to rotate %u x %u pixels", need.width, need.height);
    }
    sl_rect stored =
        sl_orient_to_stored(orientation, need, view->picture_width, view->picture_height);
    walk from = walk_of(orientation, stored, view);
    for (uint32_t y = 0; y < need.height; y++) {
        const uint8_t *pixel = from.first + (ptrdiff_t)y * from.row_step;
        uint8_t *out = pixels + y * stride;
        for (uint32_t x = 0; x < need.width; x++) {
            out[0] = pixel[0];
            out[1] = pixel[1];
            out[2] = pixel[2];
            out += 3;
            pixel += from.column_step;
        }
    }
    bool transpose = sl_orient_transposes(orientation);
    *view = (sl_image){.pixels = pixels,
                       .width = need.width,
                       .height = need.height,
                       .channels = 3,
                       .stride_bytes = stride,
                       .origin_x = need.x,
                       .origin_y = need.y,
                       .picture_width = transpose ? view->picture_height : view->picture_width,
                       .picture_height = transpose ? view->picture_width : view->picture_height,
                       .denominator = view->denominator};
    return SLUICE_OK;
}
