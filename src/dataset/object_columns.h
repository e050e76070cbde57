/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_columns: columns of a table that describe the objects in an image.
 *
 * Purpose: detection datasets of Hugging Face have a structure of lists, or a list of structures,
 * "objects" with "bbox", "category", "area", ...: as columns objects.bbox, objects.category. A
 * column that is called after boxes and holds lists of 4 numbers is a field of boxes; the lists
 * beside it in the same structure have an element for each box. Which four numbers a box has the
 * files do not say, so the format stays unknown and columns ask for it. Threads: pure.
 */
#ifndef SL_OBJECT_COLUMNS_H
#define SL_OBJECT_COLUMNS_H

#include "source_columns.h"

/* Whether lists of lists of numbers under this name, "bbox", "objects.boxes", are boxes. */
bool sl_object_columns_are_boxes(const char *column);
/* Sets what the fields of boxes, and those beside them, mean. */
void sl_object_columns_mean(sl_source_fields *fields, const sl_source_column *columns);

#endif
