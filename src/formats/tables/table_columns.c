/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_columns: looks at each cell once and determines its column's type, which only ever becomes
 * wider (int, float, tensor, text). One owner thread.
 */
#include "table_columns.h"

#include "error.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* Names from source_columns.h, and one more that is common in tables. */
static const char *const label_names[] = {"label",      "class",  "cls",    "category",
                                          "fine_label", "target", "labels", "y"};

enum { LABEL_NAMES = sizeof(label_names) / sizeof(label_names[0]) };

sluice_status sl_table_columns_open(sl_table_columns **columns, sluice_error *error)
{
    sl_table_columns *own = sl_calloc(1, sizeof(*own));
    *columns = own;
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for columns");
    }
    return SLUICE_OK;
}

void sl_table_columns_close(sl_table_columns *columns)
{
    if (columns == NULL) {
        return;
    }
    for (uint32_t i = 0; i < SL_SOURCE_COLUMNS_MAX; i++) {
        json_decref(columns->of[i].words);
    }
    sl_cell_buffer_close(&columns->buffer);
    sl_free(columns);
}

static bool is_label_name(const sl_table_columns *columns, const char *name)
{
    if (columns->label != NULL) {
        return strcmp(columns->label, name) == 0;
    }
    for (size_t i = 0; i < LABEL_NAMES; i++) {
        if (strcmp(label_names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void begin_column(const sl_table_columns *columns, sl_table_column *column, const char *name)
{
    column->looked_at = true;
    column->is_label = is_label_name(columns, name);
    column->words = column->is_label ? json_object() : NULL;
}

static void add_shape(sl_table_column *column, const sl_list_shape *shape)
{
    sl_list_shape *all = &column->shape;
    all->floats = all->floats || shape->floats;
    if (all->dims == 0) {
        all->dims = shape->dims;
        all->inner = shape->inner;
    } else if (shape->dims != 0 && (shape->dims != all->dims || shape->inner != all->inner)) {
        column->mixed = true;
    }
}

/* Adds a word. One with a NUL is not text; taking it reports this. */
static bool add_word(sl_table_column *column, const sl_cell *cell, sl_cell_buffer *buffer)
{
    sl_bytes text;
    if (!sl_cell_text(cell, buffer, &text)) {
        return false;
    }
    const char *word = (const char *)text.data;
    if (text.size == 0 || memchr(word, 0, text.size) != NULL ||
        json_object_get(column->words, word) != NULL) {
        return true;
    }
    if (json_object_size(column->words) == SL_TABLE_CLASSES) {
        json_decref(column->words);
        column->words = NULL;
        return true;
    }
    /* invalid UTF-8 is not added; taking the value reports it */
    (void)json_object_set_new(column->words, word, json_integer(-1));
    return true;
}

sluice_status sl_table_columns_look(sl_table_columns *columns, const sl_table *table,
                                    sluice_error *error)
{
    for (uint32_t i = 0; i < table->columns; i++) {
        sl_table_column *column = &columns->of[i];
        const sl_cell *cell = &table->cells[i];
        sl_list_shape shape;
        if (!column->looked_at) {
            begin_column(columns, column, table->names[i]);
        }
        if (cell->kind == SL_CELL_ABSENT) {
            continue;
        }
        /* a text column stays one */
        const bool is_text = (column->kinds >> SL_CELL_TEXT & 1) != 0;
        const sl_cell_kind kind = is_text ? SL_CELL_TEXT : sl_cell_look(cell, &shape);
        column->kinds |= 1U << kind;
        if (kind == SL_CELL_LIST) {
            add_shape(column, &shape);
        }
        if (column->words != NULL && !add_word(column, cell, &columns->buffer)) {
            return sl_error_set(error, SLUICE_NOMEM, STAGE,
                                "out of memory for the names of classes");
        }
    }
    return SLUICE_OK;
}

sl_field sl_table_columns_field(const sl_table_columns *columns, uint32_t number)
{
    const sl_table_column *column = &columns->of[number];
    sl_field field = {.type = SLUICE_FIELD_TEXT};
    switch (column->kinds) {
    case 1U << SL_CELL_INT:
        field.type = SLUICE_FIELD_INT;
        break;
    case 1U << SL_CELL_FLOAT:
    case 1U << SL_CELL_FLOAT | 1U << SL_CELL_INT:
        field.type = SLUICE_FIELD_FLOAT;
        break;
    case 1U << SL_CELL_LIST:
        if (!column->mixed) {
            field.type = SLUICE_FIELD_TENSOR;
            field.dims = column->shape.dims == 2 ? 2 : 1;
            field.shape[1] = column->shape.inner;
            field.dtype = field.dims == 1 && !column->shape.floats ? SLUICE_I64 : SLUICE_F32;
        }
        break;
    default:
        break;
    }
    return field;
}

uint32_t sl_table_columns_label(const sl_table_columns *columns, const sl_table *table)
{
    for (size_t i = 0; i < LABEL_NAMES; i++) {
        for (uint32_t k = 0; k < table->columns; k++) {
            if (columns->of[k].is_label &&
                (columns->label != NULL || strcmp(table->names[k], label_names[i]) == 0)) {
                return k;
            }
        }
    }
    return SL_FIELD_NONE;
}

/* UTF-8 sorts in code point order. */
static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *number_words(json_t *words, const char **names, size_t count)
{
    size_t at = 0;
    const char *name;
    json_t *number;
    json_t *classes = json_array();
    json_object_foreach(words, name, number)
    {
        names[at++] = name;
    }
    qsort(names, count, sizeof(*names), compare_words);
    for (size_t i = 0; classes != NULL && i < count; i++) {
        (void)json_integer_set(json_object_get(words, names[i]), (json_int_t)i);
        if (json_array_append_new(classes, json_string(names[i])) != 0) {
            json_decref(classes);
            classes = NULL;
        }
    }
    return classes;
}

json_t *sl_table_columns_classes(sl_table_columns *columns, uint32_t column)
{
    json_t *words = columns->of[column].words;
    const size_t count = json_object_size(words);
    const char **names = sl_calloc(count + 1, sizeof(*names));
    json_t *classes = words != NULL && names != NULL ? number_words(words, names, count) : NULL;
    sl_free(names);
    return classes;
}

int64_t sl_table_columns_class(const sl_table_columns *columns, uint32_t column, const char *name)
{
    const json_t *number = json_object_get(columns->of[column].words, name);
    return number != NULL ? json_integer_value(number) : -1;
}
