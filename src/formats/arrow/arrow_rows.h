/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_rows: what opening keeps of the rows of an Arrow file.
 *
 * Purpose: columns of large values are read when a sample is: where its values lie is kept
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

#define SL_ARROW_LARGE_MAX 4U

/* A column that is read with each sample. */
typedef struct sl_arrow_large {
    uint32_t column; /* of lists: the first that is of an element of them */
    sl_arrow_range range;
} sl_arrow_large;

/* What is read, of every file the same. */
typedef struct sl_arrow_wish {
    sl_source_fields fields;
    const sl_arrow_column *columns; /* that fields are of */
    sl_arrow_large large[SL_ARROW_LARGE_MAX];
    uint32_t large_count;
    uint32_t large_of[SL_FIELDS_MAX]; /* number of the large column that a field is of; NONE */
    uint32_t element[SL_FIELDS_MAX];  /* and of its list, which; 0 */
    uint32_t side[SL_FIELDS_MAX];     /* of a field of another column: number of its side column */
    sl_field side_fields[SL_FIELDS_MAX];
    uint32_t side_count;
} sl_arrow_wish;

typedef struct sl_arrow_rows {
    uint64_t rows;
    sl_arrow_places large[SL_ARROW_LARGE_MAX];
    sl_side_columns side;
    uint64_t elsewhere; /* pictures of which there is a path only */
} sl_arrow_rows;

/* `file` is that of `path`, opened. Errors: IO, CORRUPT, UNSUPPORTED, NOMEM. On failure it is
 * closed. */
sluice_status sl_arrow_rows_read(sl_arrow_rows *rows, const sl_arrow_file *file, const char *path,
                                 sl_arrow_wish *wish, sluice_error *error);
/* Of all zero is fine. */
void sl_arrow_rows_close(sl_arrow_rows *rows);
/* Whether the first values of a column are pictures. Errors: those of reading. */
sluice_status sl_arrow_look_for_pictures(const sl_arrow_file *file, const char *path,
                                         const sl_arrow_column *column, bool *are,
                                         sluice_error *error);

#endif
