/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: checks the first rows for conditions to report once (notices.h): boxes in the wrong
 * format, values that seem to belong to boxes, batches whose boxes were all dropped.
 *
 * Threads: workers call these for their rows. Counters are relaxed, since nothing depends on their
 * order; lengths are counted under the notices' mutex. Does nothing if nobody reads notices.
 */
#ifndef SL_COLUMNS_WATCH_H
#define SL_COLUMNS_WATCH_H

#include "row.h"

/* Parts of a BOXES, after values and offsets or lengths. */
enum { SL_BOXES_HAD = 2 }; /* u32: boxes of the row before the draw; only where notices are read */

/* Records a sample's boxes; list->faults of them are invalid in the column's format. */
void sl_watch_boxes(const sl_column *column, const sl_box_list *list);
/* Records the length of a row of a column that follows no boxes. */
void sl_watch_length(const sl_column *column, const sl_row *row, uint64_t length);
/* Checks a batch whose rows are made: whether geometry dropped all of their boxes. */
void sl_watch_batch(const sl_column *column, uint32_t rows, sl_part_view parts);

#endif
