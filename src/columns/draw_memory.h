/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw_memory: the memory of a worker's draws: one sl_group_draw for each geometry group, the
 * group's program with the most operations of its recipe, and its program for labels if a column
 * uses one.
 *
 * Threads: a worker's draws are its own. Memory: the caller's, in one block for a worker.
 */
#ifndef SL_DRAW_MEMORY_H
#define SL_DRAW_MEMORY_H

#include "group.h"

/* Returns the bytes that the draws of one worker take, a multiple of 64; 0: the set has no groups.
 */
size_t sl_draw_memory_bytes(const sl_column_set *set);
/* Lays row->draws out in `memory`, of those bytes, zeroed, which must outlive the row. */
void sl_draw_memory_place(const sl_column_set *set, sl_row *row, void *memory);

#endif
