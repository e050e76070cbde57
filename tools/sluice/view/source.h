/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source: with --source, the whole picture of each row, in the size of a tile, with an outline of
 * the part that each draw shows. Main thread.
 */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include "view_job.h"

/* Adds columns to the set that say where the pictures of a draw are from. An exit code; reported.
 */
int source_add_places(const struct view *view, struct column_set *set);
/* The columns of the loader that reads whole pictures: those of the first picture's field. */
void source_set_up(const struct view *view, const struct column_set *columns,
                   struct column_set *set);
/* Takes the whole picture of row `row` from a batch of that loader. */
sluice_status source_take(struct view *view, const sluice_batch *batch, uint32_t row);
/* Draws on it where the pictures of draw `draw` are from. */
sluice_status source_outline(struct view *view, const sluice_batch *batch, uint32_t row,
                             uint32_t draw);

#endif
