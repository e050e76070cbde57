/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_rows: opens a table, and steps from row to row with the parser of its kind.
 *
 * One owner thread; cells are valid until the next row.
 */
#include "table_rows.h"

#include "error.h"
#include "memory.h"
#include "store.h"

#include <string.h>

#define STAGE        "dataset"
#define LIST         ".lst"
#define WINDOW_BYTES ((size_t)1 << 20)

static bool ends_with(const char *path, const char *end)
{
    const size_t bytes = strlen(path);
    const size_t wanted = strlen(end);
    return bytes > wanted && strcasecmp(path + bytes - wanted, end) == 0;
}

static bool is_json_lines(const char *path)
{
    return ends_with(path, ".jsonl") || ends_with(path, ".ndjson");
}

bool sl_table_is_named(const char *path)
{
    return ends_with(path, ".csv") || ends_with(path, ".tsv") || is_json_lines(path) ||
           ends_with(path, LIST);
}

sluice_status sl_table_refuse(const sl_table *table, sluice_status status, uint32_t column,
                              const char *why, sluice_error *error)
{
    const bool known = column < table->columns;
    return sl_error_file(error, status, STAGE, 0, table->path, (int64_t)table->row_offset,
                         "line %llu%s%.256s%s: %s", (unsigned long long)table->row_line,
                         known ? ", column \"" : "", known ? table->names[column] : "",
                         known ? "\"" : "", why);
}

/* ---- bytes ---- */

int sl_table_peek(sl_table *table)
{
    if (table->at < table->filled) {
        return table->window[table->at];
    }
    const uint64_t left = table->file.bytes - table->filled_to;
    const size_t bytes = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    if (bytes == 0 || table->status < 0) {
        return -1;
    }
    table->status =
        sl_handle_read(&table->from, table->window, bytes, table->filled_to, table->error);
    if (table->status < 0) {
        return -1;
    }
    table->at = 0;
    table->filled = bytes;
    table->filled_to += bytes;
    return table->window[0];
}

sluice_status sl_table_append(sl_table *table, const void *bytes, size_t count)
{
    if (count > SL_TABLE_ROW_BYTES - table->text_bytes) {
        return sl_table_refuse(table, SLUICE_UNSUPPORTED, SL_FIELD_NONE,
                               "a row has more than 16 MiB: is a quote not closed?", table->error);
    }
    if (count > table->text_capacity - table->text_bytes) {
        const size_t capacity = 2 * (table->text_bytes + count) + 4096;
        uint8_t *text = sl_realloc_array(table->text, capacity, 1);
        if (text == NULL) {
            return sl_error_set(table->error, SLUICE_NOMEM, STAGE, "out of memory for a row");
        }
        table->text = text;
        table->text_capacity = capacity;
    }
    if (count > 0) {
        memcpy(table->text + table->text_bytes, bytes, count);
    }
    table->text_bytes += count;
    return SLUICE_OK;
}

sluice_status sl_table_take(sl_table *table, const char *stops, size_t count)
{
    bool stop[256] = {false};
    for (size_t i = 0; i < count; i++) {
        stop[(uint8_t)stops[i]] = true;
    }
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK && sl_table_peek(table) >= 0) {
        size_t end = table->at;
        while (end < table->filled && !stop[table->window[end]]) {
            end++;
        }
        status = sl_table_append(table, table->window + table->at, end - table->at);
        table->at = end;
        if (end < table->filled) {
            break;
        }
    }
    return status == SLUICE_OK ? table->status : status;
}

/* ---- opening ---- */

static sluice_status refuse_changed(const sl_table *table, sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, table->path, -1,
                         "it was modified while it was read");
}

static sluice_status skip_mark(sl_table *table)
{
    (void)sl_table_peek(table);
    const uint8_t *window = table->window;
    if (table->filled >= 2 &&
        (memcmp(window, "\xff\xfe", 2) == 0 || memcmp(window, "\xfe\xff", 2) == 0)) {
        return sl_table_refuse(table, SLUICE_UNSUPPORTED, SL_FIELD_NONE,
                               "it is UTF-16: save it as UTF-8", table->error);
    }
    table->at = table->filled >= 3 && memcmp(window, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return table->status;
}

sluice_status sl_table_rewind(sl_table *table, sluice_error *error)
{
    table->error = error;
    table->at = table->filled = 0;
    table->filled_to = 0;
    table->line = table->row_line = 1;
    table->row_offset = 0;
    table->status = SLUICE_OK;
    if (table->is_pairs) {
        return sl_table_open_pairs(table);
    }
    const uint32_t columns = table->columns;
    sluice_status status = skip_mark(table);
    if (status == SLUICE_OK && !table->is_json) {
        status = table->is_list ? sl_table_name_lst(table) : sl_table_read_header(table);
        /* cells of the previous row are no longer valid */
        if (status == SLUICE_OK && columns > 0 && table->columns != columns) {
            return refuse_changed(table, error);
        }
    }
    return status;
}

static sluice_status table_rows_start(sl_table *table, sluice_error *error)
{
    sluice_status status =
        sl_handle_open(&table->from, (sl_file_name){STAGE, table->path}, &table->file, error);
    if (status < 0) {
        return status;
    }
    table->window = sl_malloc(WINDOW_BYTES);
    if (table->window == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for reading a table");
    }
    return sl_table_rewind(table, error);
}

sluice_status sl_table_open(sl_table **table, const char *path, sluice_error *error)
{
    sl_look look;
    sl_table *own = sl_calloc(1, sizeof(*own));
    *table = own;
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for reading a table");
    }
    own->path = path;
    own->is_json = is_json_lines(path);
    own->is_list = ends_with(path, LIST);
    sl_look_begin(&look, path);
    own->is_pairs = sl_table_pairs_look(&look) == SL_PAIRS_LABELS;
    own->delimiter = own->is_list || ends_with(path, ".tsv") ? '\t' : ',';
    const sluice_status status = table_rows_start(own, error);
    if (status < 0) {
        sl_table_close(own);
        *table = NULL;
    }
    return status;
}

void sl_table_close(sl_table *table)
{
    if (table != NULL) {
        sl_handle_close(&table->from);
        json_decref(table->root);
        sl_json_drop(&table->pairs);
        sl_free(table->window);
        sl_free(table->text);
        sl_free(table);
    }
}

sluice_status sl_table_next(sl_table *table, bool *more, sluice_error *error)
{
    table->error = error;
    const sluice_status status = table->is_pairs  ? sl_table_next_pair(table, more)
                                 : table->is_json ? sl_table_next_json(table, more)
                                 : table->is_list ? sl_table_next_lst(table, more)
                                                  : sl_table_next_csv(table, more);
    if (status == SLUICE_OK && !*more && !sl_handle_is_unchanged(&table->from, &table->file)) {
        return refuse_changed(table, error);
    }
    return status;
}
