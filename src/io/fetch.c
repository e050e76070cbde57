/* SPDX-License-Identifier: Apache-2.0 */
/* fetch: the fetch thread's life, its loop, and the functions that other threads call. */
#include "fetch.h"

#include "clock.h"
#include "error.h"
#include "fetch_state.h"
#include "minmax.h"
#include "openers.h"

#include <assert.h>
#include <stdio.h>

#define WHOLE_GUESS_FIRST ((uint64_t)256 << 10)
#define TICK_MOST_NS      ((uint64_t)100000000)
#define TICK_LEAST_NS     ((uint64_t)1000000)
/* Inserted items that the window holds at once; the others wait in the inbox. */
#define WINDOW_INSERTS_MAX 256U

/* ---- other threads ---- */

void sl_fetch_credit(sl_fetch *fetch, uint64_t limit)
{
    sl_inbox_credit(&fetch->inbox, limit);
}

void sl_fetch_wake(sl_fetch *fetch)
{
    sl_inbox_wake(&fetch->inbox);
}

void sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item)
{
    sl_inbox_insert(&fetch->inbox, item);
}

void sl_fetch_restart(sl_fetch *fetch)
{
    sl_inbox_restart(&fetch->inbox);
}

bool sl_fetch_is_reserve(const sl_fetch *fetch, uint32_t handle)
{
    return sl_read_buffers_is_reserve(&fetch->buffers, handle);
}

void sl_fetch_release(sl_fetch *fetch, const uint32_t *handles, uint32_t count)
{
    sl_read_buffers_release(&fetch->buffers, handles, count);
}

const sl_slab *sl_fetch_memory(const sl_fetch *fetch)
{
    return &fetch->buffers.arena.slab;
}

void sl_fetch_present(sl_fetch *fetch)
{
    /* Relaxed: the backend reads the pages, not data of this thread. */
    atomic_store_explicit(&fetch->present, true, memory_order_relaxed);
    sl_inbox_signal(&fetch->inbox);
}

const sl_resident *sl_fetch_resident(const sl_fetch *fetch)
{
    return sl_resident_complete(&fetch->resident) ? &fetch->resident : NULL;
}

void sl_fetch_look(sl_fetch *fetch, sl_fetch_state *state)
{
    sl_lock(&fetch->mutex);
    *state = fetch->state;
    sl_unlock(&fetch->mutex);
    state->free_bytes = (uint64_t)sl_read_arena_free(&fetch->buffers.arena) * SL_ARENA_UNIT;
    /* Relaxed: for a message. */
    state->reserve_busy =
        atomic_load_explicit(&fetch->buffers.reserve_busy, memory_order_relaxed) != 0;
    state->idle = sl_inbox_is_idle(&fetch->inbox, &state->rounds);
}

sluice_status sl_fetch_object_path(const sl_fetch *fetch, uint32_t object, char *path, size_t bytes)
{
    return sl_objects_path(fetch->config.objects, object, path, bytes);
}

void sl_fetch_get_stats(sl_fetch *fetch, sl_fetch_stats *stats)
{
    sl_lock(&fetch->mutex);
    *stats = fetch->published;
    sl_unlock(&fetch->mutex);
}

/* ---- the loop ---- */

/* Searches all requests, once per tick. The thread sleeps no longer than a tick while any is in
 * flight. */
static void note_oldest(sl_fetch *fetch, sl_fetch_state *state)
{
    if (fetch->requests.flying == 0) {
        state->oldest_ns = 0;
        return;
    }
    if (fetch->now_ns - fetch->oldest_looked_ns < fetch->tick_ns) {
        return;
    }
    const sl_request *oldest = sl_requests_oldest(&fetch->requests);
    fetch->oldest_looked_ns = fetch->now_ns;
    state->oldest_ns = oldest->since_ns;
    state->oldest_object = oldest->object;
    state->oldest_start = oldest->start;
    state->oldest_bytes = oldest->needed;
    state->oldest_opens = oldest->read.kind == SL_READ_OPEN;
}

static void fetch_publish(sl_fetch *fetch)
{
    fetch->stats.abandoned = fetch->requests.abandoned;
    if (fetch->unpackers != NULL) {
        sl_unpackers_get_stats(fetch->unpackers, &fetch->stats.unpacked);
    }
    sl_lock(&fetch->mutex);
    fetch->published = fetch->stats;
    fetch->state.asked = fetch->window.asked;
    fetch->state.delivered = fetch->window.delivered;
    fetch->state.credit = fetch->window.credit;
    fetch->state.insert_waits = fetch->window.insert_first != SL_WANT_NONE;
    fetch->state.flying = fetch->requests.flying;
    fetch->state.waiting = fetch->requests.waiting;
    note_oldest(fetch, &fetch->state);
    if (fetch->requests.flying > 0) {
        fetch->published.busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
    sl_unlock(&fetch->mutex);
}

/* Counts first: a thread that sees a delivery then finds it in the statistics. */
static void fetch_flush(sl_fetch *fetch)
{
    fetch_publish(fetch);
    if (fetch->source.flush != NULL) {
        fetch->source.flush(fetch->source.ctx);
    }
}

static void cancel_all(sl_fetch *fetch)
{
    sl_fetch_cancel_reads(fetch);
    sl_fetch_cancel_items(fetch);
    fetch_flush(fetch);
}

static void take_completions(sl_fetch *fetch)
{
    uint64_t patience_ns = sl_fetch_patience(fetch);
    if (!sl_inbox_sleeping(&fetch->inbox, patience_ns == UINT64_MAX)) {
        patience_ns = 0;
    }
    uint32_t count = fetch->backend->ops->reap(fetch->backend, fetch->completions,
                                               fetch->config.depth, patience_ns);
    sl_inbox_woke(&fetch->inbox);
    fetch->now_ns = sl_now_ns();
    for (uint32_t i = 0; i < count; i++) {
        sl_fetch_complete(fetch, &fetch->completions[i]);
    }
    fetch_flush(fetch);
}

static void tell_present(sl_fetch *fetch)
{
    /* Relaxed, both: clearing `attention` orders them before the signal of sl_fetch_present. */
    if (atomic_load_explicit(&fetch->present, memory_order_relaxed)) {
        atomic_store_explicit(&fetch->present, false, memory_order_relaxed);
        sl_read_buffers_widen(&fetch->buffers);
        if (fetch->backend->ops->present != NULL) {
            fetch->backend->ops->present(fetch->backend);
        }
    }
}

static void serve(sl_fetch *fetch)
{
    fetch->now_ns = sl_now_ns();
    fetch->next_tick_ns = fetch->now_ns + fetch->tick_ns;
    for (;;) {
        const sl_inbox_news news = sl_inbox_collect(&fetch->inbox);
        if (news.stop) {
            return;
        }
        if (news.restarts > 0) {
            cancel_all(fetch);
            sl_inbox_restarted(&fetch->inbox, news.restarts);
            continue;
        }
        /* Delivering took time, which must not make reads sent now look old. */
        fetch->now_ns = sl_now_ns();
        tell_present(fetch);
        fetch->may_ask = fetch->may_ask || news.ask;
        sl_window_credit(&fetch->window, news.credit);
        if (news.inserted > 0) {
            sl_fetch_take_inserted(fetch);
        }
        sl_fetch_ask(fetch);
        sl_fetch_settle_credited(fetch);
        sl_fetch_retry_due(fetch);
        sl_fetch_plan(fetch);
        sl_fetch_submit(fetch);
        fetch_flush(fetch);
        take_completions(fetch);
        /* Only now, with all results taken, does an old request mean that something hangs. */
        sl_fetch_watch(fetch);
    }
}

/* ---- life ---- */

static void ring_backend(void *ctx)
{
    sl_backend *backend = ctx;
    backend->ops->wake(backend);
}

static void memory_freed(void *ctx)
{
    sl_fetch *fetch = ctx;
    sl_inbox_signal(&fetch->inbox);
}

static bool all_packed(const sl_fetch_config *config)
{
    const uint32_t count = config->packed ? sl_objects_count(config->objects) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sl_objects_packed(config->objects, i).packing == SL_PACKING_NONE) {
            return false;
        }
    }
    return count > 0;
}

/* Opens the backend that reads local files. */
static sluice_status open_kind(sl_fetch *fetch, const sl_backend_config *as, sl_backend **backend,
                               sluice_error *error)
{
    const sl_fetch_config *config = &fetch->config;
    sl_backend_config wanted = *as;
    char *reason = fetch->stats.reason;
    if (fetch->places == SL_PLACES_REMOTE) {
        reason[0] = '\0'; /* files of the chunk cache, at most */
    } else if (all_packed(config)) {
        wanted.threads = 1; /* there are no local files to read */
        (void)snprintf(reason, sizeof(fetch->stats.reason),
                       "compressed files are read by the unpacking threads");
    } else if (config->whole_objects) {
        (void)snprintf(reason, sizeof(fetch->stats.reason),
                       "whole files are opened and read by threads");
    } else if (config->pieces > 0) {
        (void)snprintf(reason, sizeof(fetch->stats.reason),
                       "samples in several byte ranges are read by threads");
    } else if (fetch->places == SL_PLACES_OTHER) {
        (void)snprintf(reason, sizeof(fetch->stats.reason),
                       "objects without descriptors are read by threads");
    } else if (config->backend != SLUICE_IO_PREAD) {
        sluice_status status = sl_backend_uring.open(backend, &wanted, error);
        if (status != SLUICE_UNSUPPORTED || config->backend == SLUICE_IO_URING) {
            return status;
        }
        (void)snprintf(reason, sizeof(fetch->stats.reason), "%.*s",
                       (int)sizeof(fetch->stats.reason) - 1, error->text);
    } else {
        (void)snprintf(reason, sizeof(fetch->stats.reason), "threads were requested");
    }
    return sl_backend_pread.open(backend, &wanted, error);
}

/* Opens the backend that reads all uncompressed objects. */
static sluice_status open_readers(sl_fetch *fetch, sl_backend **backend, sluice_error *error)
{
    const sl_fetch_config *config = &fetch->config;
    fetch->places = sl_objects_places(config->objects);
    const bool remote = fetch->places == SL_PLACES_REMOTE || fetch->places == SL_PLACES_MIXED;
    sl_backend_config wanted = {.depth = config->depth,
                                .threads = config->threads,
                                .slab = &fetch->buffers.arena.slab,
                                .stall_ns = config->stall_fail_ns,
                                .waits = config->waits};
    if (!remote) {
        return open_kind(fetch, &wanted, backend, error);
    }
    wanted.depth *= 2; /* one read may cover two files of the chunk cache */
    sl_backend *local = NULL;
    sluice_status status = open_kind(fetch, &wanted, &local, error);
    if (status == SLUICE_OK) {
        wanted.depth = config->depth;
        status = sl_backend_remote(backend, local, &wanted, error);
    }
    fetch->remote = status == SLUICE_OK ? *backend : NULL;
    return status;
}

static sluice_status open_unpackers(sl_fetch *fetch, sl_backend **backend, sluice_error *error)
{
    const sl_unpackers_config config = {.objects = fetch->config.objects,
                                        .inner = *backend,
                                        .depth = fetch->config.depth,
                                        .threads = fetch->config.unpack_threads,
                                        .near = fetch->config.near};
    const sluice_status status = sl_unpackers_open(backend, &config, error);
    fetch->unpackers = status == SLUICE_OK ? *backend : NULL;
    fetch->stats.backend = all_packed(&fetch->config) ? "unpack" : fetch->stats.backend;
    return status;
}

static sluice_status open_backend(sl_fetch *fetch, sluice_error *error)
{
    sl_backend *backend = NULL;
    sluice_status status = open_readers(fetch, &backend, error);
    if (status != SLUICE_OK) {
        return status;
    }
    fetch->stats.backend = backend->ops->name;
    if (fetch->config.fault != NULL) {
        status = sl_backend_fault(&backend, backend, fetch->config.fault, error);
    }
    if (status == SLUICE_OK && !all_packed(&fetch->config)) {
        const sl_openers_config config = {fetch->config.objects, backend, fetch->config.depth,
                                          fetch->config.whole_objects};
        status = sl_openers_open(&backend, &config, error);
    }
    if (status == SLUICE_OK && fetch->config.packed) {
        status = open_unpackers(fetch, &backend, error);
    }
    if (status == SLUICE_OK) {
        fetch->backend = backend;
    }
    return status;
}

/* Releases the pin of a read that was in flight when all others had ended. */
static void give_pin_back(void *ctx, sl_read *read)
{
    const sl_fetch *fetch = ctx;
    sl_request *request = (sl_request *)read;
    if (request->pinned) {
        request->pinned = false;
        sl_objects_unpin(fetch->config.objects, &request->pin);
    }
    if (read->kind == SL_READ_OPEN) {
        read->opening = NULL; /* the opener thread is done with it */
        if (request->opening.status == SLUICE_OK) {
            sl_objects_unpin(fetch->config.objects, &request->opening.pin);
        }
    }
}

/* Releases the pins of waiting requests, which the backend does not have. */
static void give_waiting_pins_back(sl_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->config.depth; i++) {
        sl_request *request = &fetch->requests.all[i];
        if (request->state == SL_REQUEST_WAITING && request->pinned) {
            request->pinned = false; /* also the pin of an open that has ended */
            sl_objects_unpin(fetch->config.objects, &request->pin);
        }
    }
}

/* Returns whether a thread is still inside an open, which needs the objects. */
static bool is_opening(const sl_fetch *fetch)
{
    bool opening = false;
    for (uint32_t i = 0; i < fetch->config.depth; i++) {
        const sl_request *request = &fetch->requests.all[i];
        opening =
            opening ||
            ((request->state == SL_REQUEST_FLYING || request->state == SL_REQUEST_ABANDONED) &&
             request->read.kind == SL_READ_OPEN && request->read.opening != NULL);
    }
    return opening;
}

/* Ends the thread's work. An object whose read never came back stays allocated and pinned
 * forever. */
static void close_backend(sl_fetch *fetch)
{
    const sl_read_ends ends = {give_pin_back, fetch};
    sl_inbox_set_bell(&fetch->inbox, &(sl_inbox_bell){0});
    give_waiting_pins_back(fetch);
    fetch->requests.abandoned =
        fetch->backend->ops->close(fetch->backend, fetch->config.stall_fail_ns, &ends);
    fetch->keeps_objects = fetch->requests.abandoned > 0 && is_opening(fetch);
    fetch->backend = fetch->unpackers = fetch->remote = NULL;
    fetch_publish(fetch);
}

/* Reports the result of opening to the opener. */
static void report_open(sl_fetch *fetch, sluice_status status, const sluice_error *error)
{
    sl_lock(&fetch->mutex);
    fetch->open_status = status;
    fetch->open_error = *error;
    fetch->opened = true;
    fetch->published = fetch->stats;
    sl_cond_broadcast(&fetch->opened_changed);
    sl_unlock(&fetch->mutex);
}

static void free_fetch(sl_fetch *fetch)
{
    const bool leak = fetch->requests.abandoned > 0;
    sl_requests_close(&fetch->requests, leak);
    sl_read_buffers_close(&fetch->buffers, leak);
    sl_resident_close(&fetch->resident, leak);
    sl_page_cache_close(&fetch->page_cache);
    sl_window_close(&fetch->window);
    sl_inbox_close(&fetch->inbox);
    sl_free(fetch->batch);
    sl_free(fetch->completions);
    sl_free((void *)fetch->kept);
    if (fetch->tables_bytes > 0) {
        sl_budget_give(fetch->config.budget, fetch->tables_bytes);
    }
    sl_cond_destroy(&fetch->opened_changed);
    sl_mutex_destroy(&fetch->mutex);
    sl_free(fetch);
}

/* Reports progress to the closing thread. Returns whether that thread no longer waits. */
static bool fetch_note(sl_fetch *fetch, bool *what)
{
    sl_lock(&fetch->mutex);
    *what = true;
    const bool left = fetch->left;
    sl_cond_broadcast(&fetch->opened_changed);
    sl_unlock(&fetch->mutex);
    return left;
}

/* Frees everything, except what an open that never came back needs. */
static void end_left(sl_fetch *fetch, const sl_fetch_heir *heir)
{
    const bool keeps_objects = fetch->keeps_objects;
    free_fetch(fetch);
    if (!keeps_objects) {
        heir->release(heir->ctx);
    }
}

static void fetch_run(void *argument)
{
    sl_fetch *fetch = argument;
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = open_backend(fetch, &error);
    if (status == SLUICE_OK) {
        sl_inbox_set_bell(&fetch->inbox, &(sl_inbox_bell){ring_backend, fetch->backend});
    }
    report_open(fetch, status, &error);
    if (status < 0) {
        return;
    }
    serve(fetch);
    cancel_all(fetch);
    fetch_note(fetch, &fetch->canceled);
    close_backend(fetch);
    if (fetch_note(fetch, &fetch->ended)) {
        const sl_fetch_heir heir = fetch->heir;
        end_left(fetch, &heir);
    }
}

static sluice_status fetch_check(const sl_fetch_config *config, sluice_error *error)
{
    const uint64_t gib = (uint64_t)1 << 30;
    if (config->depth < 1 || config->depth > 512 || config->lookahead < 1 ||
        config->lookahead > 65536 || config->threads < 1 || config->threads > 1024) {
        return sl_error_set(error, SLUICE_INVALID, "io",
                            "depth %u, threads %u or lookahead %u is out of range", config->depth,
                            config->threads, config->lookahead);
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

/* Returns the number of inserted items that the window holds. */
static uint32_t window_inserts(const sl_fetch_config *config)
{
    return config->inserts < WINDOW_INSERTS_MAX ? config->inserts : WINDOW_INSERTS_MAX;
}

/* Returns the size of the tables of a spread. */
static uint64_t dues_bytes(const sl_fetch_config *config)
{
    return config->lookahead * (sizeof(uint32_t) + sizeof(sl_fetch_bytes *)) +
           2 * (uint64_t)config->spread * sizeof(uint32_t);
}

static uint64_t window_bytes(sl_packing packing)
{
    if (packing == SL_PACKING_BROTLI) {
        return SL_UNPACKERS_BROTLI_WINDOW_BYTES;
    }
    return packing == SL_PACKING_ZSTD ? SL_UNPACKERS_WINDOW_BYTES : 0;
}

/* Returns the memory of the open passes. */
static uint64_t unpackers_bytes(const sl_fetch_config *config)
{
    uint64_t each = 0;
    const uint32_t count = config->packed ? sl_objects_count(config->objects) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const sl_packing packing = sl_objects_packed(config->objects, i).packing;
        const uint64_t own = SL_UNPACKERS_STREAM_BYTES + window_bytes(packing);
        each = packing != SL_PACKING_NONE && own > each ? own : each;
    }
    return config->unpack_passes * each;
}

/* Returns the size of the tables that depend on options. */
static uint64_t tables_bytes(const sl_fetch_config *config)
{
    const uint64_t wants = (uint64_t)config->lookahead + window_inserts(config);
    const uint64_t units = config->arena_bytes / SL_ARENA_UNIT;
    const uint64_t request = sizeof(sl_request) + SL_PATH_BYTES +
                             sl_fetch_pieces(config) * sizeof(sl_piece) + sizeof(sl_read *) +
                             sizeof(sl_completion);
    return wants * sizeof(sl_want) + config->lookahead * sizeof(uint32_t) +
           (config->spread > 0 ? dues_bytes(config) : 0) + unpackers_bytes(config) +
           ((uint64_t)config->inserts + 1) * sizeof(sl_fetch_item) + config->depth * request +
           units * sizeof(sl_held) + units / 8;
}

uint64_t sl_fetch_needs(const sl_fetch_config *config)
{
    const uint64_t slabs = (config->arena_bytes + SL_SLAB_ALIGN - 1) / SL_SLAB_ALIGN;
    return slabs * SL_SLAB_ALIGN + tables_bytes(config);
}

static sluice_status charge_tables(sl_fetch *fetch, sluice_error *error)
{
    sl_budget *budget = fetch->config.budget;
    const uint64_t bytes = tables_bytes(&fetch->config);
    if (budget == NULL) {
        return SLUICE_OK;
    }
    if (!sl_budget_take(budget, bytes)) {
        return sl_error_set(error, SLUICE_NOMEM, "io",
                            "%llu bytes for tables of items would exceed the memory budget of %llu "
                            "bytes (%llu in use)",
                            (unsigned long long)bytes, (unsigned long long)budget->limit,
                            (unsigned long long)sl_budget_used(budget));
    }
    fetch->tables_bytes = bytes;
    return SLUICE_OK;
}

static sluice_status fetch_allocate(sl_fetch *fetch, sluice_error *error)
{
    const sl_fetch_config *config = &fetch->config;
    const sl_window_config window = {.lookahead = config->lookahead,
                                     .inserts = window_inserts(config),
                                     .spread = config->spread,
                                     .merge_gap_bytes = config->merge_gap_bytes,
                                     .merge_bytes = config->merge_bytes};
    const sl_read_buffers_config buffers = {
        .arena_bytes = (size_t)config->arena_bytes,
        .first_bytes = config->arena_first_bytes > 0 ? (size_t)config->arena_first_bytes : SIZE_MAX,
        /* Space for the item, its alignment at both ends, and the padding. */
        .reserve_bytes = (size_t)config->max_sample_bytes + (size_t)3 * SL_DIRECT_ALIGN,
        .budget = config->budget,
        .freed = memory_freed,
        .ctx = fetch};
    sluice_status status = charge_tables(fetch, error);
    if (status == SLUICE_OK) {
        status = sl_inbox_open(&fetch->inbox, config->inserts, error);
    }
    if (status == SLUICE_OK) {
        status = sl_window_open(&fetch->window, &window, error);
    }
    if (status == SLUICE_OK) {
        status = sl_requests_open(&fetch->requests, config->depth, sl_fetch_pieces(config), error);
    }
    if (status == SLUICE_OK) {
        status = sl_read_buffers_open(&fetch->buffers, &buffers, error);
    }
    if (status < 0) {
        return status;
    }
    if (config->cache == SL_CACHE_AUTO) {
        status = sl_page_cache_open(&fetch->page_cache, sl_objects_count(config->objects), error);
    }
    if (status < 0) {
        return status;
    }
    sl_resident_open(&fetch->resident, config->objects, config->resident_bytes, config->budget);
    fetch->batch = sl_calloc(config->depth, sizeof(sl_read *));
    fetch->completions = sl_calloc(config->depth, sizeof(*fetch->completions));
    if (config->spread > 0) {
        fetch->kept = (sl_fetch_bytes **)sl_calloc(config->lookahead, sizeof(sl_fetch_bytes *));
        if (fetch->kept == NULL) {
            return sl_no_memory(error, "io", "for the fetch thread");
        }
    }
    return fetch->batch != NULL && fetch->completions != NULL
               ? SLUICE_OK
               : sl_no_memory(error, "io", "for the fetch thread");
}

static uint64_t tick_of(const sl_fetch_config *config)
{
    const uint64_t first = config->stall_warn_ns < config->stall_fail_ns ? config->stall_warn_ns
                                                                         : config->stall_fail_ns;
    const uint64_t tick_ns = sl_min_u64(first / 4, TICK_MOST_NS);
    return tick_ns > TICK_LEAST_NS ? tick_ns : TICK_LEAST_NS;
}

static sluice_status fetch_start(sl_fetch *fetch, sluice_error *error)
{
    sluice_status status = sl_thread_start_near(&fetch->thread, "sluice-fetch", fetch->config.near,
                                                fetch_run, fetch, error);
    if (status < 0) {
        return status;
    }
    sl_lock(&fetch->mutex);
    while (!fetch->opened) {
        sl_cond_wait(&fetch->opened_changed, &fetch->mutex);
    }
    status = fetch->open_status;
    sl_unlock(&fetch->mutex);
    if (status < 0) {
        sl_thread_join(&fetch->thread);
        if (error != NULL) {
            *error = fetch->open_error;
        }
    }
    return status;
}

sluice_status sl_fetch_open(sl_fetch **fetch, const sl_fetch_config *config,
                            const sl_fetch_source *source, sluice_error *error)
{
    *fetch = NULL;
    sluice_status status = fetch_check(config, error);
    if (status < 0) {
        return status;
    }
    sl_fetch *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "io", "for the fetch thread");
    }
    made->config = *config;
    made->source = *source;
    made->whole_guess = WHOLE_GUESS_FIRST;
    made->tick_ns = tick_of(config);
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->opened_changed);
    status = fetch_allocate(made, error);
    if (status == SLUICE_OK) {
        status = fetch_start(made, error);
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
    sl_inbox_stop(&fetch->inbox);
    sl_thread_join(&fetch->thread);
    free_fetch(fetch);
}

/* The budget ends with its loader. */
static void leave_locked(sl_fetch *fetch, const sl_fetch_heir *heir)
{
    fetch->left = true;
    fetch->heir = *heir;
    fetch->tables_bytes = 0;
    fetch->buffers.arena.slab.budget = NULL;
    fetch->resident.slab.budget = NULL;
    sl_thread_detach(&fetch->thread);
}

void sl_fetch_leave(sl_fetch *fetch, uint64_t patience_ns, const sl_fetch_heir *heir)
{
    bool in_time = true;
    if (fetch == NULL) {
        heir->release(heir->ctx);
        return;
    }
    sl_inbox_stop(&fetch->inbox);
    sl_lock(&fetch->mutex);
    while (!fetch->canceled) {
        sl_cond_wait(&fetch->opened_changed, &fetch->mutex);
    }
    const uint64_t deadline = sl_now_ns() + patience_ns;
    while (!fetch->ended && in_time) {
        in_time = sl_cond_wait_until(&fetch->opened_changed, &fetch->mutex, deadline);
    }
    const bool ended = fetch->ended;
    if (!ended) {
        leave_locked(fetch, heir);
    }
    sl_unlock(&fetch->mutex);
    if (ended) {
        sl_thread_join(&fetch->thread);
        end_left(fetch, heir);
    }
}
