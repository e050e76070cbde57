/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_columns: what the columns of a table are, found by looking at every cell.
 *
 * Purpose: types, by one rule: integers only: int; numbers only: float; lists of numbers, of which
 * those with lists in them have equally long ones: tensor; all else: text. Words that a column of
 * labels holds are classes, sorted by code point.
 * Memory: of columns that could be the labels', up to SL_TABLE_CLASSES different words.
 * Threads: one owner. Ownership: sl_table_columns_close.
 */
#ifndef SL_TABLE_COLUMNS_H
#define SL_TABLE_COLUMNS_H

#include "table_rows.h"

#define SL_TABLE_CLASSES 65536U

typedef struct sl_table_column {
    uint32_t kinds; /* bit: an sl_cell_kind was there */
    sl_list_shape shape;
    bool mixed;     /* lists of several shapes */
    json_t *words;  /* members are the different words; NULL: nobody asks, or too many */
    bool looked_at; /* a row had it, or could have */
    bool is_label;  /* is called as labels are */
} sl_table_column;

typedef struct sl_table_columns {
    sl_table_column of[SL_SOURCE_COLUMNS_MAX];
    const char *label; /* the column that is said to be the labels'; NULL: the name tells */
    sl_cell_buffer buffer;
} sl_table_columns;

/* Errors: NOMEM. */
sluice_status sl_table_columns_open(sl_table_columns **columns, sluice_error *error);
void sl_table_columns_close(sl_table_columns *columns); /* NULL is fine */
/* Looks at a row. Errors: NOMEM. */
sluice_status sl_table_columns_look(sl_table_columns *columns, const sl_table *table,
                                    sluice_error *error);
/* What the column is as a field. */
sl_field sl_table_columns_field(const sl_table_columns *columns, uint32_t number);
/* The column of labels: the first of the usual names; SL_FIELD_NONE: there is none. */
uint32_t sl_table_columns_label(const sl_table_columns *columns, const sl_table *table);
/* An array of the classes' names, sorted; their numbers become the members of `words`. NULL: there
 * are too many, or there is no memory. */
json_t *sl_table_columns_classes(sl_table_columns *columns, uint32_t column);
/* Number of a class; -1: there is none of that name. */
int64_t sl_table_columns_class(const sl_table_columns *columns, uint32_t column, const char *name);

#endif
