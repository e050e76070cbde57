/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_large: what the policy for large columns (columnar_fields.h) is told of Arrow files.
 *
 * Purpose: the buffers of a batch that is not compressed have each value by itself. Of batches that
 * are compressed all columns are kept in memory, and what is too large for that is refused.
 * Threads: pure.
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

/* Decides where the fields are had from. Errors: UNSUPPORTED (more than four columns of large
 * values, or compressed ones), NOMEM (what would have to be kept). */
sluice_status sl_arrow_choose_large(sl_arrow_table *table, sl_columnar_fields *plan,
                                    sluice_error *error);

#endif
