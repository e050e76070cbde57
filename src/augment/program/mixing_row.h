/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixing_row: how a row of a batch is mixed with its partner. batch_mixing.h draws it, mix_rows.h
 * applies it. Plain data. Threads: none.
 */
#ifndef SL_MIXING_ROW_H
#define SL_MIXING_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* Mixing of a row. */
typedef struct sl_mixing_row {
    uint32_t partner; /* its own number: nothing is mixed in */
    float weight;     /* weight of its own image */
    /* Box of the partner's pixels; without a width all pixels are blended by weight. Without a
     * height there are no pixels: only labels are mixed. */
    uint16_t left, top, right, bottom;
} sl_mixing_row;

/* Returns a row that nothing is mixed into. */
static inline sl_mixing_row sl_mixing_none(uint32_t row)
{
    return (sl_mixing_row){.partner = row, .weight = 1};
}

static inline bool sl_mixing_has_box(const sl_mixing_row *row)
{
    return row->right > row->left;
}

#endif
