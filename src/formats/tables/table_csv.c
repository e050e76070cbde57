/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of CSV and TSV. */
#include "table_rows.h"

#include "error.h"

#include <string.h>

static sluice_status table_csv_refuse(const sl_table *table, const char *why)
{
    return sl_table_refuse(table, SLUICE_CORRUPT, SL_FIELD_NONE, why, table->error);
}

/* A line's end, however it is written. */
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

/* Behind the quote that opens it. */
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
                                                    : "there is a NUL in it");
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

static sluice_status take_cell(sl_table *table)
{
    const char stops[] = {(char)table->delimiter, '\r', '\n', '\0'};
    const bool quoted = !table->is_list && sl_table_peek(table) == '"';
    table->at += quoted;
    const sluice_status status =
        quoted ? take_quoted(table) : sl_table_take(table, stops, sizeof(stops));
    const int next = sl_table_peek(table);
    if (status < 0) {
        return status;
    }
    if (next == '\0') {
        return table_csv_refuse(table, "there is a NUL in it");
    }
    if (next >= 0 && next != table->delimiter && !is_line_end(next)) {
        return table_csv_refuse(table,
                                "there is something between the end of quotes and the next value");
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
        table->begins[(*count)++] = (uint32_t)table->text_bytes;
        const sluice_status status = take_cell(table);
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

sluice_status sl_table_read_header(sl_table *table)
{
    uint32_t count;
    sluice_status status = sl_table_take_row(table, &count);
    if (status == SLUICE_OK && count == 0) {
        return sl_table_refuse(table, SLUICE_INVALID, SL_FIELD_NONE,
                               "the file is empty: its first line has to name the columns",
                               table->error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        table->columns = i;
        status = table_csv_set_name(table, i, (const char *)table->text + table->begins[i]);
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
        return table_csv_refuse(
            table, count < table->columns
                       ? "it has fewer values than the first line has columns"
                       : "it has more values than the first line has columns (one with a "
                         "comma in it has to be in quotes)");
    }
    for (uint32_t i = 0; i < count; i++) {
        const size_t end = i + 1 < count ? table->begins[i + 1] : table->text_bytes;
        const size_t bytes = end - 1 - table->begins[i];
        table->cells[i] = (sl_cell){.kind = bytes > 0 ? SL_CELL_WORDS : SL_CELL_ABSENT,
                                    .text = {table->text + table->begins[i], bytes}};
    }
    return SLUICE_OK;
}
