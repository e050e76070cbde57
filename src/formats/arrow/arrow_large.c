/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_large.h"

#include "memory.h"

#define STAGE "dataset"

/* Below this on average, in bytes a row, values cost less memory than where they lie. */
#define LARGE_FROM ((uint64_t)64)
/* Above both of these, on average and in all, values are not read when a dataset is opened; of
 * pictures that are more in all. */
#define TOO_LARGE_EACH ((uint64_t)4096)
#define TOO_LARGE_ALL  ((uint64_t)1 << 20)
/* The same where they cannot be read but then. */
#define TOO_LARGE_PACKED ((uint64_t)64 << 20)

static bool is_coded(const sl_arrow_table *table, uint32_t column)
{
    return table->files[0].schema.nodes[sl_arrow_leaf(&table->columns->of[column])].coded;
}

/* What the values of a column take in all files. */
static uint64_t bytes_of(const sl_arrow_table *table, uint32_t column)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        bytes += table->files[i].value_bytes[sl_arrow_leaf(&table->columns->of[column])];
    }
    return bytes;
}

static bool is_packed(const sl_arrow_table *table)
{
    bool packed = false;
    for (uint32_t i = 0; i < table->count; i++) {
        packed = packed || table->files[i].zstd || table->files[i].lz4;
    }
    return packed;
}

static const sl_arrow_column *column_of(const sl_arrow_table *table, const sl_arrow_wish *wish,
                                        uint32_t field)
{
    return &table->columns->of[wish->fields.column[field]];
}

/* Whether values have places of their own, in an array that is not of numbers for each row. */
static bool is_possible(const sl_arrow_table *table, const sl_arrow_wish *wish, uint32_t field)
{
    const uint32_t column = wish->fields.column[field];
    const sluice_field_type type = table->columns->source[column].field.type;
    return type != SLUICE_FIELD_INT && type != SLUICE_FIELD_FLOAT && !is_coded(table, column);
}

static uint32_t largest(const sl_arrow_table *table, const sl_arrow_wish *wish)
{
    uint32_t found = SL_ARROW_NONE;
    uint64_t most = LARGE_FROM * table->rows;
    for (uint32_t i = 0; i < wish->fields.count; i++) {
        const uint64_t bytes = bytes_of(table, wish->fields.column[i]);
        if (is_possible(table, wish, i) && bytes >= most) {
            most = bytes;
            found = i;
        }
    }
    return found;
}

static bool is_too_large(const sl_arrow_table *table, const sl_arrow_wish *wish, uint32_t field)
{
    const uint64_t bytes = bytes_of(table, wish->fields.column[field]);
    const bool is_image = wish->fields.fields[field].type == SLUICE_FIELD_IMAGE;
    return is_possible(table, wish, field) && bytes > TOO_LARGE_ALL &&
           (is_image || bytes / table->rows >= TOO_LARGE_EACH);
}

/* The fields that are of one column, which may be a list, share it. */
static sluice_status add_large(const sl_arrow_table *table, sl_arrow_wish *wish, uint32_t field,
                               sluice_error *error)
{
    const sl_arrow_column *column = column_of(table, wish, field);
    uint32_t i = 0;
    while (i < wish->large_count &&
           sl_arrow_leaf(&table->columns->of[wish->large[i].column]) != sl_arrow_leaf(column)) {
        i++;
    }
    if (i == SL_ARROW_LARGE_MAX) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, table->path, -1,
                             "more than %u of its columns are large: choose the fields that are "
                             "wanted (" SL_OPTION("the option fields") ")",
                             SL_ARROW_LARGE_MAX);
    }
    if (i == wish->large_count) {
        wish->large[wish->large_count++] =
            (sl_arrow_large){wish->fields.column[field], {UINT32_MAX, 0}};
    }
    sl_arrow_range *range = &wish->large[i].range;
    range->low = column->element < range->low ? column->element : range->low;
    range->high = column->element > range->high ? column->element : range->high;
    wish->element[field] = column->element;
    wish->large_of[field] = i;
    return SLUICE_OK;
}

/* Of batches that are compressed no value has a place. */
static sluice_status refuse_packed(const sl_arrow_table *table, const sl_arrow_wish *wish,
                                   sluice_error *error)
{
    for (uint32_t i = 0; i < wish->fields.count; i++) {
        const uint32_t column = wish->fields.column[i];
        const uint64_t bytes = bytes_of(table, column);
        if (table->columns->of[column].list.count > 0 ||
            (bytes > TOO_LARGE_PACKED && bytes / table->rows >= TOO_LARGE_EACH)) {
            return sl_error_file(
                error, SLUICE_UNSUPPORTED, STAGE, 0, table->path, -1,
                "its batches are compressed, so that no value of the column \"%s\" can "
                "be read by itself: write it again without, in Python "
                "pyarrow.feather.write_feather(pyarrow.feather.read_table(FILE), NEW, "
                "compression=\"uncompressed\")",
                table->columns->source[column].name);
        }
    }
    return SLUICE_OK;
}

static sluice_status choose(const sl_arrow_table *table, sl_arrow_wish *wish, sluice_error *error)
{
    const uint32_t first = largest(table, wish);
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < wish->fields.count; i++) {
        const bool is_first =
            first != SL_ARROW_NONE && wish->fields.column[i] == wish->fields.column[first];
        if (is_first || column_of(table, wish, i)->list.count > 0 || is_too_large(table, wish, i)) {
            status = add_large(table, wish, i, error);
        }
    }
    return status;
}

/* What no field is read for is kept. */
static sluice_status keep_others(const sl_arrow_table *table, sl_arrow_wish *wish,
                                 sluice_error *error)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < wish->fields.count; i++) {
        if (wish->large_of[i] == SL_ARROW_NONE) {
            all += bytes_of(table, wish->fields.column[i]);
            wish->side[i] = wish->side_count;
            wish->side_fields[wish->side_count++] = wish->fields.fields[i];
        }
    }
    return sl_memory_has_room(all)
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_NOMEM, STAGE, 0, table->path, -1,
                               "what would be kept beside the samples takes %llu MiB of memory",
                               (unsigned long long)(all >> 20));
}

sluice_status sl_arrow_choose_large(const sl_arrow_table *table, sl_arrow_wish *wish,
                                    sluice_error *error)
{
    wish->large_count = 0;
    for (uint32_t i = 0; i < wish->fields.count; i++) {
        wish->large_of[i] = SL_ARROW_NONE;
    }
    const sluice_status status =
        is_packed(table) ? refuse_packed(table, wish, error) : choose(table, wish, error);
    return status == SLUICE_OK ? keep_others(table, wish, error) : status;
}
