/* SPDX-License-Identifier: Apache-2.0 */
/* loader: its life cycle, except for the steps of opening (opening.c) and the consumer's side
 * (consume.c). */
#include "opening.h"

#include "clock.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "thread.h"

/* How long close waits for reads in flight. */
#define CLOSE_PATIENCE_NS UINT64_C(500000000)

bool sl_loader_is_ours(const sluice_loader *loader)
{
    return loader->forks == sl_fork_count();
}

sl_fetch_config sl_loader_fetch_config(sluice_loader *loader)
{
    const sluice_loader_options *o = &loader->config.options;
    return (sl_fetch_config){
        .backend = (sluice_io_backend)o->io_backend,
        .objects = loader->dataset->objects,
        .whole_objects = loader->dataset->whole_objects,
        .pieces = loader->dataset->pieces,
        .packed = loader->dataset->info.front_to_back != 0,
        .unpack_threads = loader->config.unpack_threads,
        .unpack_passes = loader->config.unpack_passes,
        .spread = loader->config.spread,
        .cache = loader->config.cache,
        .fills = loader->config.fills,
        .depth = o->io_depth,
        .threads = o->io_threads,
        .lookahead = loader->config.lookahead,
        .inserts = loader->config.inserts,
        .arena_bytes = o->read_buffer_bytes,
        .arena_first_bytes = loader->config.first_bytes,
        .max_sample_bytes = o->max_sample_bytes,
        .resident_bytes = loader->config.resident_bytes,
        .stall_warn_ns = o->stall_warn_ns,
        .stall_fail_ns = o->stall_fail_ns,
        .merge_gap_bytes = loader->config.merge_gap_bytes,
        .merge_bytes = loader->config.merge_bytes,
        .budget = &loader->budget,
        .near = sl_loader_near(loader),
        .waits = sl_cache_plan_waits(loader->feed.cache_plan),
    };
}

static void memory_present(void *ctx)
{
    sl_fetch_present(((sluice_loader *)ctx)->fetch);
}

void sl_loader_populate_rest(sluice_loader *loader)
{
    size_t slot_bytes;
    const sl_slab *slots = sl_staging_memory(loader->staging, &slot_bytes);
    const sl_slab *buffers = sl_fetch_memory(loader->fetch);
    const size_t first = loader->config.first_bytes;
    const sl_populate_config config = {
        .ranges = {{slots->base + slot_bytes, slots->bytes - slot_bytes},
                   {buffers->base + first, buffers->bytes - first}},
        .count = 2,
        .threads = 1,
        .near = sl_loader_near(loader),
        .done = memory_present,
        .ctx = loader};
    sl_populate_open(&loader->populate_rest, &config);
}

static void release_dataset(void *dataset)
{
    sl_dataset_close(dataset);
}

/* Frees the existing parts of the loader; no call is inside. Reads that the storage does not answer
 * are left to the fetch thread, with the dataset. */
static void destroy(sluice_loader *loader)
{
    sl_populate_close(&loader->populate);
    sl_populate_close(&loader->populate_rest);
    if (loader->run) {
        loader->feed.lost = loader->watch.found;
        sl_feed_stop(&loader->feed);
    }
    sl_cache_plan_close(loader->feed.cache_plan);
    sl_fetch_leave(loader->fetch, CLOSE_PATIENCE_NS,
                   &(sl_fetch_heir){release_dataset, sl_dataset_ref(loader->dataset)});
    sl_workers_close(loader->workers);
    sl_staging_close(loader->staging);
    sl_device_close(loader->device);
    if (loader->feed_open) {
        sl_feed_close(&loader->feed);
    }
    sl_row_maker_close(&loader->maker);
    sl_loader_close_order(&loader->order);
    sl_classes_close(&loader->classes);
    sl_columns_close(&loader->columns);
    sl_notices_close(loader->notices);
    sl_quarantine_close(&loader->quarantine);
    sl_shard_set_close(&loader->shards);
    sl_bucketing_close(&loader->buckets);
    sl_dataset_close(loader->dataset);
    sl_cond_destroy(&loader->no_calls);
    sl_mutex_destroy(&loader->mutex);
    sl_free(loader);
}

/* Returns a loader without its stages; NULL: no memory. */
static sluice_loader *loader_begin(sl_dataset *dataset)
{
    sluice_loader *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->open_ns = sl_now_ns();
    made->forks = sl_fork_count();
    made->watch.period_ns = SL_WATCHDOG_PERIOD_NS;
    made->dataset = sl_dataset_ref(dataset);
    made->notices = sl_notices_open();
    made->quarantine.fd = -1;
    sl_error_clear(&made->error);
    sl_error_clear(&made->refusal);
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->no_calls);
    return made;
}

sluice_status sl_loader_open(sluice_loader **loader, sl_dataset *dataset,
                             const sluice_augment *recipe, const sluice_loader_options *options,
                             const sl_fault_config *fault, sluice_error *error)
{
    *loader = NULL;
    sluice_loader *made = loader_begin(dataset);
    if (made == NULL) {
        return sl_no_memory(error, "loader", "for the loader");
    }
    sl_loader_opening opening = {
        .loader = made, .recipe = recipe, .asked = options, .fault = fault};
    const sluice_status status = made->notices != NULL
                                     ? sl_loader_opening_run(&opening, error)
                                     : sl_no_memory(error, "loader", "for the loader");
    if (status != SLUICE_OK) {
        destroy(made);
        return status;
    }
    *loader = made;
    return SLUICE_OK;
}

void sl_loader_close(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    /* Relaxed: under the mutex. An exchange in sl_loader_enter sees it or comes before it. */
    (void)atomic_fetch_or_explicit(&loader->calls, SL_LOADER_CLOSING, memory_order_relaxed);
    sl_staging_cancel(loader->staging, true);
    /* Acquires the writes of calls that have left (sl_loader_leave). */
    while (atomic_load_explicit(&loader->calls, memory_order_acquire) != SL_LOADER_CLOSING) {
        sl_cond_wait(&loader->no_calls, &loader->mutex);
    }
    sl_unlock(&loader->mutex);
    destroy(loader);
}
