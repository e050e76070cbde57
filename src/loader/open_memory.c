/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and checks a loader's memory before any of it is touched. */
#include "loader.h"

#include "cpu.h"
#include "draw_memory.h"
#include "error.h"

sluice_status sl_loader_charge_tables(sluice_loader *loader, sluice_error *error)
{
    const sl_config *config = &loader->config;
    const sluice_loader_options *o = &config->options;
    const uint64_t rows = (uint64_t)o->prefetch * o->batch_size;
    const uint64_t paged = loader->dataset->shares_pages ? 2 * sizeof(sl_paged_row) : 0;
    const uint64_t bytes =
        rows * (loader->columns.members * sizeof(sl_job) + sizeof(sl_gathering) + sizeof(sl_task) +
                (loader->order.source.kind->by_class ? sizeof(uint64_t) : 0) + paged +
                loader->columns.mixers * sizeof(uint8_t)) +
        config->lookahead * sizeof(sl_row_want) + o->prefetch * sizeof(sl_feed_slot) +
        o->workers *
            (sizeof(sl_row_worker) + sl_row_jobs_bytes(loader->columns.members) + SL_ROW_BYTES_MIN +
             sl_draw_memory_bytes(&loader->columns) + sl_composition_bytes(&loader->columns)) +
        loader->classes.samples * (uint64_t)12 + loader->classes.count * sizeof(uint64_t) +
        loader->order.bytes + sl_leveling_bytes(config);
    if (sl_budget_take(&loader->budget, bytes)) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_NOMEM, "loader",
                        "the tables of %llu rows and %u workers need %llu bytes, but " SL_OPTION(
                            "memory_bytes") " is %llu",
                        (unsigned long long)rows, o->workers, (unsigned long long)bytes,
                        (unsigned long long)o->memory_bytes);
}

/* Returns the bytes of `count` of them; UINT64_MAX: that or more. */
static uint64_t times(uint64_t bytes, uint64_t count)
{
    uint64_t product;
    return __builtin_mul_overflow(bytes, count, &product) ? UINT64_MAX : product;
}

sluice_status sl_loader_check_slots(const sluice_loader *loader, sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    const sl_column_set *columns = &loader->columns;
    const uint64_t rows = (uint64_t)o->prefetch * o->batch_size;
    const uint64_t needed = times(sl_columns_row_bytes(columns), rows);
    const uint64_t budget = o->memory_bytes - sl_budget_used(&loader->budget);
    const uint64_t available = sl_memory_available();
    if (needed <= budget && needed <= available) {
        return SLUICE_OK;
    }
    const sl_column *largest = sl_columns_largest(columns);
    return sl_error_set(error, SLUICE_NOMEM, "loader",
                        "%u slots of %u rows need %llu bytes, but %llu are left of %s: column "
                        "\"%s\" has %llu bytes in each row%s",
                        o->prefetch, o->batch_size, (unsigned long long)needed,
                        (unsigned long long)(budget < available ? budget : available),
                        budget < available ? SL_OPTION("memory_bytes") : "the system's memory",
                        largest->request.name,
                        (unsigned long long)sl_column_row_bytes(columns, largest),
                        largest->request.sizes == SLUICE_SIZES_ONE
                            ? ""
                            : ", by " SL_OPTION("max_width and max_height") ", or their default");
}

static bool has_fixed_rows(const sl_column *column)
{
    return !sl_column_varies(column) && !sl_column_varies(sl_column_lead_of(column));
}

sluice_status sl_loader_check_fixed_slots(const sluice_loader *loader, const sl_column_set *set,
                                          sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    const uint64_t rows = (uint64_t)o->prefetch * o->batch_size;
    uint64_t row_bytes = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        row_bytes +=
            has_fixed_rows(&set->columns[i]) ? sl_column_row_bytes(set, &set->columns[i]) : 0;
    }
    const uint64_t needed = times(row_bytes, rows);
    if (needed <= o->memory_bytes) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_NOMEM, "loader",
        "%u slots of %u rows need at least %llu bytes besides images, but " SL_OPTION(
            "memory_bytes") " is %llu",
        o->prefetch, o->batch_size, (unsigned long long)needed,
        (unsigned long long)o->memory_bytes);
}

/* A copy of the dataset that was not requested is dropped if memory is short. */
static sluice_status check_copy(sluice_loader *loader, uint64_t needed, uint64_t available,
                                sluice_error *error)
{
    sl_config *config = &loader->config;
    const sluice_loader_options *o = &config->options;
    const uint64_t bytes = sl_resident_needs(loader->dataset->objects, config->resident_bytes);
    if (bytes <= available - needed) {
        return SLUICE_OK;
    }
    config->resident_bytes = 0;
    /* If memory_bytes leaves no space for it, it would not have been made anyway. */
    if (o->resident_bytes == 0 || needed > o->memory_bytes || bytes > o->memory_bytes - needed) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_NOMEM, "loader",
        "option " SL_OPTION("resident_bytes") ": a copy of the dataset needs %llu bytes of memory, "
                                              "but %llu are available besides slots and buffers",
        (unsigned long long)bytes, (unsigned long long)(available - needed));
}

sluice_status sl_loader_check_memory(sluice_loader *loader, sluice_error *error)
{
    const sl_fetch_config fetch = sl_loader_fetch_config(loader);
    const uint64_t needed = sl_budget_used(&loader->budget) + sl_fetch_needs(&fetch);
    const uint64_t available = sl_memory_available();
    if (needed <= available) {
        return check_copy(loader, needed, available, error);
    }
    return sl_error_set(
        error, SLUICE_NOMEM, "loader",
        "not enough memory: slots, buffers and tables need %llu bytes, but %llu are available",
        (unsigned long long)needed, (unsigned long long)available);
}

uint64_t sl_loader_share_scratch(sluice_loader *loader)
{
    sl_config *config = &loader->config;
    const sluice_loader_options *o = &config->options;
    if (o->memory_bytes == UINT64_MAX) {
        return 0;
    }
    const sl_fetch_config fetch = sl_loader_fetch_config(loader);
    const uint64_t needed = sl_budget_used(&loader->budget) + sl_fetch_needs(&fetch);
    uint64_t left = needed < o->memory_bytes ? o->memory_bytes - needed : 0;
    const uint64_t copy = sl_resident_needs(loader->dataset->objects, config->resident_bytes);
    if (copy <= left / 2) {
        left -= copy;
    } else {
        config->resident_bytes = 0;
    }
    return SL_ROW_BYTES_MIN + left / o->workers;
}
