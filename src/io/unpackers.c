/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpackers: the backend for compressed objects: its threads, the passes over objects and their
 * queues. The mutex guards the queues; requests of a pass are executed in order.
 */
#include "unpackers.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "stream.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
    /* Passes that are remembered, besides one for each request in flight. */
    PASSES = 32,
    /* Unpacked bytes are taken at once; but after a failure the chunk before is needed. */
    CHUNKS = 2
};

struct pool;

/* A queued request. */
struct waiting {
    sl_read *read;
    struct waiting *next;
};

struct pass {
    uint64_t number;
    bool used, busy;
    struct waiting *first, *last; /* of its requests that are not begun */
    struct pass *next_ready;
    uint64_t clock; /* time of its last request */
    /* Members of the thread that works on it. */
    sl_stream *stream;          /* NULL: none */
    uint64_t stream_number;     /* number of its pass */
    const sluice_error *failed; /* NULL: nothing */
};

struct failure {
    struct failure *next;
    uint32_t object;
    sluice_error error;
};

struct unpacker {
    sl_thread thread;
    struct pool *pool;
    atomic_bool stop; /* its present work is not needed any more */
    bool busy;
};

struct pool {
    sl_backend base;
    sl_backend *inner;
    sl_objects *objects;
    _Atomic uint64_t progress;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    /* under mutex */
    struct pass *passes;
    struct pass *ready_first, *ready_last; /* passes with requests that no thread works on */
    struct waiting *waiting, *free_waiting;
    sl_completion *results; /* ring */
    struct failure *failures;
    struct unpacker *threads;
    uint32_t depth, pass_count, wanted, started, running, result_head, finished;
    uint64_t clock;
    bool stopped;
    sl_unpackers_stats stats;
};

static struct pool *pool_of(sl_backend *backend)
{
    return (struct pool *)backend;
}

/* ---- what fails ---- */

static bool unpackers_is_like(const struct failure *known, uint32_t object,
                              const sluice_error *error)
{
    return known->object == object && known->error.status == error->status &&
           known->error.sys_errno == error->sys_errno && known->error.offset == error->offset &&
           strcmp(known->error.text, error->text) == 0;
}

/* Returns a copy of the error in memory that stays. */
static const sluice_error *unpackers_keep(struct pool *pool, uint32_t object,
                                          const sluice_error *error)
{
    static const sluice_error no_memory = {.struct_size = sizeof(no_memory),
                                           .status = SLUICE_NOMEM,
                                           .offset = -1,
                                           .sample = -1,
                                           .stage = "io",
                                           .text = "out of memory unpacking"};
    const sluice_error *kept = &no_memory;
    sl_lock(&pool->mutex);
    struct failure *known = pool->failures;
    while (known != NULL && !unpackers_is_like(known, object, error)) {
        known = known->next;
    }
    if (known == NULL) {
        known = sl_malloc(sizeof(*known));
        if (known != NULL) {
            *known = (struct failure){pool->failures, object, *error};
            pool->failures = known;
        }
    }
    kept = known != NULL ? &known->error : kept;
    sl_unlock(&pool->mutex);
    return kept;
}

/* ---- one request ---- */

static void end_stream(struct pass *pass)
{
    sl_stream_close(pass->stream);
    pass->stream = NULL;
}

static sluice_status unpackers_open_stream(struct pool *pool, struct pass *pass, uint32_t object,
                                           sluice_error *error)
{
    char path[SL_PATH_BYTES];
    end_stream(pass);
    pass->failed = NULL;
    pass->stream_number = pass->number;
    if (sl_objects_path(pool->objects, object, path, sizeof(path)) != SLUICE_OK) {
        return sl_error_set(error, SLUICE_INVALID, "io", "the path of file %u is too long", object);
    }
    const sl_packed packed = sl_objects_packed(pool->objects, object);
    return sl_stream_open(&pass->stream, path, &packed, CHUNKS, error);
}

/* Reads, and at the end of the pass on to the end of the file; `*good` bytes are right. */
static sluice_status read_stream(struct pass *pass, const sl_read *read, size_t *good,
                                 sluice_error *error)
{
    sluice_status status =
        sl_stream_read_good(pass->stream, read->offset, read->buffer, read->length, good, error);
    if (status == SLUICE_OK && read->end == SL_PASS_FINISHES) {
        status = sl_stream_finish(pass->stream, error);
        *good -= status < 0 ? read->last_bytes : 0;
    }
    return status;
}

/* Counts the work of a stream, before and after a request. */
static void count_stream(const sl_stream *stream, sl_unpackers_stats *stats, uint64_t *file_bytes)
{
    stats->bytes = stream != NULL ? sl_stream_all_bytes(stream) : 0;
    stats->restarts = stream != NULL ? sl_stream_restarts(stream) : 0;
    *file_bytes = stream != NULL ? sl_stream_file_bytes(stream) : 0;
}

static sl_completion unpackers_unpack(struct unpacker *own, struct pass *pass, sl_read *read,
                                      sl_unpackers_stats *took)
{
    struct pool *pool = own->pool;
    sl_completion completion = {.read = read};
    sl_unpackers_stats before;
    uint64_t file_before;
    sluice_error error;
    size_t good = 0;
    sluice_status status = SLUICE_OK;
    sl_error_clear(&error);
    if (pass->stream_number != pass->number || (pass->stream == NULL && pass->failed == NULL)) {
        status = unpackers_open_stream(pool, pass, read->object, &error);
    }
    if (pass->failed != NULL) {
        completion.why = pass->failed;
        return completion;
    }
    count_stream(pass->stream, &before, &file_before);
    if (status == SLUICE_OK) {
        sl_stream_set_watch(pass->stream, &(sl_stream_watch){&own->stop, &pool->progress});
        status = read_stream(pass, read, &good, &error);
    }
    count_stream(pass->stream, took, &completion.file_bytes);
    took->bytes -= before.bytes;
    took->restarts -= before.restarts;
    completion.file_bytes -= file_before;
    completion.result = (int64_t)good;
    if (status == SLUICE_CANCELED) {
        completion.result = -ECANCELED;
    } else if (status < 0) {
        pass->failed = completion.why = unpackers_keep(pool, read->object, &error);
    }
    if (status < 0 || read->end != SL_PASS_GOES_ON) {
        end_stream(pass);
    }
    return completion;
}

/* ---- threads ---- */

static void make_ready_locked(struct pool *pool, struct pass *pass)
{
    pass->next_ready = NULL;
    if (pool->ready_first == NULL) {
        pool->ready_first = pass;
    } else {
        pool->ready_last->next_ready = pass;
    }
    pool->ready_last = pass;
}

static struct pass *take_ready_locked(struct pool *pool)
{
    struct pass *pass = pool->ready_first;
    pool->ready_first = pass->next_ready;
    return pass;
}

static sl_read *take_read_locked(struct pool *pool, struct pass *pass)
{
    struct waiting *first = pass->first;
    sl_read *read = first->read;
    pass->first = first->next;
    first->next = pool->free_waiting;
    pool->free_waiting = first;
    return read;
}

/* Reports a completion. Returns whether the owner must be woken. */
static bool report_locked(struct pool *pool, const sl_completion *completion)
{
    assert(pool->finished < pool->depth);
    pool->results[(pool->result_head + pool->finished) % pool->depth] = *completion;
    return pool->finished++ == 0 && !pool->stopped;
}

static void run_one_locked(struct unpacker *own)
{
    struct pool *pool = own->pool;
    struct pass *pass = take_ready_locked(pool);
    sl_read *read = take_read_locked(pool, pass);
    sl_unpackers_stats took = {0};
    pass->busy = own->busy = true;
    pool->running++;
    /* Relaxed: set and cleared under the mutex. A thread that sees it late unpacks a little
     * more. */
    atomic_store_explicit(&own->stop, false, memory_order_relaxed);
    sl_unlock(&pool->mutex);
    const uint64_t since = sl_now_ns();
    const sl_completion completion = unpackers_unpack(own, pass, read, &took);
    took.ns = sl_now_ns() - since;
    sl_lock(&pool->mutex);
    pool->stats.ns += took.ns;
    pool->stats.bytes += took.bytes;
    pool->stats.restarts += took.restarts;
    pass->busy = own->busy = false;
    pool->running--;
    if (pass->first != NULL) {
        make_ready_locked(pool, pass);
    } else if (read->end != SL_PASS_GOES_ON) {
        pass->used = false; /* the first to be replaced by another */
        pass->clock = 0;
    }
    const bool wakes = report_locked(pool, &completion);
    if (pool->stopped && pool->running == 0) {
        sl_cond_signal(&pool->done);
    }
    if (wakes) {
        pool->inner->ops->wake(pool->inner); /* a signal, or a write that does not block */
    }
}

static void run_unpacker(void *argument)
{
    struct unpacker *own = argument;
    struct pool *pool = own->pool;
    sl_lock(&pool->mutex);
    while (!pool->stopped) {
        if (pool->ready_first == NULL) {
            sl_cond_wait(&pool->work, &pool->mutex);
        } else {
            run_one_locked(own);
        }
    }
    sl_unlock(&pool->mutex);
}

/* ---- the owner ---- */

/* Returns the pass of that number; else reuses one that nothing waits for. */
static struct pass *find_pass_locked(struct pool *pool, uint64_t number)
{
    struct pass *oldest = pool->passes;
    uint64_t clock = UINT64_MAX;
    for (uint32_t i = 0; i < pool->pass_count; i++) {
        struct pass *pass = &pool->passes[i];
        if (pass->used && pass->number == number) {
            return pass;
        }
        if (pass->first == NULL && !pass->busy && pass->clock < clock) {
            oldest = pass;
            clock = pass->clock;
        }
    }
    assert(clock != UINT64_MAX);          /* there are more passes than requests */
    pool->stats.restarts += oldest->used; /* in case more of it is wanted */
    oldest->used = true;
    oldest->number = number;
    oldest->stream_number = number + 1; /* its stream belongs to another pass */
    return oldest;
}

static void queue_locked(struct pool *pool, sl_read *read)
{
    struct pass *pass = find_pass_locked(pool, read->pass);
    struct waiting *waiting = pool->free_waiting;
    assert(waiting != NULL);
    pool->free_waiting = waiting->next;
    *waiting = (struct waiting){.read = read};
    pass->clock = ++pool->clock;
    if (pass->first == NULL) {
        pass->first = waiting;
        if (!pass->busy) {
            make_ready_locked(pool, pass);
            sl_cond_signal(&pool->work);
        }
    } else {
        pass->last->next = waiting;
    }
    pass->last = waiting;
}

static void unpackers_submit(sl_backend *backend, sl_read *const *reads, uint32_t count)
{
    struct pool *pool = pool_of(backend);
    uint32_t first = 0; /* start of the inner backend's requests that are not submitted yet */
    for (uint32_t i = 0; i < count; i++) {
        if (reads[i]->kind != SL_READ_PACKED) {
            continue;
        }
        if (i > first) {
            pool->inner->ops->submit(pool->inner, reads + first, i - first);
        }
        first = i + 1;
        sl_lock(&pool->mutex);
        queue_locked(pool, reads[i]);
        sl_unlock(&pool->mutex);
    }
    if (count > first) {
        pool->inner->ops->submit(pool->inner, reads + first, count - first);
    }
}

static uint32_t take_results(struct pool *pool, sl_completion *completions, uint32_t capacity)
{
    uint32_t count = 0;
    sl_lock(&pool->mutex);
    while (count < capacity && pool->finished > 0) {
        completions[count++] = pool->results[pool->result_head];
        pool->result_head = (pool->result_head + 1) % pool->depth;
        pool->finished--;
    }
    sl_unlock(&pool->mutex);
    return count;
}

/* The thread that makes the first result wakes the inner one, which remembers that until its next
 * reap: results that arrive in between are taken first next time. */
static uint32_t unpackers_reap(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                               uint64_t timeout_ns)
{
    struct pool *pool = pool_of(backend);
    uint32_t count = take_results(pool, completions, capacity);
    if (count < capacity) {
        count += pool->inner->ops->reap(pool->inner, completions + count, capacity - count,
                                        count > 0 ? 0 : timeout_ns);
    }
    if (count == 0) {
        count = take_results(pool, completions, capacity);
    }
    return count;
}

static void unpackers_wake(sl_backend *backend)
{
    struct pool *pool = pool_of(backend);
    pool->inner->ops->wake(pool->inner);
}

static void unpackers_present(sl_backend *backend)
{
    struct pool *pool = pool_of(backend);
    if (pool->inner->ops->present != NULL) {
        pool->inner->ops->present(pool->inner);
    }
}

/* Takes all requests that are not begun, which end without being read, and stops the others. */
static sl_read *stop_one_locked(struct pool *pool)
{
    if (pool->ready_first != NULL) {
        struct pass *pass = pool->ready_first;
        sl_read *read = take_read_locked(pool, pass);
        if (pass->first == NULL) {
            (void)take_ready_locked(pool);
        }
        return read;
    }
    for (uint32_t i = 0; i < pool->pass_count; i++) {
        if (pool->passes[i].first != NULL) { /* a thread works on it */
            return take_read_locked(pool, &pool->passes[i]);
        }
    }
    for (uint32_t i = 0; i < pool->started; i++) {
        if (pool->threads[i].busy) {
            /* Relaxed: see run_one_locked. */
            atomic_store_explicit(&pool->threads[i].stop, true, memory_order_relaxed);
        }
    }
    return NULL;
}

void sl_unpackers_cancel(sl_backend *backend)
{
    struct pool *pool = pool_of(backend);
    sl_lock(&pool->mutex);
    bool wakes = false;
    for (sl_read *read = stop_one_locked(pool); read != NULL; read = stop_one_locked(pool)) {
        const sl_completion completion = {.read = read, .result = -ECANCELED};
        wakes = report_locked(pool, &completion) || wakes;
    }
    for (uint32_t i = 0; i < pool->pass_count; i++) {
        pool->passes[i].used = false;
    }
    sl_unlock(&pool->mutex);
    if (wakes) {
        unpackers_wake(backend);
    }
}

uint64_t sl_unpackers_progress(const sl_backend *backend)
{
    const struct pool *pool = (const struct pool *)backend;
    /* Relaxed: the watchdog looks now and then. */
    return atomic_load_explicit(&pool->progress, memory_order_relaxed);
}

void sl_unpackers_get_stats(sl_backend *backend, sl_unpackers_stats *stats)
{
    struct pool *pool = pool_of(backend);
    sl_lock(&pool->mutex);
    *stats = pool->stats;
    sl_unlock(&pool->mutex);
}

/* ---- life ---- */

static void unpackers_free_pool(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->pass_count; i++) {
        sl_stream_close(pool->passes[i].stream);
    }
    while (pool->failures != NULL) {
        struct failure *next = pool->failures->next;
        sl_free(pool->failures);
        pool->failures = next;
    }
    sl_cond_destroy(&pool->work);
    sl_cond_destroy(&pool->done);
    sl_mutex_destroy(&pool->mutex);
    sl_free(pool->passes);
    sl_free(pool->waiting);
    sl_free(pool->results);
    sl_free(pool->threads);
    sl_free(pool);
}

/* Like the pread pool's: a thread that does not come back keeps the pool forever. */
static uint32_t close_own(struct pool *pool, uint64_t deadline, const sl_read_ends *ends)
{
    sl_lock(&pool->mutex);
    pool->stopped = true;
    for (sl_read *read = stop_one_locked(pool); read != NULL; read = stop_one_locked(pool)) {
        sl_read_ended(ends, read);
    }
    sl_cond_broadcast(&pool->work);
    while (pool->running > 0 && sl_cond_wait_until(&pool->done, &pool->mutex, deadline)) {
        /* until they see that they must stop */
    }
    const uint32_t abandoned = pool->running;
    for (; pool->finished > 0; pool->finished--) {
        sl_read_ended(ends, pool->results[pool->result_head].read);
        pool->result_head = (pool->result_head + 1) % pool->depth;
    }
    sl_unlock(&pool->mutex);
    for (uint32_t i = 0; abandoned == 0 && i < pool->started; i++) {
        sl_thread_join(&pool->threads[i].thread);
    }
    return abandoned;
}

static uint32_t unpackers_close_pool(sl_backend *backend, uint64_t drain_ns,
                                     const sl_read_ends *ends)
{
    struct pool *pool = pool_of(backend);
    sl_backend *inner = pool->inner;
    const uint64_t now = sl_now_ns();
    const uint32_t abandoned =
        close_own(pool, drain_ns > UINT64_MAX - now ? UINT64_MAX : now + drain_ns, ends);
    if (abandoned == 0) {
        unpackers_free_pool(pool);
    }
    return abandoned + inner->ops->close(inner, drain_ns, ends);
}

static const sl_backend_ops pool_ops = {"unpackers",         NULL,           unpackers_submit,
                                        unpackers_reap,      unpackers_wake, unpackers_present,
                                        unpackers_close_pool};

static sluice_status start_threads(struct pool *pool, const sl_processors *near,
                                   sluice_error *error)
{
    while (pool->started < pool->wanted) {
        struct unpacker *own = &pool->threads[pool->started];
        own->pool = pool;
        const sluice_status status =
            sl_thread_start_near(&own->thread, "sluice-unpack", near, run_unpacker, own, error);
        if (status < 0) {
            return status;
        }
        sl_lock(&pool->mutex); /* the others read the number */
        pool->started++;
        sl_unlock(&pool->mutex);
    }
    return SLUICE_OK;
}

static sluice_status unpackers_make(struct pool *pool, const sl_unpackers_config *config,
                                    sluice_error *error)
{
    pool->base.ops = &pool_ops;
    pool->inner = config->inner;
    pool->objects = config->objects;
    pool->depth = config->depth;
    pool->wanted = config->threads;
    sl_mutex_init(&pool->mutex);
    sl_cond_init(&pool->work);
    sl_cond_init(&pool->done);
    pool->passes = sl_calloc(PASSES + config->depth, sizeof(*pool->passes));
    pool->pass_count = pool->passes != NULL ? PASSES + config->depth : 0;
    pool->waiting = sl_calloc(pool->depth, sizeof(*pool->waiting));
    pool->results = sl_calloc(pool->depth, sizeof(*pool->results));
    pool->threads = sl_calloc(config->threads, sizeof(*pool->threads));
    if (pool->passes == NULL || pool->waiting == NULL || pool->results == NULL ||
        pool->threads == NULL) {
        return sl_no_memory(error, "io", "for threads that unpack");
    }
    for (uint32_t i = 0; i < pool->depth; i++) {
        pool->waiting[i].next = pool->free_waiting;
        pool->free_waiting = &pool->waiting[i];
    }
    return start_threads(pool, config->near, error);
}

sluice_status sl_unpackers_open(sl_backend **backend, const sl_unpackers_config *config,
                                sluice_error *error)
{
    assert(config->depth > 0 && config->threads > 0);
    struct pool *pool = sl_calloc(1, sizeof(*pool));
    if (pool == NULL) {
        (void)config->inner->ops->close(config->inner, UINT64_MAX, NULL);
        return sl_no_memory(error, "io", "for threads that unpack");
    }
    const sluice_status status = unpackers_make(pool, config, error);
    if (status < 0) {
        (void)unpackers_close_pool(&pool->base, UINT64_MAX, NULL);
        return status;
    }
    *backend = &pool->base;
    return SLUICE_OK;
}
