/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_side: turns decoded slots into rows of a side column. One thread per row group; all
 * memory is the column's.
 */
#include "parquet_side.h"

#include "dtype.h"
#include "memory.h"
#include "parquet_values.h"

#include <string.h>

#define STAGE "dataset"

/* The row being built. */
typedef struct maker {
    const sl_parquet_place *place;
    const sl_parquet_leaf *leaf;
    sl_side_columns *columns;
    uint32_t column;
    uint64_t rows, wanted;
    bool is_open;        /* lists: true if a row was begun */
    bool is_present;     /* true if the row is present */
    bool has_null;       /* true if an element is null */
    bool is_uneven;      /* true if an inner list has an unexpected length */
    bool in_inner;       /* lists of lists: true if an inner list was begun */
    uint64_t inner;      /* its number of elements */
    uint32_t dictionary; /* dictionary of `entries`; 0: none */
    uint32_t
        *entries; /* number in the column, from 1, of each dictionary value; 0: not stored yet */
    uint32_t entry_count; /* capacity of `entries` */
    sl_value_buffer elements;
    size_t bytes; /* size in bytes */
} maker;

static sluice_status parquet_side_fail(const maker *m, sluice_status status, const char *why,
                                       sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, m->place->from.name.path, -1,
                         "column \"%s\", row %llu of row group %u: %s", m->leaf->name,
                         (unsigned long long)m->rows, m->place->group, why);
}

static sluice_status parquet_side_put(maker *m, const sl_value *value, sluice_error *error)
{
    if (m->rows == m->wanted) {
        return parquet_side_fail(m, SLUICE_CORRUPT, "the row group has too many rows", error);
    }
    m->rows++;
    return sl_side_columns_put(m->columns, m->column, value, error);
}

static bool parquet_side_is_too_large(const maker *m, const sl_parquet_slot *slot)
{
    return m->leaf->type == SL_PARQUET_INT64 && m->leaf->meaning == SL_PARQUET_UNSIGNED &&
           slot->integer < 0;
}

/* Stores a dictionary value, once for all rows that have it. */
static sluice_status put_entry(maker *m, const sl_parquet_slot *slot, sluice_error *error)
{
    const uint32_t before = m->entry_count;
    if (m->rows == m->wanted) {
        return parquet_side_fail(m, SLUICE_CORRUPT, "the row group has too many rows", error);
    }
    if (m->dictionary != slot->dictionary && before > 0) {
        memset(m->entries, 0, before * sizeof(*m->entries));
    }
    m->dictionary = slot->dictionary;
    if (slot->entry > before) {
        const uint32_t capacity = slot->entry + slot->entry / 2;
        uint32_t *grown = sl_realloc_array(m->entries, capacity, sizeof(*grown));
        if (grown == NULL) {
            return parquet_side_fail(m, SLUICE_NOMEM, "out of memory for a dictionary", error);
        }
        memset(grown + before, 0, (size_t)(capacity - before) * sizeof(*grown));
        m->entries = grown;
        m->entry_count = capacity;
    }
    uint32_t *known = &m->entries[slot->entry - 1];
    uint32_t entry = *known - 1;
    sluice_status status = SLUICE_OK;
    if (*known == 0) {
        status = sl_side_columns_add_entry(m->columns, m->column, slot->bytes, &entry, error);
        *known = status == SLUICE_OK ? entry + 1 : 0;
    }
    m->rows++;
    return status == SLUICE_OK ? sl_side_columns_put_entry(m->columns, m->column, entry, error)
                               : status;
}

static sluice_status parquet_side_take_value(void *ctx, const sl_parquet_slot *slot,
                                             sluice_error *error)
{
    maker *m = ctx;
    if (slot->def == m->leaf->max_def && slot->entry > 0 && slot->bytes.data != NULL) {
        return put_entry(m, slot, error);
    }
    const sl_value value = {.present = slot->def == m->leaf->max_def,
                            .integer = slot->integer,
                            .number = slot->number,
                            .bytes = slot->bytes};
    const sluice_status status = parquet_side_put(m, &value, error);
    if (status == SLUICE_OK && value.present && parquet_side_is_too_large(m, slot)) {
        sl_side_columns_refuse(m->columns, m->column, "its number is above 2^63 - 1");
    }
    return status;
}

/* ---- lists ---- */

/* Ends an inner list, which must have `shape[1]` elements. */
static void end_inner(maker *m)
{
    const sl_field *field = &m->columns->of[m->column].field;
    m->is_uneven = m->is_uneven || (m->in_inner && m->inner != field->shape[1]);
    m->in_inner = false;
}

static const char *refusal_of_list(const maker *m)
{
    const bool is_box = m->columns->of[m->column].field.shape[1] == 4;
    if (m->has_null) {
        return "its list contains a null";
    }
    if (!m->is_uneven) {
        return NULL;
    }
    return is_box ? "an inner list does not have 4 numbers"
                  : "the length of an inner list differs from the others";
}

static sluice_status end_row(maker *m, sluice_error *error)
{
    if (!m->is_open) {
        return SLUICE_OK;
    }
    end_inner(m);
    const sl_value value = {.present = m->is_present, .bytes = {m->elements.data, m->bytes}};
    m->is_open = false;
    m->bytes = 0;
    const char *why = refusal_of_list(m);
    const sluice_status status = parquet_side_put(m, &value, error);
    if (status == SLUICE_OK && why != NULL) {
        sl_side_columns_refuse(m->columns, m->column, why);
    }
    return status;
}

static bool parquet_side_make_space(maker *m, size_t more)
{
    const size_t needed = m->bytes + more;
    if (needed <= m->elements.bytes) {
        return true;
    }
    uint8_t *grown = sl_realloc_array(m->elements.data, needed + needed / 2, 1);
    if (grown != NULL) {
        m->elements.data = grown;
        m->elements.bytes = needed + needed / 2;
    }
    return grown != NULL;
}

/* Appends an element, little-endian as in all tensors. */
static sluice_status parquet_side_add_element(maker *m, const sl_parquet_slot *slot,
                                              sluice_error *error)
{
    const sluice_dtype dtype = m->columns->of[m->column].field.dtype;
    const size_t bytes = sl_dtype_bytes(dtype);
    if (!parquet_side_make_space(m, bytes)) {
        return parquet_side_fail(m, SLUICE_NOMEM, "out of memory for a list", error);
    }
    uint8_t *to = m->elements.data + m->bytes;
    if (dtype == SLUICE_F32) {
        const float number = (float)slot->number; /* stored as float: nothing is lost */
        memcpy(to, &number, sizeof(number));
    } else if (dtype == SLUICE_F64) {
        memcpy(to, &slot->number, sizeof(slot->number));
    } else {
        for (size_t i = 0; i < bytes; i++) {
            to[i] = (uint8_t)((uint64_t)slot->integer >> 8 * i);
        }
    }
    m->bytes += bytes;
    return SLUICE_OK;
}

/* Takes a slot of a list of lists, which begins an inner list unless it continues one. */
static void take_inner(maker *m, const sl_parquet_slot *slot)
{
    if (slot->rep < m->leaf->max_rep && slot->def >= m->leaf->outer_def) {
        end_inner(m);
        m->in_inner = true;
        m->inner = 0;
        m->has_null = m->has_null || slot->def + 1 < m->leaf->item_def; /* the list is null */
    }
}

static sluice_status parquet_side_take_element(void *ctx, const sl_parquet_slot *slot,
                                               sluice_error *error)
{
    maker *m = ctx;
    if (slot->rep == 0) {
        const sluice_status status = end_row(m, error);
        if (status < 0) {
            return status;
        }
        m->is_open = true;
        m->has_null = m->is_uneven = m->in_inner = false;
        m->is_present = slot->def + 1 >= m->leaf->outer_def; /* the list itself is present */
    } else if (!m->is_open) {
        return parquet_side_fail(m, SLUICE_CORRUPT, "it continues a list that was not begun",
                                 error);
    }
    if (m->leaf->max_rep > 1) {
        take_inner(m, slot);
    }
    if (slot->def == m->leaf->max_def) {
        m->inner++;
        return parquet_side_add_element(m, slot, error);
    }
    m->has_null = m->has_null || slot->def >= m->leaf->item_def;
    return SLUICE_OK;
}

sluice_status sl_parquet_side_read(const sl_parquet_place *place, uint32_t leaf,
                                   sl_side_columns *columns, uint32_t column, sluice_error *error)
{
    const sl_parquet *parquet = place->parquet;
    maker m = {.place = place,
               .leaf = &parquet->leaves[leaf],
               .columns = columns,
               .column = column,
               .wanted = parquet->group_rows[place->group]};
    const bool is_list = m.leaf->max_rep > 0;
    const sl_parquet_sink sink = {
        .ctx = &m, .take = is_list ? parquet_side_take_element : parquet_side_take_value};
    sluice_status status = sl_parquet_decode(
        m.leaf, &parquet->chunks[(size_t)place->group * parquet->leaf_count + leaf], &place->from,
        &sink, error);
    if (status == SLUICE_OK && is_list) {
        status = end_row(&m, error);
    }
    if (status == SLUICE_OK && m.rows != m.wanted) {
        status = parquet_side_fail(&m, SLUICE_CORRUPT, "the row group has too few rows", error);
    }
    sl_value_buffer_close(&m.elements);
    sl_free(m.entries);
    return status;
}
