/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_fit: finds the fullest row that has space for a length.
 *
 * Purpose: rows are in one stack for each amount of free space, and a tree of 64-bit words records
 * which stacks are not empty, so finding, adding and removing a row takes a few operations each.
 * Threads: none. Memory: 4 bytes for each amount of space, and 4 a row.
 */
#ifndef SL_PACKING_FIT_H
#define SL_PACKING_FIT_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_PACKING_NO_ROW UINT32_MAX
#define SL_PACKING_LEVELS 5 /* 64^5 > 2^24 */

typedef struct sl_packing_fit {
    uint32_t space;  /* of an empty row */
    uint32_t levels; /* of the tree; the last level has one word */
    uint64_t *words[SL_PACKING_LEVELS];
    uint32_t *heads; /* of each amount of space: the last added row, if the tree has its bit */
    uint32_t *next;  /* of each row: the one below it in its stack, or NO_ROW */
} sl_packing_fit;

/* For at most `rows` rows of `space` <= 2^24 each. Errors: NOMEM. A zeroed one may be closed. */
sluice_status sl_packing_fit_open(sl_packing_fit *fit, uint32_t space, uint32_t rows,
                                  sluice_error *error);
/* Returns the number of bytes that sl_packing_fit_open allocates. */
uint64_t sl_packing_fit_bytes(uint32_t space, uint32_t rows);
void sl_packing_fit_close(sl_packing_fit *fit);

/* Forgets all rows. */
void sl_packing_fit_clear(sl_packing_fit *fit);
/* Adds a row with `space` >= 1 free. */
void sl_packing_fit_add(sl_packing_fit *fit, uint32_t row, uint32_t space);
/* Returns the smallest free space of a row that is at least `need` >= 1; 0: no row has that
 * much. */
uint32_t sl_packing_fit_least(const sl_packing_fit *fit, uint32_t need);
/* Removes the row with `space` >= 1 free that was added last. False: no row has it. */
bool sl_packing_fit_pop(sl_packing_fit *fit, uint32_t space, uint32_t *row);
/* Removes the row with the least space that is at least `need`; of several, the one added last.
 * Sets `*space` to its free space. NO_ROW: no row has that much. */
uint32_t sl_packing_fit_take(sl_packing_fit *fit, uint32_t need, uint32_t *space);

#endif
