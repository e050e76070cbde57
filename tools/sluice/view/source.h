/* SPDX-License-Identifier: Apache-2.0 */
/* source: with --source, the whole image of each row, in the size of a tile, with an outline of
 * the part that each draw shows. Main thread. */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include "view_job.h"

/* Adds columns to the set that give the source areas of a draw's images. Returns an exit code;
 * reported. */
int source_add_places(const struct view *view, struct column_set *set);
/* Sets the columns of the loader that reads whole images: those of the first image's field. */
void source_set_up(const struct view *view, const struct column_set *columns,
                   struct column_set *set);
/* Takes the whole image of row `row` from a batch of that loader. */
sluice_status source_take(struct view *view, const sluice_batch *batch, uint32_t row);
/* Outlines on it the areas of draw `draw`. */
sluice_status source_outline(struct view *view, const sluice_batch *batch, uint32_t row,
                             uint32_t draw);

#endif
