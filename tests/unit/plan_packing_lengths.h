/* SPDX-License-Identifier: Apache-2.0 */
/* plan_packing_lengths: draws document lengths for packing tests from several distributions. One
 * thread; the same numbers in every run. */
#ifndef PLAN_PACKING_LENGTHS_H
#define PLAN_PACKING_LENGTHS_H

#include "packing.h"

typedef enum packing_lengths_kind {
    LOGNORMAL,
    SMALL,
    EQUAL,
    TWO,
    SPARSE,
    HUGE_ONES,
    KINDS
} packing_lengths_kind;

/* Returns a number below `bound`. */
uint32_t packing_draw(uint32_t bound);
uint32_t packing_draw_lognormal(double mean, double deviation);
/* Draws lengths for rows of `shape`. Within a unit, all documents are empty or none is. Documents
 * that must fit do, and at least one is not empty. */
void packing_lengths_fill(uint32_t *lengths, uint32_t documents, const sl_packing_shape *shape,
                          packing_lengths_kind kind);

#endif
