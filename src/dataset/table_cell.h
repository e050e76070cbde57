/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_cell: one cell of a table, and its value.
 *
 * Purpose: CSV only has words, which may be numbers or lists in JSON syntax; JSON Lines has types.
 * Numbers have a decimal point in any locale, and no blanks around them. Threads: pure, except for
 * the buffer, which has one owner.
 */
#ifndef SL_TABLE_CELL_H
#define SL_TABLE_CELL_H

#include "json_file.h"
#include "value.h"

typedef enum sl_cell_kind {
    SL_CELL_ABSENT = 0,
    SL_CELL_INT,
    SL_CELL_FLOAT,
    SL_CELL_LIST, /* numbers, or equally long lists of numbers */
    SL_CELL_TEXT,
    SL_CELL_WORDS /* CSV: any of the others */
} sl_cell_kind;

typedef struct sl_cell {
    sl_cell_kind kind;
    sl_bytes text; /* for words and texts, NUL-terminated; empty: `json` is written out */
    int64_t integer;
    double number;
    json_t *json; /* NULL in CSV */
} sl_cell;

typedef struct sl_list_shape {
    uint32_t dims; /* 1 or 2; 0: the list is empty, which fits both */
    uint64_t inner;
    bool floats; /* true if some number is not an integer */
} sl_list_shape;

/* Memory for cell values, reused for the next cell. */
typedef struct sl_cell_buffer {
    uint8_t *data;
    size_t bytes;
} sl_cell_buffer;

/* Releases `buffer`, which may be zeroed. */
void sl_cell_buffer_close(sl_cell_buffer *buffer);

/* Returns its kind, never WORDS. Sets `shape` for a LIST. */
sl_cell_kind sl_cell_look(const sl_cell *cell, sl_list_shape *shape);
/* Returns its text: as written, or its JSON. False: no memory. */
bool sl_cell_text(const sl_cell *cell, sl_cell_buffer *buffer, sl_bytes *text);
/*
 * Converts the cell to a value of `field`; spans point into the cell or `buffer`. Returns NULL, or
 * a literal: why it cannot.
 */
const char *sl_cell_value(const sl_cell *cell, const sl_field *field, sl_cell_buffer *buffer,
                          sl_value *value);

#endif
