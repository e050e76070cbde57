/* SPDX-License-Identifier: Apache-2.0 */
/* marks: draws masks, instances, boxes with their classes, and points over the images that they
 * follow, and describes the boxes. Main thread. */
#ifndef TOOL_MARKS_H
#define TOOL_MARKS_H

#include "view_job.h"

/* Finds the columns among those of the set, once the images are known. */
void marks_find(struct view *view, const struct column_set *set);
/* Returns whether a column is drawn. */
bool marks_are_drawn(const struct column_spec *spec);
/* Returns whether the column belongs to boxes, and so is in their legends. */
bool marks_are_of_boxes(const struct view *view, const struct column_set *set,
                        const struct column_spec *spec);
/* Returns whether the column has a legend. */
bool marks_have_legend(const struct column_spec *spec);
/* Returns whether a column is drawn, without its numbers being written. */
bool marks_are_drawn_only(const struct column_spec *spec);

struct picture_size {
    uint64_t width, height;
};

/* Draws over the image of a batch of one row, which has that size and is in the tile, and fills
 * in the legends of the tile: lines of a colour's number, a tab and "7 dog" or "class 3". */
sluice_status marks_draw(const struct view *view, const sluice_batch *batch, struct sheet_place at,
                         struct picture_size size);

#endif
