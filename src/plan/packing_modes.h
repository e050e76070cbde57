/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_modes: the two ways of making the rows of a window, for packing_plan.c.
 *
 * Purpose: `fitted` is NONE and LONG, `split` is SPLIT (packing.h). The plan already has the
 * window's documents and lengths. Each function makes the rest of the plan and adds rows, pieces,
 * cut, closed and most_pieces to `facts`. Threads: as packing_plan.h.
 */
#ifndef SL_PACKING_MODES_H
#define SL_PACKING_MODES_H

#include "packing_plan.h"

#include <stddef.h>

/* Rounds up to a multiple of align. Fast for powers of two, the usual case: a division would
 * take as long as the remaining work for a document. */
static inline uint64_t sl_packing_aligned(const sl_packing_shape *shape, uint64_t length)
{
    const uint64_t last = shape->align - 1;
    if ((shape->align & last) == 0) {
        return (length + last) & ~last;
    }
    const uint64_t over = length % shape->align;
    return over == 0 ? length : length + shape->align - over;
}

/* Returns the number of pieces of `length` that a document is cut into, besides the rest. */
static inline uint64_t sl_packing_whole(const sl_packing_shape *shape, uint64_t length)
{
    return shape->cut == SL_PACKING_CUT_LONG && length > shape->length ? length / shape->length : 0;
}

/* Returns the space that the rests of an entry's documents take in a row, in units of `align`;
 * 0: none, or more than a row. Adds to `*whole` the pieces of `length` that its documents are
 * cut into, and to `begins`, unless it is NULL, how many come before those of each document. */
static inline uint32_t sl_packing_need(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                       uint32_t entry, uint64_t *begins, uint64_t *whole,
                                       sl_packing_facts *facts)
{
    const size_t first = (size_t)entry * shape->unit;
    const uint32_t align = shape->align;
    uint64_t need = 0;
    for (size_t k = first; k < first + shape->unit; k++) {
        const uint64_t length = plan->lengths[k];
        const uint64_t pieces = sl_packing_whole(shape, length);
        if (begins != NULL) {
            begins[k] = *whole;
        }
        *whole += pieces;
        facts->cut += pieces > 0;
        need += sl_packing_aligned(shape, length - pieces * shape->length);
    }
    if (need > shape->length) {
        return 0;
    }
    return (uint32_t)((align & (align - 1)) == 0 ? need >> __builtin_ctz(align) : need / align);
}

void sl_packing_fitted_make(sl_packing_plan *plan, sl_packing_planner *planner,
                            const sl_packing_shape *shape, sl_packing_facts *facts);
uint32_t sl_packing_fitted_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                  uint64_t row, uint32_t first, uint32_t count,
                                  sl_packed_piece *pieces);

/* Compute the same facts and `plan->rows`, without the rows: packing_tally.c. */
void sl_packing_fitted_count(sl_packing_plan *plan, sl_packing_planner *planner,
                             const sl_packing_shape *shape, sl_packing_facts *facts);

void sl_packing_split_make(sl_packing_plan *plan, const sl_packing_shape *shape,
                           sl_packing_facts *facts);
uint32_t sl_packing_split_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                 uint64_t row, uint32_t first, uint32_t count,
                                 sl_packed_piece *pieces);

#endif
