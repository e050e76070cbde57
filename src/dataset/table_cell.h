/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_cell: one cell of a table, and what it is as a value.
 *
 * Purpose: CSV has words only, which may be numbers or lists in JSON's way; JSON Lines says what it
 * has. Numbers have a point whatever the locale, and no blanks around. Threads: pure, but for the
 * space, which has one owner.
 */
#ifndef SL_TABLE_CELL_H
#define SL_TABLE_CELL_H

#include "json_file.h"
#include "value.h"

typedef enum sl_cell_kind {
    SL_CELL_ABSENT = 0,
    SL_CELL_INT,
    SL_CELL_FLOAT,
    SL_CELL_LIST, /* of numbers, or of lists of numbers that are equally long */
    SL_CELL_TEXT,
    SL_CELL_WORDS /* CSV's: any of the others */
} sl_cell_kind;

typedef struct sl_cell {
    sl_cell_kind kind;
    sl_bytes text; /* of words and texts, a NUL behind it; none: `json` is written out */
    int64_t integer;
    double number;
    json_t *json; /* NULL in CSV */
} sl_cell;

typedef struct sl_list_shape {
    uint32_t dims; /* 1 or 2; 0: the list is empty, which fits both */
    uint64_t inner;
    bool floats; /* there is a number that is no integer */
} sl_list_shape;

/* Memory for what cells come to, used again for the next one. */
typedef struct sl_cell_buffer {
    uint8_t *data;
    size_t bytes;
} sl_cell_buffer;

/* Of all zero is fine. */
void sl_cell_buffer_close(sl_cell_buffer *buffer);

/* What it is: never WORDS. `shape` is filled in for a LIST. */
sl_cell_kind sl_cell_look(const sl_cell *cell, sl_list_shape *shape);
/* Its text: as it is written, or its JSON. False: no memory. */
bool sl_cell_text(const sl_cell *cell, sl_cell_buffer *buffer, sl_bytes *text);
/*
 * The cell as a value of `field`; spans are in the cell or in `buffer`. NULL, or a literal: why it
 * is none.
 */
const char *sl_cell_value(const sl_cell *cell, const sl_field *field, sl_cell_buffer *buffer,
                          sl_value *value);

#endif
