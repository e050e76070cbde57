/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: defaults and ranges of the options of a loader. Called once, by the opening thread.
 */
#include "config.h"

#include "cpu.h"
#include "error.h"
#include "minmax.h"
#include "options.h"
#include "read_arena.h"
#include "shard_order.h"

#include <string.h>

#define MIB       ((uint64_t)1 << 20)
#define SECOND_NS UINT64_C(1000000000)

/* Reads of a shuffled epoch rarely have neighbours: a merged read of this size costs no latency.
 * Block shuffle exists for long reads. */
#define MERGE_BYTES       MIB
#define MERGE_BYTES_BLOCK (4 * MIB)
/* From front to back: a merged read stays until all of it is used, but a window counts samples one
 * by one. */
#define MERGE_BYTES_ON ((uint64_t)256 << 10)
/* Reading a gap beats another request, but a merged read fills the buffer until its last sample is
 * used. That is long in a full shuffle, so only adjacent samples are merged. */
#define MERGE_GAP_BYTES            ((uint64_t)64 << 10)
#define MERGE_GAP_BYTES_FULL       ((uint64_t)4 << 10)
#define PREFETCH                   4
#define PREFETCH_MOST              16
#define SMALL_BATCHES              MIB /* there are more batches then */
#define LOOKAHEAD_FOLDER_PER_DEPTH 4
#define LOOKAHEAD_MAX              65536
/* Reads of small remote samples in flight: the server limits them further (src/remote/hosts.h), and
 * the read buffer those of large ones. The buffer has space for what 10 Gbit/s deliver in 50 ms, or
 * for some samples: all of it is cleared before its first use. */
#define REMOTE_DEPTH        256U
#define REMOTE_BUFFER_BYTES (64 * MIB)
#define REMOTE_SAMPLES      24U
/* Initial space for a sample of unknown size. */
#define GUESSED_BYTES ((uint64_t)128 << 10)
/* Average samples that the read buffer holds if they are large, since reading waits for rows if
 * there is space for only one; and the largest sample. */
#define LARGE_SAMPLES 4
/* Smaller images cost more to read than to make rows of. */
#define RESIDENT_MEAN_BYTES   ((uint64_t)32 << 10)
#define RESIDENT_MOST         (1024 * MIB)
#define RESIDENT_MEMORY_SHARE 16
/* The kernels' widest store. */
#define OUTPUT_ALIGN      16
#define OUTPUT_ALIGN_TEXT "16"

static void fill_u32(uint32_t *field, uint32_t value)
{
    if (*field == 0) {
        *field = value;
    }
}

static void fill_u64(uint64_t *field, uint64_t value)
{
    if (*field == 0) {
        *field = value;
    }
}

static uint64_t config_clamp(uint64_t value, uint64_t low, uint64_t high)
{
    if (value < low) {
        return low;
    }
    return value > high ? high : value;
}

/* Returns the stored bytes of an average sample; 0: not known (an image folder). */
static uint64_t mean_bytes(const sl_dataset *dataset)
{
    return dataset->info.bytes / dataset->info.samples;
}

/* Returns the space for all slots: rows of several samples hold their members until the last one is
 * read. */
static uint64_t members_read_buffer(const sluice_loader_options *o, const sl_dataset *dataset,
                                    uint32_t members)
{
    const uint64_t share = config_clamp(o->memory_bytes / 4, 32 * MIB, 1024 * MIB);
    const uint64_t samples = (uint64_t)o->prefetch * o->batch_size * members;
    const uint64_t mean = mean_bytes(dataset);
    const uint64_t wanted = mean < share ? config_clamp(samples * mean, 0, share) : share;
    return config_clamp((wanted + MIB - 1) / MIB * MIB, o->read_buffer_bytes, share);
}

/* An answer takes time, during which others arrive. */
static uint64_t remote_read_buffer(const sluice_loader_options *o, const sl_dataset *dataset)
{
    const uint64_t mean = mean_bytes(dataset);
    const uint64_t share = config_clamp(o->memory_bytes / 4, 32 * MIB, 1024 * MIB);
    const uint64_t each = mean > GUESSED_BYTES ? mean : GUESSED_BYTES;
    const uint64_t most = sl_max_u64(REMOTE_SAMPLES * each, REMOTE_BUFFER_BYTES);
    const uint64_t wanted = sl_min_u64(2 * (uint64_t)o->io_depth * each, most);
    return config_clamp(wanted / MIB * MIB, 32 * MIB, share);
}

static uint64_t local_read_buffer(const sluice_loader_options *o, const sl_dataset *dataset)
{
    if (o->shuffle != SLUICE_SHUFFLE_BLOCK) {
        const uint64_t share = config_clamp(o->memory_bytes / 4, 32 * MIB, 1024 * MIB);
        const uint64_t wanted = (LARGE_SAMPLES * mean_bytes(dataset) + MIB - 1) / MIB * MIB;
        return config_clamp(wanted, 32 * MIB, share);
    }
    const uint64_t window = (uint64_t)o->block_samples * o->window_blocks;
    const uint64_t samples = window < dataset->info.samples ? window : dataset->info.samples;
    return config_clamp(samples * mean_bytes(dataset) / 2 * 3, 32 * MIB, 1024 * MIB);
}

static uint64_t default_read_buffer(const sluice_loader_options *o, const sl_dataset *dataset,
                                    bool remote)
{
    const uint64_t local = local_read_buffer(o, dataset);
    const uint64_t waiting = remote ? remote_read_buffer(o, dataset) : 0;
    return local > waiting ? local : waiting;
}

static void fill_defaults(sluice_loader_options *o, const sl_dataset *dataset, bool remote)
{
    fill_u32(&o->batch_size, 256);
    if (o->workers == 0) {
        o->workers = (uint32_t)config_clamp(sl_cpu_count(), 1, 1024);
    }
    fill_u32(&o->prefetch, PREFETCH);
    fill_u32(&o->device_slots, 3);
    fill_u32(&o->world_size, 1);
    const bool by_shards = o->shuffle == SLUICE_SHUFFLE_SHARDS;
    fill_u32(&o->block_samples, by_shards ? 16 : 64);
    fill_u32(&o->window_blocks, by_shards ? 1024 : 16);
    fill_u64(&o->window_bytes, 256 * MIB);
    fill_u32(&o->io_depth, remote ? REMOTE_DEPTH : 32);
    fill_u32(&o->io_threads, 8);
    fill_u64(&o->memory_bytes, UINT64_MAX);
    fill_u64(&o->read_buffer_bytes, default_read_buffer(o, dataset, remote));
    fill_u64(&o->max_sample_bytes,
             config_clamp(LARGE_SAMPLES * mean_bytes(dataset), 64 * MIB, 1024 * MIB));
    fill_u64(&o->max_pixels, 100000000);
    fill_u64(&o->stall_warn_ns, 30 * SECOND_NS);
    fill_u64(&o->stall_fail_ns, 120 * SECOND_NS);
    fill_u64(&o->end_epoch, UINT64_MAX);
    if (o->device == NULL) {
        o->device = "host";
    }
    if (o->ignore_index == 0) {
        o->ignore_index = -1;
    }
}

static sluice_status check_rank(const sluice_loader_options *o, sluice_error *error)
{
    return o->rank < o->world_size
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, "loader",
                              "option " SL_OPTION("rank") " is out of range: %u, expected 0 to %u",
                              o->rank, o->world_size - 1);
}

/* Samples in flight are numbered, and may belong to two windows. */
static sluice_status check_window(const sluice_loader_options *o, sluice_error *error)
{
    const uint64_t samples = (uint64_t)o->block_samples * o->window_blocks;
    if (o->shuffle != SLUICE_SHUFFLE_SHARDS || samples <= LOOKAHEAD_MAX / 2) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_INVALID, "loader",
        "options " SL_OPTION("block_samples") " and " SL_OPTION(
            "window_blocks") " make a window of %llu samples; shuffle \"shards\" allows at most %d",
        (unsigned long long)samples, LOOKAHEAD_MAX / 2);
}

/* Returns the reason an address cannot be an output; NULL: it can. */
static const char *output_fault(const sluice_loader_options *o, uint32_t i)
{
    if (o->outputs[i] == NULL) {
        return "is NULL";
    }
    if ((uintptr_t)o->outputs[i] % OUTPUT_ALIGN != 0) {
        return "is not a multiple of " OUTPUT_ALIGN_TEXT;
    }
    for (uint32_t k = 0; k < i; k++) {
        if (o->outputs[k] == o->outputs[i]) {
            return "is a duplicate";
        }
    }
    return NULL;
}

static sluice_status config_check_outputs(const sluice_loader_options *o, sluice_error *error)
{
    if ((o->outputs == NULL) != (o->output_count == 0)) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "options " SL_OPTION("outputs") " and " SL_OPTION("output_count") " go together");
    }
    if (o->outputs != NULL && (o->output_count < 2 || o->output_count > 64)) {
        return sl_error_set(error, SLUICE_INVALID, "loader",
                            "option " SL_OPTION("output_count") " is out of range 2..64");
    }
    for (uint32_t i = 0; i < o->output_count; i++) {
        const char *fault = output_fault(o, i);
        if (fault != NULL) {
            return sl_error_set(error, SLUICE_INVALID, "loader",
                                "option " SL_OPTION("outputs") ": address %u %s", i, fault);
        }
    }
    return SLUICE_OK;
}

static sl_cache_mode choose_cache(const sluice_loader_options *o)
{
    switch (o->page_cache) {
    case SLUICE_CACHE_BUFFERED:
        return SL_CACHE_BUFFERED;
    case SLUICE_CACHE_DIRECT:
        return SL_CACHE_DIRECT;
    case SLUICE_CACHE_DROP:
        return SL_CACHE_DROP;
    default:
        return SL_CACHE_AUTO;
    }
}

/* For a remote dataset, whose reads may be paid for, at most two epochs: further ones would often
 * be read for nothing. */
static uint32_t lookahead_most(const sl_dataset *dataset)
{
    const uint64_t samples = dataset->info.samples;
    return sl_dataset_is_remote(dataset) && samples > 0 && samples < LOOKAHEAD_MAX / 2
               ? (uint32_t)(2 * samples)
               : LOOKAHEAD_MAX;
}

static uint32_t choose_lookahead(const sluice_loader_options *o, const sl_dataset *dataset)
{
    const uint64_t most = lookahead_most(dataset);
    const uint64_t least =
        config_clamp((uint64_t)o->io_depth * LOOKAHEAD_FOLDER_PER_DEPTH, 1, most);
    const uint64_t mean = mean_bytes(dataset);
    if (mean == 0) {
        return (uint32_t)least;
    }
    /* A sample that is read alone takes whole units of the buffer. */
    const uint64_t capacity =
        o->shuffle == SLUICE_SHUFFLE_FULL && mean < SL_ARENA_UNIT ? SL_ARENA_UNIT : mean;
    /* Reads of half the buffer can be merged without displacing samples needed next; a window of
     * block shuffle is meant to be in memory whole. */
    const uint64_t share = o->shuffle == SLUICE_SHUFFLE_BLOCK ? 1 : 2;
    return (uint32_t)config_clamp(o->read_buffer_bytes / (share * capacity), least, most);
}

/* Returns the bytes of a first batch's reads in flight, in whole huge pages: if memory is slow to
 * become present, each of them delays that batch. */
static size_t choose_first_bytes(const sluice_loader_options *o, const sl_dataset *dataset)
{
    const uint64_t mean = mean_bytes(dataset);
    const uint64_t each = mean > SL_ARENA_UNIT ? mean : SL_ARENA_UNIT;
    const uint64_t reads = o->io_depth < o->batch_size ? o->io_depth : o->batch_size;
    const uint64_t bytes = (mean > 0 ? each : GUESSED_BYTES) * reads;
    const uint64_t pages = (bytes + SL_SLAB_ALIGN - 1) / SL_SLAB_ALIGN * SL_SLAB_ALIGN;
    return (size_t)config_clamp(pages, SL_SLAB_ALIGN, o->read_buffer_bytes);
}

/* Returns the rows of a task for a worker; feed.h. */
static uint32_t choose_task_rows(const sl_dataset *dataset)
{
    const uint64_t mean = mean_bytes(dataset);
    return mean == 0 ? 1 : (uint32_t)config_clamp(SL_TASK_BYTES / mean, 1, SL_TASK_ROWS);
}

/* From front to back. */
static bool reads_on(const sluice_loader_options *o, const sl_dataset *dataset)
{
    return o->shuffle == SLUICE_SHUFFLE_SHARDS || dataset->info.front_to_back != 0;
}

/* Each file is unpacked by one thread, which mostly waits for the network if the data are
 * remote. */
static void choose_unpackers(sl_config *config, bool remote)
{
    const sluice_loader_options *o = &config->options;
    const uint64_t most = remote ? SL_SHARD_LANES : config_clamp(sl_cpu_count(), 2, SL_SHARD_LANES);
    config->unpack_threads = (uint32_t)config_clamp(o->io_threads, 1, most);
    /* Those of an epoch and of the next; or one per thread, and the first of the next. */
    config->unpack_passes =
        o->shuffle == SLUICE_SHUFFLE_SHARDS ? 2 * SL_SHARD_LANES : config->unpack_threads + 1;
}

static uint64_t choose_resident(const sluice_loader_options *o, const sl_dataset *dataset,
                                bool remote)
{
    const uint64_t mean = mean_bytes(dataset);
    /* The copy is read besides the samples: the payer of a bucket decides about that. */
    if (remote && o->resident_bytes == 0) {
        return 0;
    }
    /* A hanging read of the copy must not be the only possible one. */
    if (o->page_cache != SLUICE_CACHE_AUTO || mean == 0 || o->io_depth < 2 ||
        dataset->pieces > 0 /* pieces are not one byte range */ || reads_on(o, dataset)) {
        return 0;
    }
    if (o->resident_bytes != 0) {
        return o->resident_bytes;
    }
    return config_clamp(sl_memory_available() / RESIDENT_MEMORY_SHARE, 0, RESIDENT_MOST);
}

/* Sets the number of batches to the caller's memory blocks. */
static void take_output_count(sluice_loader_options *o)
{
    if (o->outputs == NULL) {
        return;
    }
    o->device_slots = o->output_count;
    if (strcmp(o->device, "host") == 0) {
        o->prefetch = o->output_count;
    }
}

sluice_status sl_config_make(sl_config *config, const sluice_loader_options *wanted,
                             const sl_dataset *dataset, sluice_error *error)
{
    sluice_loader_options *o = &config->options;
    *o = *wanted;
    const bool remote = sl_dataset_is_remote(dataset);
    fill_defaults(o, dataset, remote);
    sluice_status status = sl_options_check(SLUICE_OPTIONS_LOADER, o, "loader", error);
    if (status == SLUICE_OK) {
        status = check_rank(o, error);
    }
    if (status == SLUICE_OK) {
        status = check_window(o, error);
    }
    if (status == SLUICE_OK) {
        status = config_check_outputs(o, error);
    }
    if (status == SLUICE_OK) {
        take_output_count(o);
    }
    config->cache = choose_cache(o);
    config->fills = dataset->info.bytes <= sl_memory_available() / 2;
    config->lookahead = choose_lookahead(o, dataset);
    config->chooses_read_buffer = wanted->read_buffer_bytes == 0;
    config->chooses_prefetch = wanted->prefetch == 0 && wanted->outputs == NULL;
    config->inserts = o->prefetch * o->batch_size; /* one for each row */
    config->first_bytes = choose_first_bytes(o, dataset);
    config->task_rows = choose_task_rows(dataset);
    config->resident_bytes = choose_resident(o, dataset, remote);
    config->merge_gap_bytes =
        o->shuffle == SLUICE_SHUFFLE_FULL ? MERGE_GAP_BYTES_FULL : MERGE_GAP_BYTES;
    config->merge_bytes = o->shuffle == SLUICE_SHUFFLE_BLOCK ? MERGE_BYTES_BLOCK : MERGE_BYTES;
    config->spread = 0;
    if (reads_on(o, dataset)) {
        config->merge_gap_bytes = SL_MERGE_GAP_ON;
        config->merge_bytes = MERGE_BYTES_ON;
    }
    choose_unpackers(config, remote);
    return status;
}

void sl_config_use_columns(sl_config *config, const sl_dataset *dataset,
                           const sl_config_columns *columns)
{
    sluice_loader_options *o = &config->options;
    if (columns->pictures && mean_bytes(dataset) >= RESIDENT_MEAN_BYTES) {
        config->resident_bytes = 0;
    }
    config->inserts = o->prefetch * o->batch_size * columns->members;
    if (config->chooses_prefetch) {
        const uint64_t batch_bytes =
            config_clamp(columns->row_bytes, 1, SMALL_BATCHES) * o->batch_size;
        o->prefetch = (uint32_t)config_clamp(SMALL_BATCHES / batch_bytes, PREFETCH, PREFETCH_MOST);
        config->inserts = o->prefetch * o->batch_size * columns->members;
    }
    if (config->chooses_read_buffer && columns->members > 1) {
        o->read_buffer_bytes = members_read_buffer(o, dataset, columns->members);
        config->lookahead = choose_lookahead(o, dataset);
        config->first_bytes = choose_first_bytes(o, dataset);
    }
}

sluice_status sl_config_check_epoch(const sl_config *config, uint64_t samples, sluice_error *error)
{
    const sluice_loader_options *o = &config->options;
    const uint64_t global = (uint64_t)o->batch_size * o->world_size;
    if (o->last_batch != SLUICE_LAST_DROP || samples >= global) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_INVALID, "loader",
        "an epoch has %llu samples, fewer than one global batch of %llu, so it would be empty: "
        "make the batch smaller, or choose a " SL_OPTION("last_batch") " other than DROP",
        (unsigned long long)samples, (unsigned long long)global);
}
