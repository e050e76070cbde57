/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_draw: draws a group for the current member, and moves its boxes by that draw.
 *
 * Purpose: boxes are read first, since a step may use them; then the image is opened; then the
 * recipe is drawn, and again if no box remains and one is required. A draw is a function of the
 * sample, the image's size and the boxes. Threads and memory: those of the row.
 */
#ifndef SL_GROUP_DRAW_H
#define SL_GROUP_DRAW_H

#include "group.h"

/* Reads the boxes of the sample, before its image is opened. */
sluice_status sl_group_read(const sl_column *lead, sl_row *row, sluice_error *error);
/* Draws the group after that, for an image of that size. */
sluice_status sl_group_plan(const sl_column *lead, sl_row *row, const sl_picture *picture,
                            sluice_error *error);
/* Does both, and opens the image in between; `make` must decode it next. */
sluice_status sl_group_make(const sl_column *lead, sl_row *row, sluice_error *error);

/* Returns whether a column wants the row drawn again, from the first member on. For a set that
 * `redraws`, once all members are made. Raises row->attempt then; other groups repeat their
 * draws. */
bool sl_columns_redraw(const sl_column_set *set, sl_row *row);
/* Once all columns are bound: finds whether a row may have to be drawn again as a whole. */
void sl_redraw_bind(sl_column_set *set);

#endif
