/* SPDX-License-Identifier: Apache-2.0 */
#include "leveling.h"

#include "error.h"
#include "memory.h"
#include "option_text.h"

#include <string.h>

#define STAGE "loader"

static bool is_leveled(const sl_config *config)
{
    return config->options.level_rows != 0 && config->options.world_size > 1;
}

static uint64_t leveling_rows(const sl_config *config)
{
    return (uint64_t)config->options.batch_size * config->options.world_size;
}

/* Returns the most steps between the cursors, if their batches are whole. */
static uint32_t kept_steps(const sl_config *config)
{
    return config->options.prefetch + config->lookahead / config->options.batch_size + 2;
}

static size_t copied_places(const sl_config *config)
{
    return (size_t)(SL_LEVELING_SLOTS + config->options.prefetch) * config->options.batch_size;
}

sluice_status sl_leveling_check(const sl_config *config, const sl_order_kind *kind,
                                sluice_error *error)
{
    if (config->options.level_rows != 0 && kind->costs == NULL) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "option " SL_OPTION(
                "level_rows") " needs a packed column: only packed documents have a known cost");
    }
    if (is_leveled(config) && leveling_rows(config) > SL_LEVEL_ROWS_MAX) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "option " SL_OPTION("level_rows") " levels at most %llu rows of a step over all ranks, "
                                              "but %u ranks of %u rows have %llu",
            (unsigned long long)SL_LEVEL_ROWS_MAX, config->options.world_size,
            config->options.batch_size, (unsigned long long)leveling_rows(config));
    }
    return SLUICE_OK;
}

uint64_t sl_leveling_bytes(const sl_config *config)
{
    if (!is_leveled(config)) {
        return 0;
    }
    const uint64_t table = (uint64_t)config->options.batch_size * sizeof(uint32_t);
    return sl_level_bytes(leveling_rows(config), config->options.world_size) +
           kept_steps(config) * (sizeof(uint64_t) + table) +
           copied_places(config) * sizeof(uint32_t);
}

sluice_status sl_leveling_open(sl_leveling *leveling, const sl_config *config, sluice_error *error)
{
    const uint32_t batch = config->options.batch_size;
    if (!is_leveled(config)) {
        return SLUICE_OK;
    }
    const uint32_t kept = kept_steps(config);
    leveling->batch = batch;
    leveling->tickets = sl_calloc(kept, sizeof(*leveling->tickets));
    leveling->tables = sl_calloc((size_t)kept * batch, sizeof(*leveling->tables));
    leveling->copies = sl_calloc(copied_places(config), sizeof(*leveling->copies));
    if (leveling->tickets == NULL || leveling->tables == NULL || leveling->copies == NULL) {
        return sl_no_memory(error, STAGE, "for levelling rows");
    }
    leveling->kept = kept;
    return sl_level_open(&leveling->level, leveling_rows(config), config->options.world_size,
                         error);
}

void sl_leveling_close(sl_leveling *leveling)
{
    sl_level_close(&leveling->level);
    sl_free(leveling->tickets);
    sl_free(leveling->tables);
    sl_free(leveling->copies);
    *leveling = (sl_leveling){.kept = 0};
}

void sl_leveling_begin(sl_leveling *leveling)
{
    for (uint32_t i = 0; i < leveling->kept; i++) {
        leveling->tickets[i] = UINT64_MAX;
    }
}

static uint32_t *copy_of(const sl_leveling *leveling, uint32_t whose)
{
    return leveling->copies + (size_t)whose * leveling->batch;
}

void sl_leveling_place(sl_leveling *leveling, uint32_t whose, uint64_t ticket, const sl_plan *plan,
                       uint64_t step, sl_step *at)
{
    if (leveling->kept == 0) {
        return;
    }
    const uint32_t number = (uint32_t)(ticket % leveling->kept);
    uint32_t *table = leveling->tables + (size_t)number * leveling->batch;
    uint32_t *places = copy_of(leveling, whose);
    if (leveling->tickets[number] != ticket) {
        sl_level_step(&leveling->level, plan, step, table);
        leveling->tickets[number] = ticket;
    }
    memcpy(places, table, at->own * sizeof(*places));
    at->places = places;
}

void sl_leveling_keep(const sl_leveling *leveling, uint32_t slot, sl_step *at)
{
    if (leveling->kept == 0) {
        return;
    }
    uint32_t *places = copy_of(leveling, SL_LEVELING_SLOTS + slot);
    memcpy(places, at->places, at->own * sizeof(*places));
    at->places = places;
}
