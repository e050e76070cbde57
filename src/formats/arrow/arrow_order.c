/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_order.h"

#include "arrow_rows.h"
#include "memory.h"
#include "unpack_lz4.h"

#include <string.h>

#define STAGE "dataset"

typedef struct maker {
    const sl_arrow_paths *paths;
    uint64_t *order;
    uint64_t samples, capacity;
} maker;

static bool arrow_order_widen(maker *m, uint64_t more)
{
    if (m->order != NULL && more <= m->capacity - m->samples) {
        return true;
    }
    uint64_t *order = sl_realloc_array(m->order, m->samples + more + 1, sizeof(*order));
    m->order = order != NULL ? order : m->order;
    m->capacity = order != NULL ? m->samples + more : m->capacity;
    return order != NULL;
}

static sluice_status arrow_order_no_memory(const char *path, sluice_error *error)
{
    return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "out of memory for row numbers");
}

/* Adds rows `first` to `end`, each once. */
static sluice_status take_all(maker *m, uint64_t first, uint64_t end, sluice_error *error)
{
    if (!arrow_order_widen(m, end - first)) {
        return arrow_order_no_memory(m->paths->files.files[0].path, error);
    }
    for (uint64_t row = first; row < end; row++) {
        m->order[m->samples++] = row;
    }
    return SLUICE_OK;
}

static sluice_status take_table(maker *m, const sl_arrow_rows *numbers, uint64_t first,
                                uint64_t end, const char *path, sluice_error *error)
{
    if (!arrow_order_widen(m, numbers->rows)) {
        return arrow_order_no_memory(path, error);
    }
    for (uint64_t i = 0; i < numbers->rows; i++) {
        sl_value value = {.present = false};
        const sl_refusal why = sl_side_columns_get(&numbers->side, 0, i, &value);
        const uint64_t row = (uint64_t)value.integer;
        if (why.text != NULL || !value.present || row >= end - first) {
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, -1,
                                 "entry %llu of its row list is out of range: there are %llu rows",
                                 (unsigned long long)i, (unsigned long long)(end - first));
        }
        m->order[m->samples++] = first + row;
    }
    return SLUICE_OK;
}

/* Reads the only column, of integers. */
static sluice_status arrow_order_read_numbers(const sl_arrow_file *file, const char *path,
                                              sl_arrow_rows *numbers, sluice_error *error)
{
    const sl_arrow_node *node = file->schema.nodes;
    if (file->schema.count != 1 || node->type != SL_ARROW_INT || node->coded ||
        (file->lz4 && !sl_lz4_is_there())) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, 0,
                             "not a table of row numbers, with one column of integers");
    }
    const sl_arrow_column column = {.chain = {.count = 1}, .path = SL_ARROW_NONE};
    sl_columnar_fields plan = {.large_of = {SL_FIELD_NONE}, .side_count = 1};
    plan.fields.count = 1;
    plan.side_fields[0] = plan.fields.fields[0] = (sl_field){.type = SLUICE_FIELD_INT};
    return sl_arrow_rows_read(numbers, file, path, &column, &plan, error);
}

static sluice_status add_table(maker *m, const char *path, uint64_t first, uint64_t end,
                               sluice_error *error)
{
    sl_arrow_file file = {.rows = 0};
    sl_arrow_rows numbers = {.rows = 0};
    sluice_status status = sl_arrow_file_open(&file, path, error);
    if (status < 0) {
        return status;
    }
    status = arrow_order_read_numbers(&file, path, &numbers, error);
    if (status == SLUICE_OK) {
        status = take_table(m, &numbers, first, end, path, error);
        sl_arrow_rows_close(&numbers);
    }
    sl_arrow_file_close(&file);
    return status;
}

/* Adds the rows of one path; they count from its first file. */
static sluice_status arrow_order_add_part(maker *m, const sl_arrow_part *part, uint64_t rows,
                                          sluice_error *error)
{
    const sl_file_list *files = &m->paths->files;
    const uint32_t next = part->first + part->count;
    const uint64_t first = part->first < files->count ? files->files[part->first].first : rows;
    const uint64_t end = next < files->count ? files->files[next].first : rows;
    if (part->table_count == 0) {
        return take_all(m, first, end, error);
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < part->table_count; i++) {
        status =
            add_table(m, m->paths->tables.files[part->first_table + i].path, first, end, error);
    }
    return status;
}

sluice_status sl_arrow_order_read(const sl_arrow_paths *paths, uint64_t rows, uint64_t **order,
                                  uint64_t *samples, sluice_error *error)
{
    maker m = {.paths = paths};
    sluice_status status = SLUICE_OK;
    *order = NULL;
    *samples = rows;
    if (paths->tables.count == 0) {
        return SLUICE_OK;
    }
    for (size_t i = 0; status == SLUICE_OK && i < paths->part_count; i++) {
        status = arrow_order_add_part(&m, &paths->parts[i], rows, error);
    }
    if (status < 0) {
        sl_free(m.order);
        return status;
    }
    *order = m.order;
    *samples = m.samples;
    return SLUICE_OK;
}
