/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the stages' counts to the structs of sluice/loader.h. */
#include "loader.h"

#include "cache_plan.h"
#include "caching.h"
#include "error.h"
#include "memory.h"
#include "thread.h"

#include <stdio.h>
#include <string.h>

_Static_assert(SL_DEPTH_BINS == SLUICE_HISTOGRAM_BINS, "a stage's depths are copied as they are");
_Static_assert(SL_READY_BINS == SLUICE_HISTOGRAM_BINS, "and so are ready batches");
_Static_assert(SL_WAIT_BINS == SLUICE_WAIT_BINS, "and the consumer's waits");

static void fill_fetch(const sluice_loader *loader, sluice_loader_stats *stats)
{
    sl_fetch_stats fetch;
    sl_fetch_get_stats(loader->fetch, &fetch);
    stats->io_direct = fetch.direct;
    /* Relaxed: a statistic. */
    stats->bytes_wanted =
        fetch.bytes_wanted + atomic_load_explicit(&loader->feed.short_bytes, memory_order_relaxed);
    stats->bytes_read = fetch.bytes_read;
    stats->reads = fetch.reads;
    stats->reads_retried = fetch.retried;
    stats->reads_stalled = fetch.stalled;
    stats->unpacked_bytes = fetch.unpacked.bytes;
    stats->unpack_ns = fetch.unpacked.ns;
    stats->unpack_restarts = fetch.unpacked.restarts;
    snprintf(stats->io_backend, sizeof(stats->io_backend), "%s", fetch.backend);
    snprintf(stats->io_reason, sizeof(stats->io_reason), "%s", fetch.reason);
}

static void fill_staging(const sluice_loader *loader, sluice_loader_stats *stats)
{
    sl_staging_stats staging;
    sl_staging_get_stats(loader->staging, &staging);
    memcpy(stats->ready_depth, staging.ready_depth, sizeof(stats->ready_depth));
    memcpy(stats->host_waits, staging.host_waits, sizeof(stats->host_waits));
    stats->host_wait_ns = staging.host_wait_ns;
    stats->host_wait_max_ns = staging.host_wait_max_ns;
    stats->steps_timed = staging.stream.steps;
    stats->stream_stall_ns = staging.stream.stall_ns;
    stats->stream_busy_ns = staging.stream.busy_ns;
    stats->stream_span_ns = staging.stream.span_ns;
    stats->device_slots = staging.device_slots;
    stats->converts_on_device = staging.converts;
    snprintf(stats->device, sizeof(stats->device), "%s", staging.device);
    snprintf(stats->pinning, sizeof(stats->pinning), "%s", staging.pinning);
    snprintf(stats->pinning_reason, sizeof(stats->pinning_reason), "%s", staging.pinning_reason);
}

static void stats_fill(sluice_loader *loader, sluice_loader_stats *stats)
{
    const sl_feed *feed = &loader->feed;
    stats->near_device = loader->is_near;
    stats->workers = loader->config.options.workers;
    stats->slots = loader->config.options.prefetch;
    /* Relaxed: statistics. */
    stats->samples = atomic_load_explicit(&feed->samples, memory_order_relaxed);
    stats->bad_samples = atomic_load_explicit(&feed->bad, memory_order_relaxed);
    stats->replaced_samples = atomic_load_explicit(&feed->replaced, memory_order_relaxed);
    stats->allocations = sl_memory_allocations();
    stats->memory_bytes = sl_budget_used(&loader->budget) + sl_row_maker_unpacked(&loader->maker);
    fill_staging(loader, stats);
    fill_fetch(loader, stats);
    sl_lock(&loader->mutex);
    stats->batches = loader->batches;
    stats->first_batch_ns = loader->first_batch_ns;
    sl_unlock(&loader->mutex);
}

sluice_status sl_loader_get_stats(sluice_loader *loader, sluice_loader_stats *stats)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    stats_fill(loader, stats);
    sl_loader_leave(loader);
    return SLUICE_OK;
}

/* ---- one stage ---- */

static void fill_read(const sluice_loader *loader, sluice_stage_stats *stats)
{
    sl_fetch_stats fetch;
    sl_fetch_get_stats(loader->fetch, &fetch);
    stats->busy_ns = fetch.busy_ns;
    stats->items = fetch.reads;
    memcpy(stats->depth, fetch.depth, sizeof(stats->depth));
}

static void fill_upload(const sluice_loader *loader, sluice_stage_stats *stats)
{
    sl_staging_stats staging;
    sl_staging_get_stats(loader->staging, &staging);
    stats->busy_ns = staging.upload_busy_ns;
    stats->items = staging.uploads;
    memcpy(stats->depth, staging.upload_depth, sizeof(stats->depth));
}

static void fill_counted(const sl_stage *stage, sluice_stage_stats *stats)
{
    /* Relaxed: statistics. */
    stats->busy_ns = atomic_load_explicit(&stage->busy_ns, memory_order_relaxed);
    stats->items = atomic_load_explicit(&stage->items, memory_order_relaxed);
}

sluice_status sl_loader_get_stage(sluice_loader *loader, sluice_stage stage,
                                  sluice_stage_stats *stats)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    switch (stage) {
    case SLUICE_STAGE_READ:
        fill_read(loader, stats);
        break;
    case SLUICE_STAGE_DECODE:
        fill_counted(&loader->maker.decode, stats);
        sl_workers_depths(loader->workers, stats->depth);
        break;
    case SLUICE_STAGE_AUGMENT:
        fill_counted(&loader->maker.augment, stats);
        break;
    case SLUICE_STAGE_UPLOAD:
        fill_upload(loader, stats);
        break;
    }
    sl_loader_leave(loader);
    return SLUICE_OK;
}

sluice_status sl_loader_get_operation(sluice_loader *loader, uint32_t number,
                                      sluice_operation_stats *stats)
{
    if (number >= SL_OPERATION_NUMBERS) {
        return SLUICE_INVALID;
    }
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    stats->name = sl_operation_name((sl_operation_number)number);
    /* Relaxed: a statistic. */
    stats->busy_ns =
        atomic_load_explicit(&loader->maker.operation_ns[number], memory_order_relaxed);
    sl_loader_leave(loader);
    return SLUICE_OK;
}

sluice_status sl_loader_get_cache(sluice_loader *loader, uint64_t epoch, sluice_loader_cache *cache)
{
    sl_cache_plan *plan = loader->feed.cache_plan;
    sluice_status status = SLUICE_OK;
    sl_caching_stats stats = {0};
    sl_chunk_hits hits = {0};
    sluice_error why;
    sl_error_clear(&why);
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    if (plan != NULL) {
        sl_cache_plan_get_stats(plan, &stats);
    }
    if (plan != NULL && epoch > 0) {
        status = sl_cache_plan_simulate(plan, epoch, &hits, &why);
    }
    if (status == SLUICE_OK) {
        cache->chunks = stats.chunks;
        cache->here_bytes = stats.here_bytes;
        cache->fetched_bytes = stats.fetched_bytes;
        cache->left_bytes = stats.left_bytes;
        cache->removed = stats.removed;
        cache->optimum = hits.optimum;
        cache->lru = hits.lru;
    } else {
        (void)sl_loader_refuse(loader, &why);
    }
    sl_loader_leave(loader);
    return status;
}
