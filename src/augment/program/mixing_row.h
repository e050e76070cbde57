/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixing_row: how a row of a batch is mixed with its partner. batch_mixing.h draws it, mix_rows.h
 * carries it out. Plain data. Threads: none.
 */
#ifndef SL_MIXING_ROW_H
#define SL_MIXING_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* What becomes of a row. */
typedef struct sl_mixing_row {
    uint32_t partner; /* its own number: nothing is mixed in */
    float weight;     /* the share of its own */
    /* Where its pixels are the partner's; without a width they are in shares, everywhere. One
     * without a height has no pixels: only labels are mixed. */
    uint16_t left, top, right, bottom;
} sl_mixing_row;

/* A row that nothing is mixed into. */
static inline sl_mixing_row sl_mixing_none(uint32_t row)
{
    return (sl_mixing_row){.partner = row, .weight = 1};
}

static inline bool sl_mixing_has_box(const sl_mixing_row *row)
{
    return row->right > row->left;
}

#endif
