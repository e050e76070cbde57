/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_large: applies the policy for large columns (columnar_fields.h) to Arrow files.
 *
 * Purpose: in an uncompressed batch, each value can be read by itself. Compressed batches are kept
 * in memory with all columns; those that are too large for that cause an error. Threads: pure.
 */
#ifndef SL_ARROW_LARGE_H
#define SL_ARROW_LARGE_H

#include "arrow_rows.h"

/* Files with the same columns. */
typedef struct sl_arrow_table {
    const char *path; /* path of the first file, for errors */
    const sl_arrow_file *files;
    uint32_t count;
    uint64_t rows; /* total over all files, at least 1 */
    const sl_arrow_columns *columns;
} sl_arrow_table;

/*
 * Decides how the fields are read. Errors: UNSUPPORTED (more than four columns of large values, or
 * compressed ones), NOMEM (for those to be kept).
 */
sluice_status sl_arrow_choose_large(sl_arrow_table *table, sl_columnar_fields *plan,
                                    sluice_error *error);

#endif
