/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_large.h"

#define STAGE "dataset"

/* Compressed values above both limits, the average and the total, are not unpacked into memory. */
#define PACKED_ROW_BYTES ((uint64_t)4096)
#define PACKED_ALL_BYTES ((uint64_t)64 << 20)

static const sl_arrow_table *arrow_large_table_of(const void *ctx)
{
    return ctx;
}

/* Returns the total size of a column's values in all files. */
static uint64_t arrow_large_bytes_of(void *ctx, uint32_t column)
{
    const sl_arrow_table *table = arrow_large_table_of(ctx);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        bytes += table->files[i].value_bytes[sl_arrow_leaf(&table->columns->of[column])];
    }
    return bytes;
}

static bool arrow_large_is_packed(const sl_arrow_table *table)
{
    bool packed = false;
    for (uint32_t i = 0; i < table->count; i++) {
        packed = packed || table->files[i].zstd || table->files[i].lz4;
    }
    return packed;
}

/*
 * Determines whether values can be read one by one. Dictionary values have no bytes of their own,
 * and neither have compressed ones.
 */
static sluice_status arrow_large_by_value(void *ctx, uint32_t column, bool *by_value,
                                          sluice_error *error)
{
    const sl_arrow_table *table = arrow_large_table_of(ctx);
    const uint32_t leaf = sl_arrow_leaf(&table->columns->of[column]);
    (void)error;
    *by_value = !arrow_large_is_packed(table) && !table->files[0].schema.nodes[leaf].coded;
    return SLUICE_OK;
}

/* Rejects compressed columns that are too large for memory. */
static sluice_status arrow_large_refuse_packed(sl_arrow_table *table,
                                               const sl_columnar_fields *plan, sluice_error *error)
{
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        const uint64_t bytes = arrow_large_bytes_of(table, plan->of[i]);
        if (table->columns->of[plan->of[i]].list.count > 0 ||
            (bytes > PACKED_ALL_BYTES && bytes / table->rows >= PACKED_ROW_BYTES)) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, table->path, -1,
                                 "its batches are compressed, so values of column \"%s\" cannot be "
                                 "read one by one: rewrite it uncompressed, in Python "
                                 "pyarrow.feather.write_feather(pyarrow.feather.read_table(FILE), "
                                 "NEW, compression=\"uncompressed\")",
                                 table->columns->table.source[plan->fields.column[i]].name);
        }
    }
    return SLUICE_OK;
}

sluice_status sl_arrow_choose_large(sl_arrow_table *table, sl_columnar_fields *plan,
                                    sluice_error *error)
{
    const sl_columnar_sizes sizes = {.ctx = table,
                                     .rows = table->rows,
                                     .path = table->path,
                                     .bytes = arrow_large_bytes_of,
                                     .by_value = arrow_large_by_value};
    const sluice_status status =
        arrow_large_is_packed(table) ? arrow_large_refuse_packed(table, plan, error) : SLUICE_OK;
    return status == SLUICE_OK ? sl_columnar_choose(plan, &table->columns->table, &sizes, error)
                               : status;
}
