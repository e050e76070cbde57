/* SPDX-License-Identifier: Apache-2.0 */
/* table_csv: reads rows of CSV and TSV. */
#include "table_rows.h"

#include "error.h"

#include <string.h>

static sluice_status table_csv_refuse(const sl_table *table, const char *why)
{
    return sl_table_refuse(table, SLUICE_CORRUPT, SL_FIELD_NONE, why, table->error);
}

/* Skips a line end in any of its forms. */
static void skip_line_end(sl_table *table)
{
    const int first = sl_table_peek(table);
    table->at++;
    if (first == '\r' && sl_table_peek(table) == '\n') {
        table->at++;
    }
    table->line++;
}

static bool is_line_end(int byte)
{
    return byte == '\r' || byte == '\n';
}

/* Takes a quoted value, after the opening quote. */
static sluice_status take_quoted(sl_table *table)
{
    for (;;) {
        const sluice_status status = sl_table_take(table, "\"\n\0", 3);
        const int stop = sl_table_peek(table);
        if (status < 0) {
            return status;
        }
        if (stop <= 0) {
            return table_csv_refuse(table, stop < 0 ? "the file ends within a value in quotes"
                                                    : "it contains NUL");
        }
        table->at++;
        table->line += stop == '\n';
        if (stop == '"' && sl_table_peek(table) != '"') {
            return table->status;
        }
        table->at += stop == '"';
        const uint8_t byte = (uint8_t)stop;
        const sluice_status added = sl_table_append(table, &byte, 1);
        if (added < 0) {
            return added;
        }
    }
}

/* Skips blanks, if the header has "a, b": its writer puts them before values too. */
static bool table_csv_skip_blanks(sl_table *table)
{
    bool skipped = false;
    for (int next = sl_table_peek(table); (next == ' ' || next == '\t') && next != table->delimiter;
         next = sl_table_peek(table)) {
        table->at++;
        skipped = true;
    }
    return skipped;
}

static sluice_status take_cell(sl_table *table, bool *quoted)
{
    const char stops[] = {(char)table->delimiter, '\r', '\n', '\0'};
    if (table->is_header || table->is_spaced) {
        table->is_spaced = table_csv_skip_blanks(table) || table->is_spaced;
    }
    *quoted = !table->is_list && sl_table_peek(table) == '"';
    table->at += *quoted;
    const sluice_status status =
        *quoted ? take_quoted(table) : sl_table_take(table, stops, sizeof(stops));
    if (status == SLUICE_OK && *quoted && (table->is_header || table->is_spaced)) {
        table->is_spaced = table_csv_skip_blanks(table) || table->is_spaced;
    }
    const int next = sl_table_peek(table);
    if (status < 0) {
        return status;
    }
    if (next == '\0') {
        return table_csv_refuse(table, "it contains NUL");
    }
    if (next >= 0 && next != table->delimiter && !is_line_end(next)) {
        return table_csv_refuse(table, "unexpected text after a closing quote");
    }
    return sl_table_append(table, "", 1);
}

sluice_status sl_table_take_row(sl_table *table, uint32_t *count)
{
    *count = 0;
    table->text_bytes = 0;
    while (is_line_end(sl_table_peek(table))) {
        skip_line_end(table);
    }
    table->row_line = table->line;
    table->row_offset = table->filled_to - (table->filled - table->at);
    if (sl_table_peek(table) < 0) {
        return table->status;
    }
    for (;;) {
        if (*count == SL_SOURCE_COLUMNS_MAX) {
            return sl_table_refuse(table, SLUICE_UNSUPPORTED, SL_FIELD_NONE,
                                   "it has more than 1024 columns", table->error);
        }
        table->begins[*count] = (uint32_t)table->text_bytes;
        const sluice_status status = take_cell(table, &table->is_quoted[*count]);
        (*count)++;
        const int next = sl_table_peek(table);
        if (status < 0 || next != table->delimiter) {
            if (status == SLUICE_OK && next >= 0) {
                skip_line_end(table);
            }
            return status;
        }
        table->at++;
    }
}

static sluice_status table_csv_set_name(sl_table *table, uint32_t column, const char *name)
{
    if (strlen(name) >= SL_SOURCE_NAME_BYTES) {
        return sl_table_refuse(table, SLUICE_UNSUPPORTED, SL_FIELD_NONE,
                               "the name of a column has more than 255 bytes", table->error);
    }
    for (uint32_t i = 0; name[0] != '\0' && i < column; i++) {
        if (strcmp(table->names[i], name) == 0) {
            return sl_table_refuse(table, SLUICE_CORRUPT, i, "two columns have that name",
                                   table->error);
        }
    }
    memcpy(table->names[column], name, strlen(name) + 1);
    return SLUICE_OK;
}

/* Returns a text without the blanks around it. */
static sl_bytes strip_blanks(sl_bytes text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

/* Returns a cell's text, which is followed by a NUL. */
static sl_bytes table_csv_text(const sl_table *table, uint32_t cell, uint32_t count)
{
    const size_t end = cell + 1 < count ? table->begins[cell + 1] : table->text_bytes;
    return (sl_bytes){table->text + table->begins[cell], end - 1 - table->begins[cell]};
}

/* Removes a value's trailing blanks if they are not a part of it; they never are in a number. */
static sl_bytes strip_value(sl_table *table, sl_bytes text)
{
    const sl_bytes stripped = strip_blanks(text);
    sl_list_shape shape;
    if (stripped.size == text.size) {
        return text;
    }
    uint8_t *end = table->text + (stripped.data - table->text) + stripped.size;
    const uint8_t was = *end;
    *end = '\0';
    const sl_cell cell = {.kind = SL_CELL_WORDS, .text = stripped};
    if (table->is_spaced || stripped.size == 0 || sl_cell_look(&cell, &shape) != SL_CELL_TEXT) {
        return stripped;
    }
    *end = was;
    return text;
}

static const char *table_csv_take_name(sl_table *table, uint32_t column, uint32_t count)
{
    const sl_bytes text = table_csv_text(table, column, count);
    const sl_bytes name = table->is_quoted[column] ? text : strip_blanks(text);
    table->is_spaced = table->is_spaced || name.size < text.size;
    table->text[table->begins[column] + (size_t)(name.data - text.data) + name.size] = '\0';
    return (const char *)name.data;
}

sluice_status sl_table_read_header(sl_table *table)
{
    uint32_t count;
    table->is_header = true;
    table->is_spaced = false;
    sluice_status status = sl_table_take_row(table, &count);
    table->is_header = false;
    if (status == SLUICE_OK && count == 0) {
        return sl_table_refuse(table, SLUICE_INVALID, SL_FIELD_NONE,
                               "the file is empty: its first line must name the columns",
                               table->error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        table->columns = i;
        status = table_csv_set_name(table, i, table_csv_take_name(table, i, count));
    }
    table->columns = count;
    return status;
}

sluice_status sl_table_next_csv(sl_table *table, bool *more)
{
    uint32_t count;
    const sluice_status status = sl_table_take_row(table, &count);
    *more = count > 0;
    if (status < 0 || count == 0) {
        return status;
    }
    if (count != table->columns) {
        return table_csv_refuse(table, count < table->columns
                                           ? "it has fewer values than the first line has columns"
                                           : "it has more values than the first line has columns "
                                             "(a value that contains a comma must be quoted)");
    }
    for (uint32_t i = 0; i < count; i++) {
        const sl_bytes all = table_csv_text(table, i, count);
        const sl_bytes text = table->is_quoted[i] ? all : strip_value(table, all);
        table->cells[i] =
            (sl_cell){.kind = text.size > 0 ? SL_CELL_WORDS : SL_CELL_ABSENT, .text = text};
    }
    return SLUICE_OK;
}
