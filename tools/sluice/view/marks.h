/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks: what is drawn over the pictures of a row: masks, instances, boxes with
 * their classes, and points, each over the picture that it follows; and what is said of the boxes.
 * Main thread.
 */
#ifndef TOOL_MARKS_H
#define TOOL_MARKS_H

#include "view_job.h"

/* Finds the columns among those of the set, once the pictures are known. */
void marks_find(struct view *view, const struct column_set *set);
/* Whether a column is drawn. */
bool marks_are_drawn(const struct column_spec *spec);
/* Whether it is in the legends of boxes: what belongs to them. */
bool marks_are_of_boxes(const struct view *view, const struct column_set *set,
                        const struct column_spec *spec);
/* Whether there is a legend of it. */
bool marks_have_legend(const struct column_spec *spec);
/* Whether a column is drawn, and its numbers are not written either. */
bool marks_are_drawn_only(const struct column_spec *spec);

struct picture_size {
    uint64_t width, height;
};

/* Draws over the picture of a batch of one row, of that size, which is in the tile, and fills in
 * the legends of the tile: lines of a colour's number, a tab and "7 dog" or "class 3". */
sluice_status marks_draw(const struct view *view, const sluice_batch *batch, struct sheet_place at,
                         struct picture_size size);

#endif
