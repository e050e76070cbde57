/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_lst: reads rows of im2rec lists: a number, one or more labels, and a path, separated by
 * tabs, without a header.
 *
 * Labels are written as floats: whole ones become integers; several in a row become a list.
 */
#include "error.h"
#include "table_rows.h"

#include <string.h>

enum { ID, LABEL, PATH, COLUMNS };

sluice_status sl_table_name_lst(sl_table *table)
{
    static const char *const names[COLUMNS] = {"id", "label", "path"};
    for (size_t i = 0; i < COLUMNS; i++) {
        memcpy(table->names[i], names[i], strlen(names[i]) + 1);
    }
    table->columns = COLUMNS;
    return table->status;
}

/* An extent of the row's text. */
typedef struct extent {
    size_t begin, end;
} extent;

/* Trims the blanks around a cell and adds a NUL. */
static extent table_lst_trim(sl_table *table, uint32_t number)
{
    extent cell = {table->begins[number], 0};
    cell.end = cell.begin + strlen((const char *)table->text + cell.begin);
    while (cell.begin < cell.end && table->text[cell.begin] == ' ') {
        cell.begin++;
    }
    while (cell.begin < cell.end && table->text[cell.end - 1] == ' ') {
        cell.end--;
    }
    table->text[cell.end] = '\0';
    return cell;
}

/* Shortens "3.000000" to 3. */
static extent cut_zeros(sl_table *table, extent cell)
{
    size_t end = cell.end;
    while (end > cell.begin && table->text[end - 1] == '0') {
        end--;
    }
    const bool is_whole =
        end > cell.begin + 1 && table->text[end - 1] == '.' &&
        strspn((const char *)table->text + cell.begin, "-0123456789") == end - 1 - cell.begin;
    if (is_whole) {
        cell.end = end - 1;
        table->text[cell.end] = '\0';
    }
    return cell;
}

static sluice_status refuse_labels(const sl_table *table)
{
    return sl_table_refuse(table, SLUICE_CORRUPT, LABEL, "one of the labels is not a number",
                           table->error);
}

/* Joins the labels of a row with several to a list, after the row's own text. */
static sluice_status table_lst_join_labels(sl_table *table, uint32_t count, extent *list)
{
    char word[64];
    list->begin = table->text_bytes;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = LABEL; status == SLUICE_OK && i < count - 1; i++) {
        const extent cell = table_lst_trim(table, i);
        const size_t bytes = cell.end - cell.begin;
        if (bytes >= sizeof(word)) {
            return refuse_labels(table);
        }
        word[0] = i == LABEL ? '[' : ',';
        memcpy(word + 1, table->text + cell.begin, bytes); /* appending may move the row's text */
        status = sl_table_append(table, word, bytes + 1);
    }
    list->end = table->text_bytes + 1;
    status = status == SLUICE_OK ? sl_table_append(table, "]", sizeof("]")) : status;
    if (status < 0) {
        return status;
    }
    sl_list_shape shape;
    const sl_cell cell = {.kind = SL_CELL_WORDS,
                          .text = {table->text + list->begin, list->end - list->begin}};
    return sl_cell_look(&cell, &shape) == SL_CELL_LIST && shape.dims == 1 ? SLUICE_OK
                                                                          : refuse_labels(table);
}

static void table_lst_set_cell(sl_table *table, uint32_t column, extent text)
{
    const size_t bytes = text.end - text.begin;
    table->cells[column] = (sl_cell){.kind = bytes > 0 ? SL_CELL_WORDS : SL_CELL_ABSENT,
                                     .text = {table->text + text.begin, bytes}};
}

sluice_status sl_table_next_lst(sl_table *table, bool *more)
{
    uint32_t count;
    sluice_status status = sl_table_take_row(table, &count);
    *more = count > 0;
    if (status < 0 || count == 0) {
        return status;
    }
    if (count < COLUMNS) {
        return sl_table_refuse(table, SLUICE_CORRUPT, SL_FIELD_NONE,
                               "a line of a list must be a number, labels and a path, separated by "
                               "tabs, as im2rec writes it",
                               table->error);
    }
    extent label = {0};
    const extent id = table_lst_trim(table, 0);
    const extent path = table_lst_trim(table, count - 1);
    if (count == COLUMNS) {
        label = cut_zeros(table, table_lst_trim(table, LABEL));
    } else {
        status = table_lst_join_labels(table, count, &label);
    }
    if (status == SLUICE_OK) {
        table_lst_set_cell(table, ID, id);
        table_lst_set_cell(table, LABEL, label);
        table_lst_set_cell(table, PATH, path);
    }
    return status;
}
