/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_rows: the data that opening keeps about the rows of an Arrow file.
 *
 * Purpose: columns of large values are read with each sample, so only the locations of their values
 * are kept (arrow_places.h). The values of all other columns are kept (side_columns.h). Threads:
 * one reads those of a file; then they are immutable. Ownership: sl_arrow_rows_close. Memory: 12
 * bytes per row for each large column, and the side columns.
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
    uint64_t elsewhere; /* number of images with only a path */
} sl_arrow_rows;

/*
 * Reads the rows. `file` is the opened file of `path`; the plan's numbers refer to `columns`.
 * Errors: IO, CORRUPT, UNSUPPORTED, NOMEM. Closed on failure.
 */
sluice_status sl_arrow_rows_read(sl_arrow_rows *rows, const sl_arrow_file *file, const char *path,
                                 const sl_arrow_column *columns, const sl_columnar_fields *plan,
                                 sluice_error *error);
/* Releases `rows`, which may be zeroed. */
void sl_arrow_rows_close(sl_arrow_rows *rows);
/* Determines whether the first values of a column are images. Errors: those of reading. */
sluice_status sl_arrow_look_for_pictures(const sl_arrow_file *file, const char *path,
                                         const sl_arrow_column *column, bool *are,
                                         sluice_error *error);

#endif
