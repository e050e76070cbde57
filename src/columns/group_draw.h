/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_draw: draws a group for the member at hand, and moves its boxes by that draw.
 *
 * Purpose: boxes are read first, since a step may look at them; then the image is opened; then the
 * recipe is drawn, again where no box is left and one is wanted. A draw is a function of the
 * sample, the image's size and the boxes. Threads and memory: those of the row.
 */
#ifndef SL_GROUP_DRAW_H
#define SL_GROUP_DRAW_H

#include "group.h"

/* Reads the boxes of the sample. Before its image is opened. */
sluice_status sl_group_read(const sl_column *lead, sl_row *row, sluice_error *error);
/* Then draws the group, for an image of that size. */
sluice_status sl_group_plan(const sl_column *lead, sl_row *row, const sl_picture *picture,
                            sluice_error *error);
/* Does all of it; `make` is to decode the image next. */
sluice_status sl_group_make(const sl_column *lead, sl_row *row, sluice_error *error);

/* For a set that `redraws`, whose members were all made: whether a column wants the row to be drawn
 * once more, from the first member on. Raises row->attempt then; other groups draw what they
 * drew. */
bool sl_columns_redraw(const sl_column_set *set, sl_row *row);
/* Once all columns are bound: finds whether a row may have to be drawn again as a whole. */
void sl_redraw_bind(sl_column_set *set);

#endif
