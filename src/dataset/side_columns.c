/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side_columns: columns of numbers and texts in memory, filled row by row.
 *
 * One thread fills; then they are immutable. A column has at most 2^32 - 1 values.
 */
#include "side_columns.h"

#include "memory.h"
#include "source_columns.h"

#include <assert.h>
#include <string.h>

#define STAGE "dataset"

enum { ROOM_MIN = 1024 };

void sl_side_columns_close(sl_side_columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        sl_free(columns->of[i].cells);
        sl_free(columns->of[i].keys);
        sl_free(columns->of[i].state);
        sl_free(columns->of[i].pool);
    }
    sl_free(columns->of);
    memset(columns, 0, sizeof(*columns));
}

sluice_status sl_side_columns_open(sl_side_columns *columns, const sl_field *fields, uint32_t count,
                                   sluice_error *error)
{
    columns->of = sl_calloc((size_t)count + 1, sizeof(*columns->of));
    if (columns->of == NULL) {
        return sl_no_memory(error, STAGE, "for columns");
    }
    for (uint32_t i = 0; i < count; i++) {
        columns->of[i].field = fields[i];
    }
    columns->count = count;
    return SLUICE_OK;
}

/*
 * Grows `memory` to at least `needed` elements and by half, so that adding n elements costs O(n).
 * NULL: no memory.
 */
static void *side_columns_widen(sl_side_columns *columns, void *memory, uint64_t *capacity,
                                uint64_t needed, size_t size)
{
    if (needed <= *capacity) {
        return memory;
    }
    uint64_t wanted = *capacity + *capacity / 2;
    wanted = wanted < needed ? needed : wanted;
    wanted = wanted < ROOM_MIN ? ROOM_MIN : wanted;
    void *grown = sl_realloc_array(memory, wanted, size);
    if (grown != NULL) {
        columns->bytes += (wanted - *capacity) * size;
        *capacity = wanted;
    }
    return grown;
}

static bool has_bytes(const sl_field *field)
{
    return field->type != SLUICE_FIELD_INT && field->type != SLUICE_FIELD_FLOAT;
}

static bool widen_rows(sl_side_columns *columns, sl_side_column *column, uint64_t more)
{
    uint8_t *state =
        side_columns_widen(columns, column->state, &column->state_capacity, column->rows + more, 1);
    column->state = state != NULL ? state : column->state;
    return state != NULL;
}

static bool widen_entries(sl_side_columns *columns, sl_side_column *column, uint64_t more,
                          uint64_t bytes)
{
    uint64_t *cells = side_columns_widen(columns, column->cells, &column->capacity,
                                         column->entries + more, sizeof(*column->cells));
    column->cells = cells != NULL ? cells : column->cells;
    uint8_t *pool = side_columns_widen(columns, column->pool, &column->pool_capacity,
                                       column->pool_bytes + bytes + 1, 1);
    column->pool = pool != NULL ? pool : column->pool;
    return cells != NULL && pool != NULL;
}

/* Switches to rows that refer to entries; makes space for `more` further rows. */
static bool widen_keys(sl_side_columns *columns, sl_side_column *column, uint64_t more)
{
    const bool had_none = column->keys == NULL;
    uint32_t *keys = side_columns_widen(columns, column->keys, &column->key_capacity,
                                        column->rows + more, sizeof(*column->keys));
    if (keys == NULL || column->rows > UINT32_MAX) {
        return false;
    }
    column->keys = keys;
    for (uint64_t i = 0; had_none && i < column->rows; i++) {
        keys[i] = (uint32_t)i;
    }
    return true;
}

static sluice_status side_columns_refuse(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the columns in memory");
}

/* Adds an entry of bytes or a number, for which there is space. */
static void add_cell(sl_side_column *column, const sl_value *value, uint64_t bytes)
{
    uint64_t *cell = &column->cells[column->entries++];
    if (bytes > 0) {
        memcpy(column->pool + column->pool_bytes, value->bytes.data, bytes);
    }
    column->pool_bytes += bytes;
    if (has_bytes(&column->field)) {
        *cell = column->pool_bytes;
    } else if (column->field.type == SLUICE_FIELD_INT) {
        *cell = (uint64_t)value->integer;
    } else {
        memcpy(cell, &value->number, sizeof(value->number));
    }
}

sluice_status sl_side_columns_put(sl_side_columns *columns, uint32_t number, const sl_value *value,
                                  sluice_error *error)
{
    sl_side_column *column = &columns->of[number];
    const uint64_t bytes = has_bytes(&column->field) && value->present ? value->bytes.size : 0;
    if (!widen_rows(columns, column, 1) || !widen_entries(columns, column, 1, bytes) ||
        (column->keys != NULL &&
         (column->entries == UINT32_MAX || !widen_keys(columns, column, 1)))) {
        return side_columns_refuse(error);
    }
    if (column->keys != NULL) {
        column->keys[column->rows] = (uint32_t)column->entries;
    }
    add_cell(column, value, bytes);
    column->state[column->rows++] = value->present ? SL_SIDE_PRESENT : SL_SIDE_ABSENT;
    return SLUICE_OK;
}

sluice_status sl_side_columns_add_entry(sl_side_columns *columns, uint32_t number, sl_bytes bytes,
                                        uint32_t *entry, sluice_error *error)
{
    sl_side_column *column = &columns->of[number];
    const sl_value value = {.present = true, .bytes = bytes};
    assert(has_bytes(&column->field));
    if (column->entries >= UINT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "a column has more than 2^32 - 1 values");
    }
    if (!widen_keys(columns, column, 1) || !widen_entries(columns, column, 1, bytes.size)) {
        return side_columns_refuse(error);
    }
    *entry = (uint32_t)column->entries;
    add_cell(column, &value, bytes.size);
    return SLUICE_OK;
}

sluice_status sl_side_columns_put_entry(sl_side_columns *columns, uint32_t number, uint32_t entry,
                                        sluice_error *error)
{
    sl_side_column *column = &columns->of[number];
    assert(entry < column->entries);
    if (!widen_rows(columns, column, 1) || !widen_keys(columns, column, 1)) {
        return side_columns_refuse(error);
    }
    column->keys[column->rows] = entry;
    column->state[column->rows++] = SL_SIDE_PRESENT;
    return SLUICE_OK;
}

/* Returns the state of rows that are bad because of `why`. */
static uint8_t refused_state(sl_side_column *column, const char *why)
{
    uint8_t number = 0;
    while (number < SL_SIDE_REASONS - 1 && column->refused[number] != NULL &&
           strcmp(column->refused[number], why) != 0) {
        number++;
    }
    column->refused[number] = why;
    return (uint8_t)(SL_SIDE_REFUSED + number);
}

/* Appends states, since two columns may number their reasons differently. */
static void append_states(sl_side_column *to, const sl_side_column *from)
{
    uint8_t as[SL_SIDE_REFUSED + SL_SIDE_REASONS] = {SL_SIDE_ABSENT, SL_SIDE_PRESENT};
    for (uint8_t i = 0; i < SL_SIDE_REASONS && from->refused[i] != NULL; i++) {
        as[SL_SIDE_REFUSED + i] = refused_state(to, from->refused[i]);
    }
    for (uint64_t i = 0; i < from->rows; i++) {
        to->state[to->rows + i] = as[from->state[i]];
    }
}

/* Appends the rows of `from` to `to`, which has space for them. */
static void side_columns_append(sl_side_column *to, const sl_side_column *from)
{
    const uint64_t base = has_bytes(&to->field) ? to->pool_bytes : 0;
    append_states(to, from);
    memcpy(to->pool + to->pool_bytes, from->pool, from->pool_bytes);
    for (uint64_t k = 0; k < from->entries; k++) {
        to->cells[to->entries + k] = base + from->cells[k];
    }
    for (uint64_t k = 0; to->keys != NULL && k < from->rows; k++) {
        const uint64_t key = from->keys != NULL ? from->keys[k] : k;
        to->keys[to->rows + k] = (uint32_t)(to->entries + key);
    }
    to->rows += from->rows;
    to->entries += from->entries;
    to->pool_bytes += from->pool_bytes;
}

sluice_status sl_side_columns_append(sl_side_columns *columns, const sl_side_columns *rows,
                                     sluice_error *error)
{
    assert(columns->count == rows->count);
    for (uint32_t i = 0; i < rows->count; i++) {
        sl_side_column *to = &columns->of[i];
        const sl_side_column *from = &rows->of[i];
        const bool keyed = to->keys != NULL || from->keys != NULL;
        if (from->rows == 0) {
            continue;
        }
        if (keyed && to->entries + from->entries > UINT32_MAX) {
            return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                                "a column has more than 2^32 - 1 values");
        }
        if (!widen_rows(columns, to, from->rows) ||
            !widen_entries(columns, to, from->entries, from->pool_bytes) ||
            (keyed && !widen_keys(columns, to, from->rows))) {
            return side_columns_refuse(error);
        }
        side_columns_append(to, from);
    }
    return SLUICE_OK;
}

void sl_side_columns_refuse(sl_side_columns *columns, uint32_t number, const char *why)
{
    sl_side_column *column = &columns->of[number];
    assert(column->rows > 0);
    column->state[column->rows - 1] = refused_state(column, why);
}

sl_refusal sl_side_columns_get(const sl_side_columns *columns, uint32_t number, uint64_t row,
                               sl_value *value)
{
    const sl_side_column *column = &columns->of[number];
    assert(row < column->rows);
    const uint64_t entry = column->keys != NULL ? column->keys[row] : row;
    const uint64_t cell = column->cells[entry];
    *value = (sl_value){.present = column->state[row] == SL_SIDE_PRESENT};
    if (column->state[row] >= SL_SIDE_REFUSED) {
        sl_refusal why =
            sl_refuse_unknown(column->refused[column->state[row] - SL_SIDE_REFUSED], 0);
        why.field = column->field.name;
        return why;
    }
    if (!value->present) {
        return sl_accept();
    }
    if (column->field.type == SLUICE_FIELD_INT) {
        value->integer = (int64_t)cell;
    } else if (column->field.type == SLUICE_FIELD_FLOAT) {
        memcpy(&value->number, &cell, sizeof(cell));
    } else {
        const uint64_t begin = entry > 0 ? column->cells[entry - 1] : 0;
        value->bytes = (sl_bytes){column->pool + begin, (size_t)(cell - begin)};
        return sl_source_value(&column->field, value);
    }
    return sl_accept();
}
