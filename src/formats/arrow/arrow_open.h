/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_open: opens Arrow files as a dataset.
 *
 * Purpose: walks the batches of all files (arrow_file.h), chooses the fields (arrow_columns.h) and
 * those that are read with each sample (arrow_large.h), and reads the rows that are kept
 * (arrow_rows.h). Threads: one opens, with helpers; then the dataset is immutable.
 */
#ifndef SL_ARROW_OPEN_H
#define SL_ARROW_OPEN_H

#include "arrow_paths.h"
#include "arrow_rows.h"
#include "columnar.h"

typedef struct sl_arrow {
    sl_columnar table;
    sl_arrow_paths paths;
    sl_arrow_rows *rows; /* one per file; values in memory belong to the table */
} sl_arrow;

/* `own` is zeroed except for table.reader. Errors: IO, CORRUPT, UNSUPPORTED, INVALID, NOMEM. */
sluice_status sl_arrow_open(sl_arrow *own, const char *const *paths, size_t count,
                            const sluice_dataset_options *options, sluice_error *error);

#endif
