/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_columns: recognises columns of a table that describe the objects in an image.
 *
 * Purpose: Hugging Face's detection datasets have a structure of lists, or a list of structures,
 * "objects" with "bbox", "category", "area", ...: as columns, objects.bbox and objects.category. A
 * column that is named like boxes and contains lists of 4 numbers is a field of boxes; the lists
 * beside it in the same structure have one element per box. The files do not give the order of the
 * four numbers, so the box format stays unknown, and columns require it. Threads: pure.
 */
#ifndef SL_OBJECT_COLUMNS_H
#define SL_OBJECT_COLUMNS_H

#include "source_columns.h"

/* Returns whether lists of lists of numbers with this name, "bbox", "objects.boxes", are boxes. */
bool sl_object_columns_are_boxes(const char *column);
/* Sets the meaning of fields of boxes, and of those beside them. */
void sl_object_columns_mean(sl_source_fields *fields, const sl_source_column *columns);

#endif
