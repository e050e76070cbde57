/* SPDX-License-Identifier: Apache-2.0 */
/* packing_fitted: best fit decreasing, and the whole pieces of documents longer than a row. Each
 * step is linear in the window's entries. */
#include "minmax.h"
#include "packing_modes.h"
#include "search.h"

#include <stddef.h>
#include <string.h>

enum { DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS };

/* Computes the length to fit of each entry, in units of `align`. Skips entries longer than a
 * row. */
static void find_needs(const sl_packing_plan *plan, sl_packing_planner *planner,
                       const sl_packing_shape *shape, sl_packing_facts *facts)
{
    uint64_t whole = 0;
    for (uint32_t i = 0; i < plan->entries; i++) {
        planner->needs[i] = sl_packing_need(plan, shape, i, plan->begins, &whole, facts);
    }
    if (plan->begins != NULL) {
        plan->begins[(size_t)plan->entries * shape->unit] = whole;
    }
    facts->pieces += whole;
    facts->most_pieces = sl_max_u32(facts->most_pieces, whole > 0);
}

/* Runs one pass of a stable radix sort, by a digit of (row length - entry length). */
static void sort_digit(const sl_packing_planner *planner, const uint32_t *from, uint32_t *to,
                       uint32_t count, uint32_t shift)
{
    static const uint32_t mask = DIGITS - 1;
    uint32_t ends[DIGITS + 1] = {0};
    for (uint32_t i = 0; i < count; i++) {
        ends[((planner->fit.space - planner->needs[from[i]]) >> shift & mask) + 1]++;
    }
    for (uint32_t i = 1; i <= DIGITS; i++) {
        ends[i] += ends[i - 1];
    }
    for (uint32_t i = 0; i < count; i++) {
        to[ends[(planner->fit.space - planner->needs[from[i]]) >> shift & mask]++] = from[i];
    }
}

/* Sorts the entries with something to fit: longest first, equal ones in their order. Returns how
 * many. */
static uint32_t sort_entries(sl_packing_planner *planner, uint32_t entries)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < entries; i++) {
        if (planner->needs[i] > 0) {
            planner->swapped[count++] = i;
        }
    }
    sort_digit(planner, planner->swapped, planner->sorted, count, 0);
    if (planner->fit.space > DIGITS) {
        sort_digit(planner, planner->sorted, planner->swapped, count, DIGIT_BITS);
        memcpy(planner->sorted, planner->swapped, count * sizeof(*planner->sorted));
    }
    return count;
}

/* Puts each entry into a row, and counts the entries of row n in sizes[n]. Returns how many
 * rows. */
static uint32_t fit_entries(sl_packing_planner *planner, const sl_packing_shape *shape,
                            uint32_t count, uint32_t *sizes, sl_packing_facts *facts)
{
    const uint32_t most = shape->max_documents / shape->unit;
    uint32_t rows = 0;
    sl_packing_fit_clear(&planner->fit);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t entry = planner->sorted[i];
        const uint32_t need = planner->needs[entry];
        uint32_t space = 0;
        uint32_t row = sl_packing_fit_take(&planner->fit, need, &space);
        if (row == SL_PACKING_NO_ROW) {
            row = rows++;
            space = planner->fit.space;
            sizes[row] = 0;
        }
        planner->rows[entry] = row;
        space -= need;
        if (++sizes[row] == most) {
            facts->closed += space > 0;
        } else if (space > 0) {
            sl_packing_fit_add(&planner->fit, row, space);
        }
    }
    return rows;
}

/* Numbers rows by their first entry, and lists the entries of each. `sizes` is in the order in
 * which rows were opened. */
static void list_members(sl_packing_plan *plan, sl_packing_planner *planner, const uint32_t *sizes)
{
    uint32_t *numbers = planner->numbers;
    uint32_t *ends = plan->firsts + 1; /* of row n: where its next member goes */
    uint32_t seen = 0;
    uint32_t listed = 0;
    memset(numbers, 0xFF, plan->fitted * sizeof(*numbers));
    plan->firsts[0] = 0;
    for (uint32_t i = 0; i < plan->entries; i++) {
        if (planner->needs[i] == 0) {
            continue;
        }
        const uint32_t row = planner->rows[i];
        if (numbers[row] == SL_PACKING_NO_ROW) {
            numbers[row] = seen;
            ends[seen++] = listed;
            listed += sizes[row];
        }
        plan->members[ends[numbers[row]]++] = i;
    }
}

void sl_packing_fitted_make(sl_packing_plan *plan, sl_packing_planner *planner,
                            const sl_packing_shape *shape, sl_packing_facts *facts)
{
    uint32_t *sizes = planner->swapped; /* free again: the sort is done */
    find_needs(plan, planner, shape, facts);
    const uint32_t count = sort_entries(planner, plan->entries);
    plan->fitted = fit_entries(planner, shape, count, sizes, facts);
    for (uint32_t i = 0; i < plan->fitted; i++) {
        facts->most_pieces = sl_max_u32(facts->most_pieces, sizes[i] * shape->unit);
    }
    facts->pieces += (uint64_t)count * shape->unit;
    list_members(plan, planner, sizes);
    const uint64_t whole =
        plan->begins != NULL ? plan->begins[(size_t)plan->entries * shape->unit] : 0;
    plan->rows = whole + plan->fitted;
}

/* Returns the part of document `place` of the window that is not in rows of its own. */
static sl_packed_piece fitted_piece(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                    size_t place)
{
    const uint64_t length = plan->lengths[place];
    const uint64_t first = sl_packing_whole(shape, length) * shape->length;
    return (sl_packed_piece){plan->documents[place], first, (uint32_t)(length - first)};
}

uint32_t sl_packing_fitted_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                  uint64_t row, uint32_t first, uint32_t count,
                                  sl_packed_piece *pieces)
{
    const size_t places = (size_t)plan->entries * shape->unit;
    const uint64_t whole = plan->begins != NULL ? plan->begins[places] : 0;
    if (row < whole) {
        const size_t place = sl_last_at_or_before(plan->begins, sizeof(*plan->begins), places, row);
        if (first == 0 && count > 0) {
            pieces[0] = (sl_packed_piece){plan->documents[place],
                                          (row - plan->begins[place]) * shape->length,
                                          (uint32_t)shape->length};
        }
        return 1;
    }
    const uint32_t *members = plan->members + plan->firsts[row - whole];
    const uint32_t found =
        (plan->firsts[row - whole + 1] - plan->firsts[row - whole]) * shape->unit;
    for (uint32_t i = first; i < found && i - first < count; i++) {
        pieces[i - first] = fitted_piece(
            plan, shape, (size_t)members[i / shape->unit] * shape->unit + i % shape->unit);
    }
    return found;
}
