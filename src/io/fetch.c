/* SPDX-License-Identifier: Apache-2.0 */
/* fetch: the thread's life cycle and what other threads may call. */
#include "fetch.h"

#include "clock.h"
#include "error.h"
#include "fetch_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define FILE_GUESS_FIRST ((uint64_t)256 << 10)
#define TICK_MOST_NS     ((uint64_t)100000000)
#define TICK_LEAST_NS    ((uint64_t)1000000)

void sl_fetch_signal(sl_fetch *fetch)
{
    /* seq_cst on attention and waiting, here and in wait_for_events: either the thread sees
     * `attention` before it blocks, or this thread sees that it is waiting. */
    if (atomic_exchange_explicit(&fetch->attention, 1, memory_order_seq_cst) == 0 &&
        atomic_load_explicit(&fetch->waiting, memory_order_seq_cst) != 0) {
        sl_lock(&fetch->mutex);
        if (fetch->backend != NULL) {
            fetch->backend->ops->wake(fetch->backend);
        }
        sl_unlock(&fetch->mutex);
    }
}

void sl_fetch_credit(sl_fetch *fetch, uint64_t limit)
{
    sl_lock(&fetch->mutex);
    if (limit > fetch->shared.credit) {
        fetch->shared.credit = limit;
    }
    if (fetch->shared.dozing) {
        fetch->shared.dozing = false;
        fetch->shared.ask = true;
    }
    sl_unlock(&fetch->mutex);
    sl_fetch_signal(fetch);
}

void sl_fetch_wake(sl_fetch *fetch)
{
    sl_lock(&fetch->mutex);
    fetch->shared.dozing = false;
    fetch->shared.ask = true;
    sl_unlock(&fetch->mutex);
    sl_fetch_signal(fetch);
}

void sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item)
{
    sl_lock(&fetch->mutex);
    assert(fetch->shared.free_insert_count > 0);
    uint32_t index = fetch->shared.free_inserts[--fetch->shared.free_insert_count];
    sl_want *want = &fetch->wants[index];
    want->item = *item;
    want->item.sequence = UINT64_MAX;
    want->next = SL_FETCH_NONE;
    if (fetch->shared.arrived_last == SL_FETCH_NONE) {
        fetch->shared.arrived_first = index;
    } else {
        fetch->wants[fetch->shared.arrived_last].next = index;
    }
    fetch->shared.arrived_last = index;
    sl_unlock(&fetch->mutex);
    sl_fetch_signal(fetch);
}

void sl_fetch_restart(sl_fetch *fetch)
{
    sl_lock(&fetch->mutex);
    uint64_t mine = ++fetch->shared.restarts_wanted;
    sl_unlock(&fetch->mutex);
    sl_fetch_signal(fetch);
    sl_lock(&fetch->mutex);
    while (fetch->shared.restarts_done < mine) {
        sl_cond_wait(&fetch->changed, &fetch->mutex);
    }
    sl_unlock(&fetch->mutex);
}

void sl_fetch_get_stats(sl_fetch *fetch, sl_fetch_stats *stats)
{
    sl_lock(&fetch->mutex);
    *stats = fetch->shared.stats;
    sl_unlock(&fetch->mutex);
}

static void publish_locked(sl_fetch *fetch)
{
    fetch->stats.abandoned = fetch->abandoned;
    fetch->shared.stats = fetch->stats;
    if (fetch->flying > 0) {
        fetch->shared.stats.busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
}

/* Takes over what other threads asked for. */
static void collect(sl_fetch *fetch)
{
    /* Before `shared` is read: what is changed later sets it again. */
    atomic_store_explicit(&fetch->attention, 0, memory_order_seq_cst);
    sl_lock(&fetch->mutex);
    fetch->credit = fetch->shared.credit;
    fetch->may_ask = fetch->may_ask || fetch->shared.ask;
    fetch->shared.ask = false;
    fetch->stopping = fetch->shared.stop;
    fetch->restarts = fetch->shared.restarts_wanted - fetch->shared.restarts_done;
    uint32_t arrived = fetch->shared.arrived_first;
    fetch->shared.arrived_first = SL_FETCH_NONE;
    fetch->shared.arrived_last = SL_FETCH_NONE;
    publish_locked(fetch);
    sl_unlock(&fetch->mutex);
    while (arrived != SL_FETCH_NONE) {
        uint32_t index = arrived;
        arrived = fetch->wants[index].next; /* before it joins another list */
        sl_fetch_take_insert(fetch, index);
    }
}

static void restart(sl_fetch *fetch)
{
    sl_fetch_cancel_all(fetch);
    sl_lock(&fetch->mutex);
    fetch->shared.credit = 0;
    fetch->shared.ask = false;
    fetch->shared.dozing = true;
    fetch->shared.restarts_done += fetch->restarts;
    publish_locked(fetch);
    sl_cond_broadcast(&fetch->changed);
    sl_unlock(&fetch->mutex);
}

static void wait_for_events(sl_fetch *fetch)
{
    uint64_t patience_ns = sl_fetch_patience(fetch);
    atomic_store_explicit(&fetch->waiting, 1, memory_order_seq_cst); /* see sl_fetch_signal */
    if (atomic_load_explicit(&fetch->attention, memory_order_seq_cst) != 0) {
        patience_ns = 0;
    }
    uint32_t count = fetch->backend->ops->reap(fetch->backend, fetch->completions,
                                               fetch->config.depth, patience_ns);
    atomic_store_explicit(&fetch->waiting, 0, memory_order_relaxed);
    fetch->now_ns = sl_now_ns();
    for (uint32_t i = 0; i < count; i++) {
        sl_fetch_complete(fetch, &fetch->completions[i]);
    }
}

static void serve(sl_fetch *fetch)
{
    fetch->now_ns = sl_now_ns();
    fetch->next_tick_ns = fetch->now_ns + fetch->tick_ns;
    for (;;) {
        collect(fetch);
        if (fetch->stopping) {
            return;
        }
        if (fetch->restarts > 0) {
            restart(fetch);
            continue;
        }
        sl_fetch_ask(fetch);
        sl_fetch_settle_credited(fetch);
        fetch->now_ns = sl_now_ns(); /* delivering may have taken long; reads begin now */
        sl_fetch_retry_due(fetch);
        sl_fetch_plan(fetch);
        sl_fetch_submit(fetch);
        sl_fetch_watch(fetch);
        wait_for_events(fetch);
    }
}

static sluice_status open_kind(sl_fetch *fetch, sl_backend **backend, sluice_error *error)
{
    const sl_fetch_config *config = &fetch->config;
    sl_backend_config wanted = {
        .depth = config->depth, .threads = config->threads, .slab = &fetch->arena.slab};
    char *reason = fetch->stats.reason;
    if (config->whole_files) {
        (void)snprintf(reason, sizeof(fetch->stats.reason),
                       "whole files are opened and read by threads");
    } else if (config->backend != SLUICE_IO_PREAD) {
        sluice_status status = sl_backend_uring.open(backend, &wanted, error);
        if (status != SLUICE_UNSUPPORTED || config->backend == SLUICE_IO_URING) {
            return status;
        }
        (void)snprintf(reason, sizeof(fetch->stats.reason), "%.*s",
                       (int)sizeof(fetch->stats.reason) - 1, error->text);
    } else {
        (void)snprintf(reason, sizeof(fetch->stats.reason), "threads were asked for");
    }
    return sl_backend_pread.open(backend, &wanted, error);
}

static sluice_status open_backend(sl_fetch *fetch, sluice_error *error)
{
    sl_backend *backend = NULL;
    sluice_status status = open_kind(fetch, &backend, error);
    if (status < 0) {
        return status;
    }
    fetch->stats.backend = backend->ops->name;
    if (fetch->config.fault != NULL) {
        status = sl_backend_fault(&backend, backend, fetch->config.fault, error);
    }
    if (status == SLUICE_OK) {
        fetch->backend = backend;
    }
    return status;
}

/* The last thing that the thread does. What was never given back stays allocated for ever. */
static void close_backend(sl_fetch *fetch)
{
    sl_lock(&fetch->mutex);
    sl_backend *backend = fetch->backend;
    fetch->backend = NULL;
    sl_unlock(&fetch->mutex);
    fetch->abandoned = backend->ops->close(backend, fetch->config.stall_fail_ns);
    sl_lock(&fetch->mutex);
    publish_locked(fetch);
    sl_unlock(&fetch->mutex);
}

static void run(void *argument)
{
    sl_fetch *fetch = argument;
    sluice_error error;
    sl_error_clear(&error);
    sl_lock(&fetch->mutex);
    sluice_status status = open_backend(fetch, &error);
    fetch->shared.open_status = status;
    fetch->shared.open_error = error;
    fetch->shared.opened = true;
    fetch->shared.stats = fetch->stats;
    sl_cond_broadcast(&fetch->changed);
    sl_unlock(&fetch->mutex);
    if (status < 0) {
        return;
    }
    serve(fetch);
    sl_fetch_cancel_all(fetch);
    collect(fetch); /* inserts that came meanwhile */
    sl_fetch_cancel_all(fetch);
    close_backend(fetch);
}

static void free_fetch(sl_fetch *fetch)
{
    bool leak = fetch->abandoned > 0;
    sl_file_table_close(&fetch->files);
    for (uint32_t i = 0; fetch->requests != NULL && i < fetch->config.depth && !leak; i++) {
        sl_slab_close(&fetch->requests[i].own);
    }
    if (leak) {
        sl_slab_forget(&fetch->reserve);
    } else {
        sl_slab_close(&fetch->reserve);
        sl_free(fetch->requests);
        sl_free(fetch->paths);
    }
    sl_read_arena_close(&fetch->arena, leak);
    sl_free(fetch->held);
    sl_free(fetch->wants);
    sl_free(fetch->batch);
    sl_free(fetch->completions);
    sl_free(fetch->order);
    sl_free(fetch->shared.free_inserts);
    sl_cond_destroy(&fetch->changed);
    sl_mutex_destroy(&fetch->mutex);
    sl_free(fetch);
}

static sluice_status check(const sl_fetch_config *config, sluice_error *error)
{
    const uint64_t gib = (uint64_t)1 << 30;
    if (config->depth < 1 || config->depth > 512 || config->lookahead < 1 ||
        config->lookahead > 65536 || config->inserts > 65536 || config->threads < 1 ||
        config->threads > 1024 || config->files < 1) {
        return sl_error_set(error, SLUICE_INVALID, "io",
                            "depth %u, threads %u, lookahead %u, inserts %u or files %u is out of "
                            "range",
                            config->depth, config->threads, config->lookahead, config->inserts,
                            config->files);
    }
    if (config->arena_bytes < 1 || config->max_sample_bytes < 1 || config->max_sample_bytes > gib ||
        config->merge_bytes > gib) {
        return sl_error_set(error, SLUICE_INVALID, "io", "a size in bytes is out of range");
    }
    if (config->stall_fail_ns < 1 || config->stall_warn_ns < 1) {
        return sl_error_set(error, SLUICE_INVALID, "io", "a stall time is out of range");
    }
    return SLUICE_OK;
}

static sluice_status allocate(sl_fetch *fetch, sluice_error *error)
{
    const sl_fetch_config *config = &fetch->config;
    sluice_status status =
        sl_read_arena_open(&fetch->arena, (size_t)config->arena_bytes, config->budget, error);
    if (status == SLUICE_OK) {
        status = sl_fetch_reserve_open(fetch, error);
    }
    if (status == SLUICE_OK) {
        status = sl_file_table_open(&fetch->files, config->files, config->cache, error);
    }
    if (status < 0) {
        return status;
    }
    fetch->held = sl_calloc((size_t)fetch->arena.units + 1, sizeof(*fetch->held));
    fetch->wants = sl_calloc((size_t)config->lookahead + config->inserts, sizeof(*fetch->wants));
    fetch->requests = sl_calloc(config->depth, sizeof(*fetch->requests));
    fetch->batch = sl_calloc(config->depth, sizeof(sl_read *));
    fetch->completions = sl_calloc(config->depth, sizeof(*fetch->completions));
    fetch->order = sl_calloc(config->lookahead, sizeof(*fetch->order));
    fetch->paths = sl_malloc(((size_t)config->depth + 1) * SL_FETCH_PATH_MAX);
    fetch->shared.free_inserts =
        sl_calloc((size_t)config->inserts + 1, sizeof(*fetch->shared.free_inserts));
    if (fetch->held == NULL || fetch->wants == NULL || fetch->requests == NULL ||
        fetch->batch == NULL || fetch->completions == NULL || fetch->order == NULL ||
        fetch->paths == NULL || fetch->shared.free_inserts == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "io", "no memory for the fetch thread");
    }
    return SLUICE_OK;
}

/* Everything in its first state: lists of free requests and inserts, numbering at 0. */
static void set_up(sl_fetch *fetch)
{
    const sl_fetch_config *config = &fetch->config;
    fetch->free_request = SL_FETCH_NONE;
    for (uint32_t i = config->depth; i-- > 0;) {
        fetch->requests[i].path = fetch->paths + i * SL_FETCH_PATH_MAX;
        sl_fetch_free_request(fetch, &fetch->requests[i]);
    }
    for (uint32_t i = 0; i < config->inserts; i++) {
        fetch->shared.free_inserts[fetch->shared.free_insert_count++] = config->lookahead + i;
    }
    fetch->shared.arrived_first = SL_FETCH_NONE;
    fetch->shared.arrived_last = SL_FETCH_NONE;
    fetch->shared.dozing = true;
    fetch->insert_first = SL_FETCH_NONE;
    fetch->insert_last = SL_FETCH_NONE;
    fetch->file_guess = FILE_GUESS_FIRST;
    uint64_t first = config->stall_warn_ns < config->stall_fail_ns ? config->stall_warn_ns
                                                                   : config->stall_fail_ns;
    fetch->tick_ns = first / 4 < TICK_MOST_NS ? first / 4 : TICK_MOST_NS;
    fetch->tick_ns = fetch->tick_ns > TICK_LEAST_NS ? fetch->tick_ns : TICK_LEAST_NS;
}

static sluice_status start(sl_fetch *fetch, sluice_error *error)
{
    sluice_status status = sl_thread_start(&fetch->thread, "sluice-fetch", run, fetch, error);
    if (status < 0) {
        return status;
    }
    sl_lock(&fetch->mutex);
    while (!fetch->shared.opened) {
        sl_cond_wait(&fetch->changed, &fetch->mutex);
    }
    status = fetch->shared.open_status;
    sl_unlock(&fetch->mutex);
    if (status < 0) {
        sl_thread_join(&fetch->thread);
        if (error != NULL) {
            *error = fetch->shared.open_error;
        }
    }
    return status;
}

sluice_status sl_fetch_open(sl_fetch **fetch, const sl_fetch_config *config,
                            const sl_fetch_source *source, sluice_error *error)
{
    *fetch = NULL;
    sluice_status status = check(config, error);
    if (status < 0) {
        return status;
    }
    sl_fetch *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "io", "no memory for the fetch thread");
    }
    made->config = *config;
    made->source = *source;
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->changed);
    status = allocate(made, error);
    if (status == SLUICE_OK) {
        set_up(made);
        status = start(made, error);
    }
    if (status < 0) {
        free_fetch(made);
        return status;
    }
    *fetch = made;
    return SLUICE_OK;
}

void sl_fetch_close(sl_fetch *fetch)
{
    if (fetch == NULL) {
        return;
    }
    sl_lock(&fetch->mutex);
    fetch->shared.stop = true;
    sl_unlock(&fetch->mutex);
    sl_fetch_signal(fetch);
    sl_thread_join(&fetch->thread);
    free_fetch(fetch);
}
