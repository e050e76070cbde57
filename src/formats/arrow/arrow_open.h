/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_open: opening Arrow files as a dataset.
 *
 * Purpose: walks the batches of all files (arrow_file.h), finds which columns are fields
 * (arrow_columns.h) and which of them are read with each sample (arrow_large.h), and reads what is
 * kept of their rows (arrow_rows.h). Threads: one opens, with helpers; then the dataset is
 * immutable.
 */
#ifndef SL_ARROW_OPEN_H
#define SL_ARROW_OPEN_H

#include "arrow_paths.h"
#include "arrow_rows.h"
#include "dataset.h"

/* Read for samples of which there is nothing to read. */
#define SL_ARROW_NOTHING_BYTES 8U

typedef struct sl_arrow {
    sl_dataset base;
    sl_arrow_paths paths;
    sl_arrow_rows *rows; /* of each file */
    uint64_t *order;     /* row of each sample; NULL: they are the rows */
    sl_features features;
    sl_arrow_wish wish; /* without its columns, once it is open */
    uint32_t label;     /* field whose values have names; NONE */
    char label_column[SL_SOURCE_NAME_BYTES];
} sl_arrow;

/* `own` is all zero but for base.ops, references and label. Errors: IO, CORRUPT, UNSUPPORTED,
 * INVALID, NOMEM. */
sluice_status sl_arrow_open(sl_arrow *own, const char *const *paths, size_t count,
                            const sluice_dataset_options *options, sluice_error *error);

#endif
