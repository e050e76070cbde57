/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_tally: counts the rows that best fit decreasing makes of a window, without their entries.
 *
 * The rows depend on the lengths alone, so lengths are sorted without their entries, and equal ones
 * are placed together. The result is the same as placing them one by one (packing_fitted.c):
 *   - a row that takes one of them and still has space for another is the fullest one then, so it
 *     takes as many as fit;
 *   - rows of the same free space are used one after the other, since each is left with less space
 *     than one of them needs.
 */
#include "minmax.h"
#include "packing_modes.h"

#include <stddef.h>

enum { DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS };

/* Equal lengths, and the rows that take them. */
typedef struct tally {
    sl_packing_fit *fit;
    uint32_t *sizes; /* entries of each row */
    uint32_t rows;
    uint32_t most; /* entries of a row */
    uint64_t closed;
} tally;

/* Collects the lengths to fit. Returns how many entries have one. */
static uint32_t tally_needs(const sl_packing_plan *plan, uint32_t *needs,
                            const sl_packing_shape *shape, sl_packing_facts *facts, uint64_t *whole)
{
    uint32_t count = 0;
    *whole = 0;
    for (uint32_t i = 0; i < plan->entries; i++) {
        needs[count] = sl_packing_need(plan, shape, i, NULL, whole, facts);
        count += needs[count] > 0;
    }
    return count;
}

/* Runs one pass of a radix sort by a digit, largest first. */
static void sort_needs_digit(const uint32_t *from, uint32_t *to, uint32_t count, uint32_t shift)
{
    static const uint32_t mask = DIGITS - 1;
    uint32_t begins[DIGITS] = {0};
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        begins[~(from[i] >> shift) & mask]++;
    }
    for (uint32_t i = 0; i < DIGITS; i++) {
        const uint32_t here = begins[i];
        begins[i] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++) {
        to[begins[~(from[i] >> shift) & mask]++] = from[i];
    }
}

/* Puts as many of `left` entries as fit, at least one, into a row with `space`. Returns how
 * many. */
static uint32_t fill_row(tally *t, uint32_t row, uint32_t space, uint32_t need, uint32_t left)
{
    uint32_t fit = 1;
    if (space - need >= need) {
        fit = sl_min_u32(space / need, sl_min_u32(left, t->most - t->sizes[row]));
    }
    space -= fit * need;
    t->sizes[row] += fit;
    if (t->sizes[row] == t->most) {
        t->closed += space > 0;
    } else if (space > 0) {
        sl_packing_fit_add(t->fit, row, space);
    }
    return fit;
}

static void place_equal(tally *t, uint32_t need, uint32_t left)
{
    while (left > 0) {
        const uint32_t space = sl_packing_fit_least(t->fit, need);
        uint32_t row;
        while (left > 0 && space > 0 && sl_packing_fit_pop(t->fit, space, &row)) {
            left -= fill_row(t, row, space, need, left);
        }
        if (left > 0 && space == 0) {
            row = t->rows++;
            t->sizes[row] = 0;
            left -= fill_row(t, row, t->fit->space, need, left);
        }
    }
}

void sl_packing_fitted_count(sl_packing_plan *plan, sl_packing_planner *planner,
                             const sl_packing_shape *shape, sl_packing_facts *facts)
{
    tally t = {.fit = &planner->fit,
               .sizes = planner->numbers,
               .most = shape->max_documents / shape->unit};
    uint64_t whole;
    const uint32_t *sorted = planner->sorted;
    const uint32_t count = tally_needs(plan, planner->needs, shape, facts, &whole);
    sort_needs_digit(planner->needs, planner->sorted, count, 0);
    if (planner->fit.space >= DIGITS) {
        sort_needs_digit(planner->sorted, planner->swapped, count, DIGIT_BITS);
        sorted = planner->swapped;
    }
    sl_packing_fit_clear(&planner->fit);
    for (uint32_t i = 0; i < count;) {
        const uint32_t first = i;
        while (i < count && sorted[i] == sorted[first]) {
            i++;
        }
        place_equal(&t, sorted[first], i - first);
    }
    for (uint32_t i = 0; i < t.rows; i++) {
        facts->most_pieces = sl_max_u32(facts->most_pieces, t.sizes[i] * shape->unit);
    }
    facts->most_pieces = sl_max_u32(facts->most_pieces, whole > 0);
    facts->pieces += whole + (uint64_t)count * shape->unit;
    facts->closed += t.closed;
    plan->rows = whole + t.rows;
}
