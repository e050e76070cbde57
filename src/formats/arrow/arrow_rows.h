/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_rows: what opening keeps of the rows of an Arrow file.
 *
 * Purpose: one column, of large values, is read when a sample is: where its values lie is kept. All
 * others are kept themselves (side_columns.h). Threads: one reads a file's; then they are
 * immutable. Ownership: sl_arrow_rows_close. Memory: 12 bytes a row for the large column, and what
 * side columns take.
 */
#ifndef SL_ARROW_ROWS_H
#define SL_ARROW_ROWS_H

#include "arrow_columns.h"
#include "arrow_file.h"
#include "side_columns.h"

#include <stdatomic.h>

/* What is read, of every file the same. */
typedef struct sl_arrow_wish {
    sl_source_fields fields;
    const sl_arrow_column *columns; /* that fields are of */
    uint32_t large;                 /* column that is read with each sample; NONE */
    uint32_t side[SL_FIELDS_MAX];   /* of a field of another column: number of its side column */
    sl_field side_fields[SL_FIELDS_MAX];
    uint32_t side_count;
    _Atomic uint64_t side_bytes; /* of all files, so far */
} sl_arrow_wish;

/* Instead of a value, in the table of the large column. */
typedef enum sl_arrow_lack {
    SL_ARROW_LACKS = 0, /* nothing is there */
    SL_ARROW_LACKS_WHOLE,
    SL_ARROW_LACKS_SHAPE,
    SL_ARROW_LACKS_PICTURE,
    SL_ARROW_LACK_COUNT
} sl_arrow_lack;

typedef struct sl_arrow_rows {
    uint64_t rows, room;
    uint64_t *offsets; /* of each value in its file; UINT64_MAX less an sl_arrow_lack */
    uint32_t *bytes;   /* of it; UINT32_MAX: that, or more */
    sl_side_columns side;
    uint64_t elsewhere; /* pictures of which there is a path only */
} sl_arrow_rows;

/* `file` is that of `path`, opened. Errors: IO, CORRUPT, UNSUPPORTED, NOMEM. On failure it is
 * closed. */
sluice_status sl_arrow_rows_read(sl_arrow_rows *rows, const sl_arrow_file *file, const char *path,
                                 sl_arrow_wish *wish, sluice_error *error);
/* Of all zero is fine. */
void sl_arrow_rows_close(sl_arrow_rows *rows);
/* Whether a row of the large column has a value; else what is the matter. */
bool sl_arrow_rows_have(const sl_arrow_rows *rows, uint64_t row, sl_arrow_lack *lack);
/* Why a row is a bad sample; NULL: it is none. */
const char *sl_arrow_lack_text(sl_arrow_lack lack);

/* Whether the first values of a column are pictures. Errors: those of reading. */
sluice_status sl_arrow_look_for_pictures(const sl_arrow_file *file, const char *path,
                                         const sl_arrow_column *column, bool *are,
                                         sluice_error *error);

#endif
