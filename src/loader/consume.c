/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's side of the loader: epochs, next, cursor, statistics. */
#include "loader.h"

#include "clock.h"
#include "cursor.h"
#include "error.h"
#include "memory.h"
#include "thread.h"

#include <stdio.h>

/* ---- calls in progress, so that close can wait for them ---- */

static bool call_begin(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    const bool open = !loader->closing;
    loader->calls += open;
    sl_unlock(&loader->mutex);
    return open;
}

static void call_end(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    if (--loader->calls == 0) {
        sl_cond_broadcast(&loader->no_calls);
    }
    sl_unlock(&loader->mutex);
}

/* ---- epochs ---- */

static sluice_status first_error(sluice_loader *loader, sluice_error *error)
{
    sl_lock(&loader->mutex);
    const sluice_status status = (sluice_status)loader->error.status;
    if (error != NULL && status != SLUICE_OK) {
        *error = loader->error;
    }
    sl_unlock(&loader->mutex);
    return status;
}

/* Makes `epoch`, entered at `start`, the current one. */
static void set_current_locked(sluice_loader *loader, uint64_t epoch, uint64_t start)
{
    loader->plan = sl_feed_plan(&loader->feed, epoch, start);
    loader->steps = sl_plan_steps(&loader->plan);
    loader->epoch = epoch;
    loader->taken = 0;
    loader->started = true;
    loader->restoring = loader->restoring && loader->restore_epoch != epoch;
}

/* The reader has gone on into this epoch by itself: only let the consumer follow. */
static bool continue_run(sluice_loader *loader, uint64_t epoch)
{
    sl_lock(&loader->mutex);
    const bool follows = loader->run && !loader->canceled && !loader->restoring &&
                         loader->taken == loader->steps && epoch == loader->epoch + 1 &&
                         epoch < loader->config.options.end_epoch;
    if (follows) {
        set_current_locked(loader, epoch, 0);
        loader->end_ticket += loader->steps;
    }
    sl_unlock(&loader->mutex);
    if (follows) {
        sl_staging_set_end(loader->staging, loader->end_ticket);
    }
    return follows;
}

/* From here on a cancel counts for the epoch that begins. */
static void forget_cancel(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    loader->canceled = false;
    sl_staging_cancel(loader->staging, loader->closing);
    sl_unlock(&loader->mutex);
}

static void begin_run(sluice_loader *loader, uint64_t epoch)
{
    forget_cancel(loader);
    if (loader->run) {
        sl_feed_stop(&loader->feed);
    }
    sl_lock(&loader->mutex);
    const bool restored = loader->restoring && loader->restore_epoch == epoch;
    const uint64_t start = restored ? loader->restore_position : 0;
    if (epoch >= loader->config.options.end_epoch) {
        loader->config.options.end_epoch = epoch + 1;
    }
    set_current_locked(loader, epoch, start);
    loader->end_ticket = sl_staging_begun(loader->staging) + loader->steps;
    if (loader->start_ns == 0) {
        loader->start_ns = sl_now_ns();
    }
    sl_unlock(&loader->mutex);
    sl_staging_set_end(loader->staging, loader->end_ticket);
    loader->run = true;
    sl_feed_start(&loader->feed, epoch, start);
}

sluice_status sl_loader_start_epoch(sluice_loader *loader, uint64_t epoch)
{
    if (!call_begin(loader)) {
        return SLUICE_CANCELED;
    }
    const sluice_status status = first_error(loader, NULL);
    if (status == SLUICE_OK && !continue_run(loader, epoch)) {
        begin_run(loader, epoch);
    }
    call_end(loader);
    return status;
}

/* ---- batches ---- */

static void note_batch(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    loader->taken++;
    loader->batches++;
    if (loader->first_batch_ns == 0) {
        loader->first_batch_ns = sl_now_ns() - loader->start_ns;
    }
    sl_unlock(&loader->mutex);
}

static void note_error(sluice_loader *loader, const sluice_error *error)
{
    sl_lock(&loader->mutex);
    if (loader->error.status == SLUICE_OK) {
        loader->error = *error;
    }
    sl_unlock(&loader->mutex);
}

static sluice_status take(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns)
{
    sl_lock(&loader->mutex);
    const bool started = loader->started;
    sl_unlock(&loader->mutex);
    if (!started) {
        return SLUICE_STATE;
    }
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = sl_staging_next(loader->staging, timeout_ns, batch, &error);
    if (status == SLUICE_OK) {
        note_batch(loader);
    } else if (status < 0 && status != SLUICE_CANCELED) {
        note_error(loader, &error);
    }
    return status;
}

sluice_status sl_loader_next(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns)
{
    if (!call_begin(loader)) {
        return SLUICE_CANCELED;
    }
    const sluice_status status = take(loader, batch, timeout_ns);
    call_end(loader);
    return status;
}

void sl_loader_cancel(sluice_loader *loader)
{
    if (!call_begin(loader)) {
        return; /* close cancels by itself */
    }
    sl_lock(&loader->mutex);
    loader->canceled = true;
    sl_staging_cancel(loader->staging, true);
    sl_unlock(&loader->mutex);
    call_end(loader);
}

/* ---- cursor ---- */

/* A finished epoch is consumed whole, with the samples that its last batch dropped. */
static uint64_t consumed_locked(const sluice_loader *loader)
{
    return loader->taken == loader->steps ? loader->dataset->info.samples
                                          : sl_plan_position(&loader->plan, loader->taken);
}

static sluice_status save(sluice_loader *loader, void *cursor, size_t *bytes)
{
    const sluice_loader_options *o = &loader->config.options;
    sl_lock(&loader->mutex);
    const bool started = loader->started;
    const sl_cursor at = {
        .fingerprint = loader->dataset->info.fingerprint,
        .samples = loader->dataset->info.samples,
        .seed = o->seed,
        .epoch = loader->epoch,
        .position = started ? consumed_locked(loader) : 0,
        .shuffle = (uint32_t)o->shuffle,
        .block = o->block_samples,
        .window = o->window_blocks,
    };
    sl_unlock(&loader->mutex);
    return started ? sl_cursor_write(&at, cursor, bytes) : SLUICE_STATE;
}

sluice_status sl_loader_save(sluice_loader *loader, void *cursor, size_t *bytes)
{
    if (!call_begin(loader)) {
        return SLUICE_CANCELED;
    }
    const sluice_status status = save(loader, cursor, bytes);
    call_end(loader);
    return status;
}

/* Whether the cursor speaks of the same order of samples. */
static bool cursor_fits(const sluice_loader *loader, const sl_cursor *cursor)
{
    const sluice_loader_options *o = &loader->config.options;
    const bool same_blocks =
        cursor->block == o->block_samples && cursor->window == o->window_blocks;
    return cursor->fingerprint == loader->dataset->info.fingerprint &&
           cursor->samples == loader->dataset->info.samples && cursor->seed == o->seed &&
           cursor->position <= cursor->samples && cursor->shuffle == (uint32_t)o->shuffle &&
           (o->shuffle != SLUICE_SHUFFLE_BLOCK || same_blocks);
}

static sluice_status restore(sluice_loader *loader, const void *cursor, size_t bytes,
                             uint64_t *epoch)
{
    sl_cursor at;
    const sluice_status status = sl_cursor_read(&at, cursor, bytes);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!cursor_fits(loader, &at)) {
        return SLUICE_INVALID;
    }
    sl_lock(&loader->mutex);
    loader->restoring = true;
    loader->restore_epoch = at.epoch;
    loader->restore_position = at.position;
    sl_unlock(&loader->mutex);
    *epoch = at.epoch;
    return SLUICE_OK;
}

sluice_status sl_loader_restore(sluice_loader *loader, const void *cursor, size_t bytes,
                                uint64_t *epoch)
{
    if (!call_begin(loader)) {
        return SLUICE_CANCELED;
    }
    const sluice_status status = restore(loader, cursor, bytes, epoch);
    call_end(loader);
    return status;
}

/* ---- reports ---- */

sluice_status sl_loader_get_error(sluice_loader *loader, sluice_error *error)
{
    if (!call_begin(loader)) {
        return SLUICE_CANCELED;
    }
    const sluice_status status = first_error(loader, error);
    call_end(loader);
    return status;
}

static sluice_stage_stats stage_stats(const sl_stage *stage)
{
    const sluice_stage_stats stats = {
        .busy_ns = atomic_load_explicit(&stage->busy_ns, memory_order_relaxed),
        .items = atomic_load_explicit(&stage->items, memory_order_relaxed)};
    return stats;
}

static void fill_fetch_stats(sluice_loader *loader, sluice_loader_stats *stats)
{
    sl_fetch_stats fetch;
    sl_fetch_get_stats(loader->fetch, &fetch);
    stats->io_direct = fetch.direct;
    stats->bytes_wanted = fetch.bytes_wanted;
    stats->bytes_read = fetch.bytes_read;
    stats->reads = fetch.reads;
    stats->reads_retried = fetch.retried;
    stats->reads_stalled = fetch.stalled;
    stats->read.busy_ns = fetch.busy_ns;
    stats->read.items = fetch.reads;
    for (size_t i = 0; i < SLUICE_HISTOGRAM_BINS; i++) {
        stats->read.depth[i] = fetch.depth[i];
    }
    snprintf(stats->io_backend, sizeof(stats->io_backend), "%s", fetch.backend);
    snprintf(stats->io_reason, sizeof(stats->io_reason), "%s", fetch.reason);
}

static void fill_stats(sluice_loader *loader, sluice_loader_stats *stats)
{
    const sl_feed *feed = &loader->feed;
    stats->workers = loader->config.options.workers;
    stats->slots = loader->config.options.prefetch;
    stats->samples = atomic_load_explicit(&feed->samples, memory_order_relaxed);
    stats->bad_samples = atomic_load_explicit(&feed->bad, memory_order_relaxed);
    stats->replaced_samples = atomic_load_explicit(&feed->replaced, memory_order_relaxed);
    stats->allocations = sl_memory_allocations();
    stats->memory_bytes = sl_budget_used(&loader->budget);
    stats->decode = stage_stats(&loader->maker.decode);
    stats->augment = stage_stats(&loader->maker.augment);
    sl_workers_depths(loader->workers, stats->decode.depth);
    sl_staging_get_stats(loader->staging, stats);
    fill_fetch_stats(loader, stats);
    sl_lock(&loader->mutex);
    stats->batches = loader->batches;
    stats->first_batch_ns = loader->first_batch_ns;
    sl_unlock(&loader->mutex);
}

sluice_status sl_loader_get_stats(sluice_loader *loader, sluice_loader_stats *stats)
{
    if (!call_begin(loader)) {
        return SLUICE_CANCELED;
    }
    fill_stats(loader, stats);
    call_end(loader);
    return SLUICE_OK;
}
