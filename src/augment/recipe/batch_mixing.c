/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a row's mixing from numbers of the batch, the pair or the row. Pure. */
#include "batch_mixing.h"

#include "recipe.h"
#include "variates.h"

#include <assert.h>
#include <math.h>

uint32_t sl_mixing_partner_of(const sl_mixing *mixing, uint32_t rows, uint32_t row)
{
    assert(row < rows);
    if (mixing->partner == SL_PARTNER_REVERSED) {
        return rows - 1 - row;
    }
    return row > 0 ? row - 1 : rows - 1;
}

uint32_t sl_mixing_user_of(const sl_mixing *mixing, uint32_t rows, uint32_t row)
{
    if (mixing->partner == SL_PARTNER_REVERSED) {
        return rows - 1 - row;
    }
    return row + 1 < rows ? row + 1 : 0;
}

/* Finds the possible lengths of a side: [*least, *end), as timm does; one, if both limits are
 * equal. */
static void find_sides(const sl_mixing *mixing, uint32_t length, uint32_t *least, uint32_t *end)
{
    *least = (uint32_t)(length * mixing->sides[0]);
    *end = (uint32_t)(length * mixing->sides[1]);
    if (mixing->sides[0] == mixing->sides[1]) {
        *end = *least + 1;
    }
}

/* Draws the beginning of such a side: timm never lets it touch the end, unless it is as long as
 * all. */
static uint32_t draw_begin(sl_random *random, uint32_t length, uint32_t side)
{
    return side < length ? sl_random_below(random, length - side) : 0;
}

const char *sl_mixing_mismatch(const sl_mixing *mixing)
{
    uint32_t least[2];
    uint32_t end[2];
    if (mixing->width > UINT16_MAX || mixing->height > UINT16_MAX) {
        return "rows whose images have a side above 65535 pixels cannot be mixed";
    }
    find_sides(mixing, mixing->width, &least[0], &end[0]);
    find_sides(mixing, mixing->height, &least[1], &end[1]);
    for (int i = 0; i < 2 && mixing->sides[1] > 0; i++) {
        if (least[i] >= end[i] || end[i] == 1) { /* none, or 0 alone */
            return "no whole number of pixels lies between cutmix_min and cutmix_max";
        }
    }
    return NULL;
}

/* Draws the box like timm, with `sides`. */
static void draw_sides(const sl_mixing *mixing, sl_random *random, sl_mixing_row *drawn)
{
    uint32_t least;
    uint32_t end;
    find_sides(mixing, mixing->height, &least, &end);
    const uint32_t height = least + sl_random_below(random, end - least);
    find_sides(mixing, mixing->width, &least, &end);
    const uint32_t width = least + sl_random_below(random, end - least);
    const uint32_t top = draw_begin(random, mixing->height, height);
    const uint32_t left = draw_begin(random, mixing->width, width);
    drawn->left = (uint16_t)left;
    drawn->top = (uint16_t)top;
    drawn->right = (uint16_t)(left + width);
    drawn->bottom = (uint16_t)(top + height);
}

static uint16_t clipped(uint32_t center, uint32_t half, uint32_t length, bool end)
{
    const uint32_t begin = center > half ? center - half : 0;
    const uint32_t behind = center + half < length ? center + half : length;
    return (uint16_t)(end ? behind : begin);
}

static void draw_box(const sl_mixing *mixing, double lambda, sl_random *random,
                     sl_mixing_row *drawn)
{
    const double ratio = 0.5 * sqrt(1 - lambda);
    const uint32_t half_width = (uint32_t)(ratio * mixing->width);
    const uint32_t half_height = (uint32_t)(ratio * mixing->height);
    const uint32_t x = sl_random_below(random, mixing->width);
    const uint32_t y = sl_random_below(random, mixing->height);
    drawn->left = clipped(x, half_width, mixing->width, false);
    drawn->right = clipped(x, half_width, mixing->width, true);
    drawn->top = clipped(y, half_height, mixing->height, false);
    drawn->bottom = clipped(y, half_height, mixing->height, true);
}

static sl_mixing_row draw_cutmix(const sl_mixing *mixing, sl_random *random, uint32_t row,
                                 uint32_t partner)
{
    const bool by_lambda = mixing->sides[1] == 0;
    const double lambda =
        by_lambda ? sl_beta(random, mixing->cutmix_alpha, mixing->cutmix_alpha) : 0;
    sl_mixing_row drawn = {.partner = partner, .weight = (float)lambda};
    if (by_lambda) {
        draw_box(mixing, lambda, random, &drawn);
    } else {
        draw_sides(mixing, random, &drawn);
    }
    const double area = (double)(drawn.right - drawn.left) * (double)(drawn.bottom - drawn.top);
    if (!by_lambda || !mixing->keeps_lambda) {
        drawn.weight = (float)(1 - area / ((double)mixing->width * mixing->height));
    }
    if (area > 0) {
        return drawn;
    }
    /* No pixel is the partner's; with `keeps_lambda` its label still counts. */
    drawn = (sl_mixing_row){.partner = partner, .weight = drawn.weight, .right = 1};
    return drawn.weight < 1 ? drawn : sl_mixing_none(row);
}

/* Returns the position that the draw belongs to, unique to the batch. */
static uint64_t drawn_at(const sl_mixing *mixing, const sl_mixing_batch *batch, uint32_t row,
                         uint32_t partner)
{
    switch (mixing->mode) {
    case SL_MIX_PAIR:
        return batch->first + (row < partner ? row : partner);
    case SL_MIX_ELEM:
        return batch->first + row;
    default:
        return batch->first;
    }
}

sl_mixing_row sl_mixing_draw(const sl_mixing *mixing, const sl_mixing_batch *batch, uint32_t row)
{
    const uint32_t partner = sl_mixing_partner_of(mixing, batch->rows, row);
    const bool ended = mixing->end_epoch > 0 && batch->epoch >= mixing->end_epoch;
    if (partner == row || ended) {
        return sl_mixing_none(row);
    }
    const sl_draw_key key = {.seed = batch->seed,
                             .epoch = batch->epoch,
                             .sample = drawn_at(mixing, batch, row, partner),
                             .group = batch->group};
    sl_random random = sl_recipe_random(&key, mixing->stream);
    if (!(sl_random_unit(&random) < mixing->probability)) {
        return sl_mixing_none(row);
    }
    const bool either = mixing->mixup_alpha > 0 && mixing->cutmix_alpha > 0;
    if (either ? sl_random_unit(&random) < mixing->switch_probability : mixing->cutmix_alpha > 0) {
        return draw_cutmix(mixing, &random, row, partner);
    }
    const float weight = (float)sl_beta(&random, mixing->mixup_alpha, mixing->mixup_alpha);
    return weight < 1 ? (sl_mixing_row){.partner = partner, .weight = weight} : sl_mixing_none(row);
}
