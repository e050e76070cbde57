/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_boxes: functions of a column of boxes that a group's draw needs, before and during it.
 *
 * Purpose: boxes are read to the worker's list (boxes.h), then scaled to the open image, then moved
 * by the draw (group_draw.h); `make` writes the kept ones.
 *
 * Threads and memory: those of the row; shapes are in scratch behind the image's.
 */
#ifndef SL_COLUMN_BOXES_H
#define SL_COLUMN_BOXES_H

#include "row.h"

/* Reads the boxes of the sample: none if the field is missing. */
sluice_status sl_column_read_boxes(const sl_column *column, sl_row *row, sluice_error *error);
/* Scales and turns them to pixels of the image, as it is decoded. */
sluice_status sl_column_scale_boxes(const sl_column *column, sl_row *row, sluice_error *error);
/* Reads the shapes that boxes are computed from, if the column has them (box_shapes.c). Scratch
 * belongs to the image, too, until it is released. */
sluice_status sl_column_read_shapes(const sl_column *column, sl_row *row, sluice_error *error);

#endif
