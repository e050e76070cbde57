/* SPDX-License-Identifier: Apache-2.0 */
/* table_json: reads rows of JSON Lines. */
#include "table_rows.h"

#include "error.h"

#include <stdio.h>
#include <string.h>

static sluice_status table_json_refuse(const sl_table *table, uint32_t column, const char *why)
{
    return sl_table_refuse(table, SLUICE_CORRUPT, column, why, table->error);
}

/* Takes the next line that is not blank; `*more` false: the end. */
static sluice_status table_json_take_line(sl_table *table, bool *more)
{
    do {
        table->text_bytes = 0;
        *more = sl_table_peek(table) >= 0;
        table->row_line = table->line;
        table->row_offset = table->filled_to - (table->filled - table->at);
        if (!*more) {
            return table->status;
        }
        const sluice_status status = sl_table_take(table, "\n\0", 2);
        const int stop = sl_table_peek(table);
        if (status < 0 || stop == '\0') {
            return status < 0 ? status : table_json_refuse(table, SL_FIELD_NONE, "it contains NUL");
        }
        table->at += stop == '\n';
        table->line += stop == '\n';
        const sluice_status ended = sl_table_append(table, "", 1);
        if (ended < 0) {
            return ended;
        }
    } while (table->text[strspn((const char *)table->text, " \t\r")] == '\0');
    return SLUICE_OK;
}

/*
 * Finds a column. Rows usually have the same members in the same order; `hint` is then its number.
 */
static sluice_status table_json_find_column(sl_table *table, const char *name, uint32_t hint,
                                            uint32_t *column)
{
    if (hint < table->columns && strcmp(table->names[hint], name) == 0) {
        *column = hint;
        return SLUICE_OK;
    }
    for (*column = 0; *column < table->columns; ++*column) {
        if (strcmp(table->names[*column], name) == 0) {
            return SLUICE_OK;
        }
    }
    if (table->columns == SL_SOURCE_COLUMNS_MAX || strlen(name) >= SL_SOURCE_NAME_BYTES) {
        return sl_table_refuse(table, SLUICE_UNSUPPORTED, SL_FIELD_NONE,
                               table->columns == SL_SOURCE_COLUMNS_MAX
                                   ? "it has more than 1024 columns"
                                   : "the name of a column has more than 255 bytes",
                               table->error);
    }
    memcpy(table->names[table->columns], name, strlen(name) + 1);
    table->cells[table->columns++] = (sl_cell){0};
    return SLUICE_OK;
}

sl_cell sl_table_json_cell(json_t *value)
{
    sl_cell cell = {.json = value, .kind = SL_CELL_TEXT};
    if (json_is_null(value)) {
        return (sl_cell){.kind = SL_CELL_ABSENT};
    }
    if (json_is_string(value)) {
        cell.text =
            (sl_bytes){(const uint8_t *)json_string_value(value), json_string_length(value)};
    } else if (json_is_boolean(value)) {
        cell.kind = SL_CELL_INT;
        cell.integer = json_is_true(value);
    } else if (json_is_integer(value)) {
        cell.kind = SL_CELL_INT;
        cell.integer = json_integer_value(value);
    } else if (json_is_real(value)) {
        cell.kind = SL_CELL_FLOAT;
        cell.number = json_real_value(value);
    } else if (json_is_array(value)) {
        cell.kind = SL_CELL_LIST;
    }
    return cell;
}

static sluice_status table_json_set_cell(sl_table *table, const char *name, json_t *value,
                                         uint32_t *column)
{
    const sluice_status status = table_json_find_column(table, name, *column + 1, column);
    if (status < 0 || json_is_null(value)) {
        return status;
    }
    if (table->cells[*column].kind != SL_CELL_ABSENT) {
        return table_json_refuse(table, *column, "it occurs twice");
    }
    table->cells[*column] = sl_table_json_cell(value);
    return SLUICE_OK;
}

/* Sets cells to the members of an inner object; deeper objects stay unsplit. */
static sluice_status set_inner(sl_table *table, const char *outer, json_t *object, uint32_t *column)
{
    char name[2 * SL_SOURCE_NAME_BYTES];
    const char *inner;
    json_t *value;
    sluice_status status = SLUICE_OK;
    json_object_foreach(object, inner, value)
    {
        const int length = snprintf(name, sizeof(name), "%s.%s", outer, inner);
        if (length < 0 || (size_t)length >= sizeof(name)) {
            return table_json_refuse(table, SL_FIELD_NONE,
                                     "the name of a column has more than 255 bytes");
        }
        status = status == SLUICE_OK ? table_json_set_cell(table, name, value, column) : status;
    }
    return status;
}

sluice_status sl_table_next_json(sl_table *table, bool *more)
{
    json_error_t why;
    const char *name;
    json_t *value;
    uint32_t column = UINT32_MAX;
    json_decref(table->root);
    table->root = NULL;
    sluice_status status = table_json_take_line(table, more);
    if (status < 0 || !*more) {
        return status;
    }
    const sl_bytes line = {table->text, table->text_bytes - 1};
    table->root = sl_json_parse_why(line, &why);
    if (!json_is_object(table->root)) {
        char text[sizeof(why.text) + 32];
        (void)snprintf(text, sizeof(text), "not a JSON object: %s",
                       table->root != NULL ? "each line must be one" : why.text);
        return table_json_refuse(table, SL_FIELD_NONE, text);
    }
    memset(table->cells, 0, table->columns * sizeof(table->cells[0]));
    json_object_foreach(table->root, name, value)
    {
        if (status == SLUICE_OK) {
            status = json_is_object(value) ? set_inner(table, name, value, &column)
                                           : table_json_set_cell(table, name, value, &column);
        }
    }
    return status;
}
