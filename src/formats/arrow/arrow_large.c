/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_large.h"

#define STAGE "dataset"

/* Below this on average, in bytes a row, values cost less memory than where they lie. */
#define LARGE_FROM ((uint64_t)64)
/* From both of these on, on average and in all, values are not read when a dataset is opened. */
#define TOO_LARGE_EACH ((uint64_t)4096)
#define TOO_LARGE_ALL  ((uint64_t)64 << 20)

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
        packed = packed || table->files[i].zstd;
    }
    return packed;
}

static uint32_t largest(const sl_arrow_table *table, const sl_arrow_wish *wish)
{
    const sl_source_fields *fields = &wish->fields;
    uint32_t found = SL_ARROW_NONE;
    uint64_t most = LARGE_FROM * table->rows;
    for (uint32_t i = 0; i < fields->count; i++) {
        const sluice_field_type type = table->columns->source[fields->column[i]].field.type;
        const uint64_t bytes = bytes_of(table, fields->column[i]);
        if (type != SLUICE_FIELD_INT && type != SLUICE_FIELD_FLOAT && bytes >= most &&
            !is_coded(table, fields->column[i]) && fields->column[i] != found) {
            most = bytes;
            found = fields->column[i];
        }
    }
    return found;
}

static sluice_status refuse_second(const sl_arrow_table *table, const sl_arrow_wish *wish,
                                   uint32_t column, sluice_error *error)
{
    const char *name = table->columns->source[column].name;
    if (wish->large == SL_ARROW_NONE) {
        return sl_error_file(
            error, SLUICE_UNSUPPORTED, STAGE, 0, table->path, -1,
            "its batches are compressed, so that no value of the column \"%s\" can "
            "be read by itself: write it again without, in Python "
            "pyarrow.feather.write_feather(pyarrow.feather.read_table(FILE), NEW, "
            "compression=\"uncompressed\")",
            name);
    }
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, table->path, -1,
                         "it has two columns of large values, \"%s\" and \"%s\", and a sample is "
                         "read in one piece: choose the fields that are wanted (the option fields)",
                         table->columns->source[wish->large].name, name);
}

sluice_status sl_arrow_choose_large(const sl_arrow_table *table, sl_arrow_wish *wish,
                                    sluice_error *error)
{
    uint64_t all = 0;
    wish->large = is_packed(table) ? SL_ARROW_NONE : largest(table, wish);
    atomic_init(&wish->side_bytes, 0);
    for (uint32_t i = 0; i < wish->fields.count; i++) {
        const uint32_t column = wish->fields.column[i];
        if (column == wish->large) {
            continue;
        }
        const uint64_t bytes = bytes_of(table, column);
        if (bytes > TOO_LARGE_ALL && bytes / table->rows >= TOO_LARGE_EACH) {
            return refuse_second(table, wish, column, error);
        }
        all += bytes;
        wish->side[i] = wish->side_count;
        wish->side_fields[wish->side_count++] = wish->fields.fields[i];
    }
    return all <= SL_SIDE_BYTES_MAX
               ? SLUICE_OK
               : sl_error_file(
                     error, SLUICE_NOMEM, STAGE, 0, table->path, -1,
                     "what would be kept beside the samples takes more than 8 GiB: choose "
                     "the fields that are wanted (the option fields)");
}
