/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_columns: determines the columns of a table from every cell.
 *
 * Purpose: one rule gives the types. Only integers: int; only numbers: float; lists of numbers, or
 * lists of equally long lists: tensor; everything else: text. Words in a label column are classes,
 * sorted by code point. Memory: up to SL_TABLE_CLASSES different words for each possible label
 * column. Threads: one owner. Ownership: sl_table_columns_close.
 */
#ifndef SL_TABLE_COLUMNS_H
#define SL_TABLE_COLUMNS_H

#include "table_rows.h"

#define SL_TABLE_CLASSES 65536U

typedef struct sl_table_column {
    uint32_t kinds; /* bit: that sl_cell_kind occurred */
    sl_list_shape shape;
    bool mixed;     /* true if lists have several shapes */
    json_t *words;  /* members are the different words; NULL: not needed, or too many */
    bool looked_at; /* true if a row had it, or could have */
    bool is_label;  /* true if it is named like labels */
} sl_table_column;

typedef struct sl_table_columns {
    sl_table_column of[SL_SOURCE_COLUMNS_MAX];
    const char *label; /* the column chosen for labels; NULL: decided by name */
    sl_cell_buffer buffer;
} sl_table_columns;

/* Creates an empty object. Errors: NOMEM. */
sluice_status sl_table_columns_open(sl_table_columns **columns, sluice_error *error);
void sl_table_columns_close(sl_table_columns *columns); /* NULL is a no-op */
/* Looks at a row. Errors: NOMEM. */
sluice_status sl_table_columns_look(sl_table_columns *columns, const sl_table *table,
                                    sluice_error *error);
/* Returns the column's field. */
sl_field sl_table_columns_field(const sl_table_columns *columns, uint32_t number);
/* Returns the label column: the first with a usual name; SL_FIELD_NONE: none. */
uint32_t sl_table_columns_label(const sl_table_columns *columns, const sl_table *table);
/*
 * Returns an array of the sorted class names; the members of `words` become their numbers. NULL:
 * too many classes, or no memory.
 */
json_t *sl_table_columns_classes(sl_table_columns *columns, uint32_t column);
/* Returns the number of a class; -1: no such class. */
int64_t sl_table_columns_class(const sl_table_columns *columns, uint32_t column, const char *name);

#endif
