/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_packing_lengths.h"

#include <math.h>

static uint64_t random_state = 1;

uint32_t packing_draw(uint32_t bound)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((random_state >> 33) % bound);
}

static double draw_unit(void)
{
    return ((double)packing_draw(1U << 30) + 0.5) / (1U << 30);
}

uint32_t packing_draw_lognormal(double mean, double deviation)
{
    const double normal = sqrt(-2 * log(draw_unit())) * cos(6.283185307179586 * draw_unit());
    return (uint32_t)exp(mean + deviation * normal);
}

static uint32_t draw_length(packing_lengths_kind kind, uint32_t row)
{
    switch (kind) {
    case LOGNORMAL:
        return packing_draw_lognormal(log(row) - 1.7, 1.2);
    case SMALL:
        return packing_draw(6);
    case EQUAL:
        return row / 3 + 1;
    case TWO:
        return packing_draw(2) == 0 ? row - 1 : 2;
    case SPARSE:
        return packing_draw(5) == 0 ? packing_draw(row) + 1 : 0;
    default:
        return packing_draw(40) == 0 ? packing_draw(9 * row) : packing_draw(row) + 1;
    }
}

void packing_lengths_fill(uint32_t *lengths, uint32_t documents, const sl_packing_shape *shape,
                          packing_lengths_kind kind)
{
    const uint64_t space = shape->length / shape->unit / shape->align * shape->align;
    const bool whole = shape->cut == SL_PACKING_CUT_SPLIT ||
                       (shape->cut == SL_PACKING_CUT_LONG && shape->unit == 1);
    for (uint32_t i = 0; i < documents; i++) {
        lengths[i] = draw_length(kind, (uint32_t)shape->length);
        if (!whole && lengths[i] > space) {
            lengths[i] = (uint32_t)space;
        }
        if (i % shape->unit > 0) {
            const bool empty = lengths[i - i % shape->unit] == 0;
            lengths[i] = empty ? 0 : lengths[i] > 0 ? lengths[i] : 1;
        }
    }
    for (uint32_t i = 0; i < shape->unit; i++) { /* at least one is not empty */
        lengths[i] = 1;
    }
}
