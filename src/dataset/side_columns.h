/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side_columns: columns of small values that are kept in memory, beside samples that are read.
 *
 * Purpose: in files that store column by column a sample's label and caption are elsewhere than its
 * picture; they are read when the dataset is opened, so that a sample takes one read, as any other.
 * Memory: 8 bytes a number, its own and 8 bytes a text, and 1 for whether it is there; of values
 * that rows share, as those of a dictionary, 8 bytes and their own once, and 4 for each row.
 * Threads: one fills a set; then it is immutable. Ownership: sl_side_columns_close.
 */
#ifndef SL_SIDE_COLUMNS_H
#define SL_SIDE_COLUMNS_H

#include "error.h"
#include "value.h"

typedef enum sl_side_state {
    SL_SIDE_ABSENT = 0,
    SL_SIDE_PRESENT,
    SL_SIDE_REFUSED /* a bad sample: it is there, and cannot be taken, for the reason refused[0];
                       the state behind it is for refused[1], and so on */
} sl_side_state;

#define SL_SIDE_REASONS 4U /* for which rows of a column are refused, at most */

typedef struct sl_side_column {
    sl_field field; /* of ints, floats, or what is bytes */
    uint64_t rows, entries;
    uint64_t *cells; /* of each entry: int64, binary64, or the end in `pool` of what is bytes */
    uint32_t *keys;  /* of each row: its entry; NULL: each has its own, in order */
    uint8_t *state;  /* of each row: an sl_side_state */
    uint8_t *pool;
    uint64_t capacity, key_capacity, state_capacity, pool_bytes, pool_capacity;
    const char *refused[SL_SIDE_REASONS]; /* literals; NULL: no more */
} sl_side_column;

typedef struct sl_side_columns {
    sl_side_column *of;
    uint32_t count;
    uint64_t bytes; /* of memory, of all of them */
} sl_side_columns;

/* May be zero-initialised. */
void sl_side_columns_close(sl_side_columns *columns);

/* Columns of these fields, without rows; `columns` is all zero. Errors: NOMEM. */
sluice_status sl_side_columns_open(sl_side_columns *columns, const sl_field *fields, uint32_t count,
                                   sluice_error *error);
/* Adds all rows of a set with the same columns. Errors: NOMEM, as of put. */
sluice_status sl_side_columns_append(sl_side_columns *columns, const sl_side_columns *rows,
                                     sluice_error *error);
/*
 * Adds a row to a column: as `value` has it (present, integer, number or bytes, which are copied).
 * Errors: NOMEM.
 */
sluice_status sl_side_columns_put(sl_side_columns *columns, uint32_t number, const sl_value *value,
                                  sluice_error *error);
/*
 * A value of bytes that rows may share: `*entry` is its number, and no row has it yet. Errors:
 * NOMEM, UNSUPPORTED (2^32 of them).
 */
sluice_status sl_side_columns_add_entry(sl_side_columns *columns, uint32_t number, sl_bytes bytes,
                                        uint32_t *entry, sluice_error *error);
/* Adds a row that has it. Errors: NOMEM. */
sluice_status sl_side_columns_put_entry(sl_side_columns *columns, uint32_t number, uint32_t entry,
                                        sluice_error *error);
/* The row that was put last is refused for `why`, a literal. */
void sl_side_columns_refuse(sl_side_columns *columns, uint32_t number, const char *why);
/* A row as a value; spans are in the column. Refuses a tensor whose size is not a multiple of its
 * elements'.
 */
sl_refusal sl_side_columns_get(const sl_side_columns *columns, uint32_t number, uint64_t row,
                               sl_value *value);

#endif
