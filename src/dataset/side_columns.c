/* SPDX-License-Identifier: Apache-2.0 */
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
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for columns");
    }
    for (uint32_t i = 0; i < count; i++) {
        columns->of[i].field = fields[i];
    }
    columns->count = count;
    return SLUICE_OK;
}

/* `memory` with room for `needed` elements, at least one; half as much again, so that adding n
 * costs O(n). NULL: there is none. */
static void *widen(sl_side_columns *columns, void *memory, uint64_t *room, uint64_t needed,
                   size_t size)
{
    if (needed <= *room) {
        return memory;
    }
    uint64_t wanted = *room + *room / 2;
    wanted = wanted < needed ? needed : wanted;
    wanted = wanted < ROOM_MIN ? ROOM_MIN : wanted;
    const uint64_t more = (wanted - *room) * size;
    if (more > SL_SIDE_BYTES_MAX || columns->bytes > SL_SIDE_BYTES_MAX - more) {
        return NULL;
    }
    void *grown = sl_realloc_array(memory, wanted, size);
    if (grown != NULL) {
        columns->bytes += more;
        *room = wanted;
    }
    return grown;
}

static bool has_bytes(const sl_field *field)
{
    return field->type != SLUICE_FIELD_INT && field->type != SLUICE_FIELD_FLOAT;
}

static bool make_room(sl_side_columns *columns, sl_side_column *column, uint64_t rows,
                      uint64_t bytes)
{
    uint64_t flags = column->room; /* as many as cells */
    uint8_t *state = widen(columns, column->state, &flags, column->rows + rows, 1);
    column->state = state != NULL ? state : column->state;
    uint64_t *cells =
        widen(columns, column->cells, &column->room, column->rows + rows, sizeof(*column->cells));
    column->cells = cells != NULL ? cells : column->cells;
    uint8_t *pool =
        widen(columns, column->pool, &column->pool_room, column->pool_bytes + bytes + 1, 1);
    column->pool = pool != NULL ? pool : column->pool;
    return state != NULL && cells != NULL && pool != NULL;
}

static sluice_status refuse(sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE,
                        "no memory for what is kept beside the samples (8 GiB at most): choose the "
                        "fields that are wanted (the option fields)");
}

sluice_status sl_side_columns_put(sl_side_columns *columns, uint32_t number, const sl_value *value,
                                  sluice_error *error)
{
    sl_side_column *column = &columns->of[number];
    const bool of_bytes = has_bytes(&column->field);
    const uint64_t bytes = of_bytes && value->present ? value->bytes.size : 0;
    if (!make_room(columns, column, 1, bytes)) {
        return refuse(error);
    }
    const uint64_t row = column->rows++;
    if (bytes > 0) {
        memcpy(column->pool + column->pool_bytes, value->bytes.data, bytes);
    }
    column->pool_bytes += bytes;
    if (of_bytes) {
        column->cells[row] = column->pool_bytes;
    } else if (column->field.type == SLUICE_FIELD_INT) {
        column->cells[row] = (uint64_t)value->integer;
    } else {
        memcpy(&column->cells[row], &value->number, sizeof(value->number));
    }
    column->state[row] = value->present ? SL_SIDE_PRESENT : SL_SIDE_ABSENT;
    return SLUICE_OK;
}

sluice_status sl_side_columns_append(sl_side_columns *columns, const sl_side_columns *rows,
                                     sluice_error *error)
{
    assert(columns->count == rows->count);
    for (uint32_t i = 0; i < rows->count; i++) {
        sl_side_column *to = &columns->of[i];
        const sl_side_column *from = &rows->of[i];
        if (from->rows == 0) {
            continue;
        }
        if (!make_room(columns, to, from->rows, from->pool_bytes)) {
            return refuse(error);
        }
        memcpy(to->state + to->rows, from->state, from->rows);
        to->refused = from->refused != NULL ? from->refused : to->refused;
        memcpy(to->pool + to->pool_bytes, from->pool, from->pool_bytes);
        const uint64_t base = has_bytes(&to->field) ? to->pool_bytes : 0;
        for (uint64_t k = 0; k < from->rows; k++) {
            to->cells[to->rows + k] = base + from->cells[k];
        }
        to->rows += from->rows;
        to->pool_bytes += from->pool_bytes;
    }
    return SLUICE_OK;
}

void sl_side_columns_refuse(sl_side_columns *columns, uint32_t number, const char *why)
{
    sl_side_column *column = &columns->of[number];
    assert(column->rows > 0);
    column->state[column->rows - 1] = SL_SIDE_REFUSED;
    column->refused = why;
}

sl_refusal sl_side_columns_get(const sl_side_columns *columns, uint32_t number, uint64_t row,
                               sl_value *value)
{
    const sl_side_column *column = &columns->of[number];
    assert(row < column->rows);
    const uint64_t cell = column->cells[row];
    *value = (sl_value){.present = column->state[row] == SL_SIDE_PRESENT};
    if (column->state[row] == SL_SIDE_REFUSED) {
        sl_refusal why = sl_refuse_unknown(column->refused, 0);
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
        const uint64_t begin = row > 0 ? column->cells[row - 1] : 0;
        value->bytes = (sl_bytes){column->pool + begin, (size_t)(cell - begin)};
        return sl_source_value(&column->field, value);
    }
    return sl_accept();
}
