/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_large: which columns of Arrow files are read with each sample.
 *
 * Purpose: the one whose values take the most, unless all are small, pictures of more than 1 MiB in
 * all, and other values of more than that and 4 KiB on average, as of Parquet files; lists of
 * pictures always. The others are kept in memory. Of batches that are compressed all are, and what
 * is too large for that is refused. Threads: pure.
 */
#ifndef SL_ARROW_LARGE_H
#define SL_ARROW_LARGE_H

#include "arrow_rows.h"

/* Files of the same columns. */
typedef struct sl_arrow_table {
    const char *path; /* of the first one, named in errors */
    const sl_arrow_file *files;
    uint32_t count;
    uint64_t rows; /* of all of them, at least 1 */
    const sl_arrow_columns *columns;
} sl_arrow_table;

/* Fills in a wish whose fields are there. Errors: UNSUPPORTED (more than four columns of large
 * values, or compressed ones), NOMEM (what would have to be kept). */
sluice_status sl_arrow_choose_large(const sl_arrow_table *table, sl_arrow_wish *wish,
                                    sluice_error *error);

#endif
