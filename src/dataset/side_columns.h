/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side_columns: columns of small values in memory, beside samples that are read.
 *
 * Purpose: files that store data by column have a sample's label and caption elsewhere than its
 * image. Opening reads these, so that a sample takes one read, as in other formats. Memory: 8 bytes
 * per number; 8 bytes and its own size per text; 1 byte for presence. For values shared by rows, as
 * in a dictionary: 8 bytes and its own size once, and 4 per row. Threads: one fills a set; then it
 * is immutable. Ownership: sl_side_columns_close.
 */
#ifndef SL_SIDE_COLUMNS_H
#define SL_SIDE_COLUMNS_H

#include "error.h"
#include "value.h"

typedef enum sl_side_state {
    SL_SIDE_ABSENT = 0,
    SL_SIDE_PRESENT,
    SL_SIDE_REFUSED /* a bad sample: it is present but invalid, because of refused[0]; the next
                       state is for refused[1], and so on */
} sl_side_state;

#define SL_SIDE_REASONS 4U /* limit on reasons per column */

typedef struct sl_side_column {
    sl_field field; /* an int, a float, or a type with bytes */
    uint64_t rows, entries;
    uint64_t *cells; /* per entry: int64, binary64, or for bytes the end in `pool` */
    uint32_t *keys;  /* entry of each row; NULL: each has its own, in order */
    uint8_t *state;  /* an sl_side_state per row */
    uint8_t *pool;
    uint64_t capacity, key_capacity, state_capacity, pool_bytes, pool_capacity;
    const char *refused[SL_SIDE_REASONS]; /* literals; NULL-terminated */
} sl_side_column;

typedef struct sl_side_columns {
    sl_side_column *of;
    uint32_t count;
    uint64_t bytes; /* total memory */
} sl_side_columns;

/* Releases `columns`, which may be zero-initialised. */
void sl_side_columns_close(sl_side_columns *columns);

/* Creates columns for these fields, without rows; `columns` is zeroed. Errors: NOMEM. */
sluice_status sl_side_columns_open(sl_side_columns *columns, const sl_field *fields, uint32_t count,
                                   sluice_error *error);
/* Appends all rows of a set with the same columns. Errors: NOMEM, those of put. */
sluice_status sl_side_columns_append(sl_side_columns *columns, const sl_side_columns *rows,
                                     sluice_error *error);
/*
 * Adds a row with `value` to a column (present, integer, number, or bytes, which are copied).
 * Errors: NOMEM.
 */
sluice_status sl_side_columns_put(sl_side_columns *columns, uint32_t number, const sl_value *value,
                                  sluice_error *error);
/*
 * Adds a byte value that rows may share, and that none has yet; `*entry`: its number. Errors:
 * NOMEM, UNSUPPORTED (2^32 values).
 */
sluice_status sl_side_columns_add_entry(sl_side_columns *columns, uint32_t number, sl_bytes bytes,
                                        uint32_t *entry, sluice_error *error);
/* Adds a row with such an entry. Errors: NOMEM. */
sluice_status sl_side_columns_put_entry(sl_side_columns *columns, uint32_t number, uint32_t entry,
                                        sluice_error *error);
/* Marks the last row as bad because of `why`, a literal. */
void sl_side_columns_refuse(sl_side_columns *columns, uint32_t number, const char *why);
/*
 * Reads a row as a value; spans point into the column. Rejects a tensor whose size is not a
 * multiple of its element size.
 */
sl_refusal sl_side_columns_get(const sl_side_columns *columns, uint32_t number, uint64_t row,
                               sl_value *value);

#endif
