/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_rows: what opening keeps of the rows of an Arrow file.
 *
 * Purpose: columns of large values are read when a sample is: where its values are is kept
 * (arrow_places.h). All others are kept themselves (side_columns.h). Threads: one reads a file's;
 * then they are immutable. Ownership: sl_arrow_rows_close. Memory: 12 bytes a row for each large
 * column, and what side columns take.
 */
#ifndef SL_ARROW_ROWS_H
#define SL_ARROW_ROWS_H

#include "arrow_columns.h"
#include "arrow_file.h"
#include "arrow_places.h"
#include "side_columns.h"

typedef struct sl_arrow_rows {
    uint64_t rows;
    sl_arrow_places large[SL_COLUMNAR_LARGE_MAX];
    sl_side_columns side;
    uint64_t elsewhere; /* pictures of which there is a path only */
} sl_arrow_rows;

/* `file` is that of `path`, opened; `columns` those that the plan's numbers are of. Errors: IO,
 * CORRUPT, UNSUPPORTED, NOMEM. On failure it is closed. */
sluice_status sl_arrow_rows_read(sl_arrow_rows *rows, const sl_arrow_file *file, const char *path,
                                 const sl_arrow_column *columns, const sl_columnar_fields *plan,
                                 sluice_error *error);
/* Of all zero is fine. */
void sl_arrow_rows_close(sl_arrow_rows *rows);
/* Whether the first values of a column are pictures. Errors: those of reading. */
sluice_status sl_arrow_look_for_pictures(const sl_arrow_file *file, const char *path,
                                         const sl_arrow_column *column, bool *are,
                                         sluice_error *error);

#endif
