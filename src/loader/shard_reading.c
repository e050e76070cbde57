/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_reading.h"

#include "cpu.h"
#include "error.h"
#include "read_arena.h"

#define STAGE "loader"
/* Readable bytes after each read, and the largest gap to the next sample of a merged read
 * (config.c); and the alignment of a read's ends. */
#define READ_MORE ((uint64_t)64 + SL_MERGE_GAP_ON)
#define ALIGNED   (2 * (uint64_t)4096)

/* ---- checks ---- */

static sluice_status check_shards(const sl_dataset *dataset, const sluice_loader_options *options,
                                  bool windows, sluice_error *error)
{
    const char *what = NULL;
    if (options->last_batch == SLUICE_LAST_REPEAT || options->last_batch == SLUICE_LAST_WRAP) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "option " SL_OPTION(
                "last_batch") ": shuffle \"shards\" cannot go "
                              "back to the epoch's beginning: choose drop, pad or short");
    }
    if (dataset->mix != NULL) {
        what = "a mix has its own order";
    } else if (windows) {
        what = "windows of samples overlap";
    } else if (dataset->whole_objects) {
        what = "each sample is a file";
    } else if (dataset->pieces > 0) {
        what = "samples have several byte ranges";
    }
    return what == NULL
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                              "option " SL_OPTION(
                                  "shuffle") ": shards are read from "
                                             "front to back, but %s: choose full, block or none",
                              what);
}

sluice_status sl_shard_reading_check(const sl_dataset *dataset,
                                     const sluice_loader_options *options, bool windows,
                                     sluice_error *error)
{
    const bool packed = dataset->info.front_to_back != 0;
    if (packed &&
        (options->shuffle == SLUICE_SHUFFLE_FULL || options->shuffle == SLUICE_SHUFFLE_BLOCK)) {
        return sl_dataset_check_order(
            dataset,
            "its samples cannot be loaded in arbitrary order: shuffle whole files and a window "
            "(" SL_OPTION("shuffle") " \"shards\"), or none",
            error);
    }
    if (packed && (windows || dataset->mix != NULL)) {
        return sl_dataset_check_order(dataset,
                                      windows ? "windows of samples cannot be loaded from it"
                                              : "it cannot be part of a mix",
                                      error);
    }
    return options->shuffle == SLUICE_SHUFFLE_SHARDS
               ? check_shards(dataset, options, windows, error)
               : SLUICE_OK;
}

/* ---- finding shards ---- */

typedef struct finder {
    const sl_dataset *dataset;
    const sl_config *config;
    bool by_shards;
    sl_place last; /* of the sample before */
} finder;

/* Finds the place of a sample; for one that must be looked up only the object. */
static sluice_status shard_reading_place_of(const finder *f, uint64_t index, sl_place *place,
                                            sluice_error *error)
{
    sl_sample sample;
    sl_place lookup;
    sl_refusal why;
    sluice_status status = sl_dataset_locate(f->dataset, index, &sample, &lookup, &why);
    if (status == SLUICE_AGAIN && f->by_shards && f->dataset->info.front_to_back == 0) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "option " SL_OPTION("shuffle") ": shards need a dataset whose index has the byte "
                                           "ranges of its samples: choose full, block or none");
    }
    if (status != SLUICE_OK && f->by_shards) {
        status = sl_dataset_find(f->dataset, index, &sample, error);
        *place = sample.place;
        return status;
    }
    *place = status == SLUICE_OK ? sample.place : lookup;
    return SLUICE_OK;
}

static bool shard_reading_is_packed(const finder *f, uint32_t object)
{
    return f->dataset->info.front_to_back != 0 &&
           sl_objects_packed(f->dataset->objects, object).packing != SL_PACKING_NONE;
}

/* Returns the units that a read of the sample alone takes; too large ones are not read. */
static uint32_t shard_reading_units_of(const finder *f, const sl_place *place)
{
    const uint64_t most = f->config->options.max_sample_bytes;
    const uint64_t bytes = place->bytes < most ? place->bytes : most;
    const uint64_t more = READ_MORE + (shard_reading_is_packed(f, place->object) ? 0 : ALIGNED);
    return f->by_shards ? (uint32_t)((bytes + more + SL_ARENA_UNIT - 1) / SL_ARENA_UNIT) : 1;
}

/* Returns whether it is in another file than the one before, or not after it. */
static bool shard_reading_begins(const finder *f, const sl_place *place)
{
    return place->object != f->last.object || (shard_reading_is_packed(f, place->object) &&
                                               place->offset < f->last.offset + f->last.bytes);
}

static sluice_status shard_reading_find_all(sl_shard_set *set, finder *f, sluice_error *error)
{
    for (uint64_t i = 0; i < f->dataset->info.samples; i++) {
        sl_place place = {0};
        const sluice_status status = shard_reading_place_of(f, i, &place, error);
        if (status != SLUICE_OK) {
            return status;
        }
        if (!sl_shard_set_add(set, shard_reading_units_of(f, &place),
                              i == 0 || shard_reading_begins(f, &place))) {
            return sl_no_memory(error, STAGE, "for the table of shards");
        }
        f->last = place;
    }
    return SLUICE_OK;
}

/* ---- memory ---- */

static sluice_status shard_reading_make_space(const sl_shard_set *set, sl_config *config,
                                              const sluice_loader_options *wanted,
                                              sluice_error *error)
{
    sluice_loader_options *o = &config->options;
    /* Each lane's last read may reach into the next window. */
    const uint64_t beyond = (SL_SHARD_LANES + 1) * (config->merge_bytes + SL_ARENA_UNIT);
    const uint64_t least = sl_shard_set_window_units(set);
    const uint64_t needed = least * SL_ARENA_UNIT + beyond;
    /* If the dataset is smaller than a window, the next epoch's may be read meanwhile. */
    const uint64_t twice =
        2 * set->units < set->limits.window_units ? 2 * set->units : set->limits.window_units;
    const uint64_t usual = (twice > least ? twice : least) * SL_ARENA_UNIT + beyond;
    const uint64_t given = wanted->read_buffer_bytes;
    if (given != 0 && given < needed) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "option " SL_OPTION(
                "read_buffer_bytes") ": the shuffle window needs %llu bytes of it, but it is %llu: "
                                     "raise it, or choose a smaller " SL_OPTION("window_bytes"),
            (unsigned long long)needed, (unsigned long long)given);
    }
    if (needed > o->memory_bytes) {
        return sl_error_set(
            error, SLUICE_NOMEM, STAGE,
            "the shuffle window needs %llu bytes, but " SL_OPTION(
                "memory_bytes") " is %llu: choose a smaller " SL_OPTION("window_bytes"),
            (unsigned long long)needed, (unsigned long long)o->memory_bytes);
    }
    o->read_buffer_bytes = given;
    if (given == 0) {
        o->read_buffer_bytes = usual < o->memory_bytes / 4 ? usual : needed;
    }
    /* a window must be read before the first batch */
    config->first_bytes = (size_t)o->read_buffer_bytes;
    config->spread = sl_shard_set_window(set);
    config->lookahead =
        2 * config->spread > config->lookahead ? 2 * config->spread : config->lookahead;
    return SLUICE_OK;
}

sluice_status sl_shard_reading_open(sl_shard_set *set, sl_config *config, const sl_dataset *dataset,
                                    const sluice_loader_options *wanted, sluice_error *error)
{
    const sluice_loader_options *o = &config->options;
    finder f = {
        .dataset = dataset, .config = config, .by_shards = o->shuffle == SLUICE_SHUFFLE_SHARDS};
    const sl_shard_limits in_order = {UINT32_MAX, 1, UINT32_MAX};
    const sl_shard_limits shuffled = {o->block_samples, o->window_blocks,
                                      (uint32_t)(o->window_bytes / SL_ARENA_UNIT)};
    if (dataset->info.front_to_back == 0 && !f.by_shards) {
        return SLUICE_OK;
    }
    sl_shard_set_open(set, f.by_shards ? &shuffled : &in_order);
    const sluice_status status = shard_reading_find_all(set, &f, error);
    return status == SLUICE_OK && f.by_shards ? shard_reading_make_space(set, config, wanted, error)
                                              : status;
}
