/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_modes: the two ways of making rows of a window, for packing_plan.c.
 *
 * Purpose: `fitted` is NONE and LONG, `split` is SPLIT (packing.h). The plan has the window's
 * documents and lengths already. Each makes the rest of the plan and adds rows, pieces, cut,
 * closed and most_pieces to `facts`. Threads: as packing_plan.h.
 */
#ifndef SL_PACKING_MODES_H
#define SL_PACKING_MODES_H

#include "packing_plan.h"

/* Rounded up to a multiple of align, in practice a power of two: a division would take as long as
 * the rest of what is done for a document. */
static inline uint64_t sl_packing_aligned(const sl_packing_shape *shape, uint64_t length)
{
    const uint64_t last = shape->align - 1;
    if ((shape->align & last) == 0) {
        return (length + last) & ~last;
    }
    const uint64_t over = length % shape->align;
    return over == 0 ? length : length + shape->align - over;
}

/* Pieces of `length` that a document is cut into, besides the rest. */
static inline uint64_t sl_packing_whole(const sl_packing_shape *shape, uint64_t length)
{
    return shape->cut == SL_PACKING_CUT_LONG && length > shape->length ? length / shape->length : 0;
}

void sl_packing_fitted_make(sl_packing_plan *plan, sl_packing_planner *planner,
                            const sl_packing_shape *shape, sl_packing_facts *facts);
uint32_t sl_packing_fitted_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                  uint64_t row, uint32_t first, uint32_t count,
                                  sl_packed_piece *pieces);

/* The same facts and `plan->rows`, without the rows: packing_tally.c. */
void sl_packing_fitted_count(sl_packing_plan *plan, sl_packing_planner *planner,
                             const sl_packing_shape *shape, sl_packing_facts *facts);

void sl_packing_split_make(sl_packing_plan *plan, const sl_packing_shape *shape,
                           sl_packing_facts *facts);
uint32_t sl_packing_split_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                 uint64_t row, uint32_t first, uint32_t count,
                                 sl_packed_piece *pieces);

#endif
