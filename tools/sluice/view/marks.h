/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks: what is drawn over the pictures of a row: masks, instances, boxes and points, each over
 * the picture that it follows, and what is said of the boxes. Main thread.
 */
#ifndef TOOL_MARKS_H
#define TOOL_MARKS_H

#include "view_job.h"

/* Finds the columns among those of the set, once the pictures are known. */
void marks_find(struct view *view, const struct column_set *set);
/* Whether a column is drawn and not written. */
bool marks_are_drawn_only(const struct column_spec *spec);

struct picture_size {
    uint64_t width, height;
};

/* Draws over picture `picture` of a batch of one row, of that size, which is in the tile. */
sluice_status marks_draw(const struct view *view, const sluice_batch *batch, uint32_t picture,
                         const struct overlay *tile, struct picture_size size);

/* "7 dog\n3 cat": a line for each box of boxes column `number`, in the order of colours; what does
 * not fit is cut off. */
sluice_status marks_describe(const struct view *view, const sluice_batch *batch, uint32_t number,
                             char *text, size_t bytes);

#endif
