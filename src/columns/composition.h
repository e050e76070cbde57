/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composition: rows of several samples: members, tiles, layers, and the canvases that they share.
 *
 * Purpose: a group whose recipe has several members (sl_recipe_members) is made member by member;
 * the last one finishes it.
 * Threads: those of the row. Memory: canvases are the worker's row's, from sl_row_open on.
 */
#ifndef SL_COMPOSITION_H
#define SL_COMPOSITION_H

#include "group.h"

/* What the members of a column's row are put together in. */
typedef struct sl_canvas {
    uint8_t *pixels, *layer; /* of tiles; where layers meet */
    size_t bytes, layer_bytes;
} sl_canvas;

/* Whether the column's group has a part in the row's member; and whether it is its last. */
bool sl_group_has_member(const sl_column *lead, const sl_row *row);
bool sl_group_is_last(const sl_column *column, const sl_row *row);
/* Returns which tile of its layer that is, of how many. */
uint32_t sl_group_tile(const sl_column *lead, const sl_row *row, uint32_t *tiles);
/* Returns the boxes of the member's objects, where only those that are kept are seen; else NULL. */
const sl_box_list *sl_group_pasted(const sl_column *column, const sl_row *row);
/* The canvas of a column, of `bytes`, or its layer; NULL with an error: no memory. */
uint8_t *sl_row_canvas(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error);
uint8_t *sl_row_layer(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error);

/* Returns the bytes of a worker's canvases, and of what it pastes. */
uint64_t sl_columns_canvas_bytes(const sl_column_set *set);
/* Allocates the canvases of a worker's row. NOMEM. */
sluice_status sl_canvases_open(const sl_column_set *set, sl_row *row, sluice_error *error);
void sl_canvases_close(const sl_column_set *set, sl_row *row);

#endif
