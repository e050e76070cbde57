/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pread_pool: a backend of threads that call pread.
 *
 * Lock: pool.mutex guards everything in the pool except the thread handles; it is not held during
 * system calls on files. Requests wait in one ring, completions in another, each with space for
 * `depth`. Idle threads are on a stack, so that the one that ran last (warm caches) is woken first
 * and a single request wakes a single thread.
 *
 * Waking costs more than reading from the page cache. So while reads are quick, one thread works
 * off the queue and reports in batches. Nothing waits long because of that guess: the owner, which
 * waits for completions, checks after LOOK_NS without one, takes the finished ones, and calls more
 * threads.
 */
#include "backend.h"
#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "objects.h"
#include "read_files.h"
#include "read_pieces.h"
#include "retry.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The owner's patience while requests are queued or completions may be held back. */
#define LOOK_NS UINT64_C(200000)
/* A quick read takes at most this long plus a nanosecond per so many bytes. A device takes
 * longer. */
#define QUICK_NS           UINT64_C(40000)
#define QUICK_BYTES_PER_NS 4
/* Completions reported together. */
#define REPORT_BATCH 8

struct pool;

struct reader {
    sl_thread thread;
    struct pool *pool;
    struct reader *next_idle;
    pthread_cond_t work;
    bool called; /* taken off the idle stack: look at the queue */
};

struct pool {
    sl_backend base;
    pthread_mutex_t mutex;
    pthread_cond_t done; /* the owner waits here */
    sl_read **queue;
    sl_completion *results;
    uint32_t depth, threads, started;
    uint32_t queue_head, queued;
    uint32_t result_head, finished;
    uint32_t running; /* taken by a thread, not finished */
    uint32_t idlers;  /* threads on the idle stack */
    bool woken, stopped;
    bool quick;   /* the last read was */
    bool looking; /* the owner waits LOOK_NS at most: completions may be held back */
    struct reader *idle;
    struct reader *readers;
};

/* A direct read asks for whole blocks and gets less at the end of the file. */
static int64_t read_direct(int fd, const sl_read *read, uint64_t bytes)
{
    uint64_t length = (bytes + SL_DIRECT_ALIGN - 1) / SL_DIRECT_ALIGN * SL_DIRECT_ALIGN;
    uint32_t interrupted = 0;
    ssize_t got = -1;
    do {
        got = pread(fd, read->buffer, length, 0);
    } while (got < 0 && sl_retry_interrupted(&interrupted, errno));
    return got < 0 ? -errno : (int64_t)got;
}

static int64_t read_opened(const sl_handle *file, const sl_read *read, uint64_t bytes, bool *direct)
{
    const int fd = file->fd;
    int64_t got = -EINVAL;
    if (*direct) {
        got = read_direct(fd, read, bytes);
        if (got < 0 && got != -EINVAL) {
            return got;
        }
    }
    if (got < (int64_t)bytes) { /* not direct, refused, or cut short: reads without O_DIRECT */
        int flags = *direct ? fcntl(fd, F_GETFL) : 0;
        if (*direct && (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_DIRECT) != 0)) {
            return -errno;
        }
        *direct = false;
        return sl_read_all_of(file, read->buffer, bytes);
    }
    return sl_is_cut_short(file, bytes) ? -ESTALE : (int64_t)bytes;
}

static sl_completion pread_pool_read_files(sl_read *read)
{
    const sl_files_read files = {.objects = read->objects,
                                 .object = read->object,
                                 .files = read->files,
                                 .buffer = read->buffer,
                                 .length = read->length,
                                 .drop_cache = read->drop_cache};
    sl_files_end end = {.bytes = 0};
    const int64_t result = sl_read_files(&files, &end);
    return (sl_completion){
        .read = read, .result = result, .file_bytes = end.bytes, .file = end.file};
}

static sl_completion pread_pool_read_file(sl_read *read)
{
    sl_handle file;
    sl_store_facts found;
    sl_completion completion = {.read = read, .direct = read->direct};
    sl_open_how how = {.boundary = read->boundary, .direct = read->direct};
    int failed = sl_handle_open_how(&file, read->path, &how, &found);
    if (failed == -EINVAL && how.direct) {
        how.direct = false;
        failed = sl_handle_open_how(&file, read->path, &how, &found);
    }
    if (failed < 0) {
        completion.result = failed;
        return completion;
    }
    completion.direct = how.direct && file.fd >= 0;
    completion.file_bytes = found.identity.bytes;
    if (completion.file_bytes > read->length) {
        completion.result = -EFBIG;
    } else {
        completion.result = read_opened(&file, read, completion.file_bytes, &completion.direct);
    }
    if (read->drop_cache && !completion.direct && completion.result > 0) {
        sl_handle_advise(&file, SL_ADVICE_NEVER, 0, 0);
    }
    sl_handle_close(&file);
    return completion;
}

static sl_completion pread_pool_read_at(sl_read *read)
{
    const sl_handle handle = sl_read_handle(read);
    uint32_t interrupted = 0;
    ssize_t got = -1;
    do {
        got = handle.store->read_at(&handle, read->buffer, read->length, read->offset);
    } while (got < 0 && sl_retry_interrupted(&interrupted, (int)-got));
    return (sl_completion){.read = read, .result = got};
}

static sl_completion read_any(sl_read *read)
{
    switch (read->kind) {
    case SL_READ_FILE:
        return read->files > 0 ? pread_pool_read_files(read) : pread_pool_read_file(read);
    case SL_READ_PIECES:
        return (sl_completion){.read = read, .result = sl_read_pieces(read)};
    case SL_READ_AT:
    case SL_READ_PACKED: /* unpackers.c handles these */
    case SL_READ_OPEN:   /* openers.c handles these */
        break;
    }
    return pread_pool_read_at(read);
}

static void pread_pool_finish_locked(struct pool *pool, const sl_completion *completion)
{
    assert(pool->finished < pool->depth);
    pool->results[(pool->result_head + pool->finished) % pool->depth] = *completion;
    pool->finished++;
    pool->running--;
    const bool report = pool->looking ? pool->queued == 0 || pool->finished % REPORT_BATCH == 0
                                      : pool->finished == 1;
    if (report || (pool->stopped && pool->running == 0)) {
        sl_cond_signal(&pool->done);
    }
}

static bool is_quick(const sl_completion *completion, uint64_t ns)
{
    const uint64_t bytes = completion->result > 0 ? (uint64_t)completion->result : 0;
    return ns < QUICK_NS + bytes / QUICK_BYTES_PER_NS;
}

/* Waits on the idle stack until called. */
static void idle_locked(struct pool *pool, struct reader *reader)
{
    reader->called = false;
    reader->next_idle = pool->idle;
    pool->idle = reader;
    pool->idlers++;
    while (!reader->called) {
        sl_cond_wait(&reader->work, &pool->mutex);
    }
}

static void call_one_locked(struct pool *pool)
{
    struct reader *reader = pool->idle;
    pool->idle = reader->next_idle;
    pool->idlers--;
    reader->called = true;
    sl_cond_signal(&reader->work);
}

/* Calls a thread for each queued request, as far as there are any. */
static void call_many_locked(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->queued && pool->idle != NULL; i++) {
        call_one_locked(pool);
    }
}

static void run_reader(void *argument)
{
    struct reader *reader = argument;
    struct pool *pool = reader->pool;
    sl_lock(&pool->mutex);
    while (!pool->stopped) {
        if (pool->queued == 0) {
            idle_locked(pool, reader);
            continue;
        }
        sl_read *read = pool->queue[pool->queue_head];
        pool->queue_head = (pool->queue_head + 1) % pool->depth;
        pool->queued--;
        pool->running++;
        sl_unlock(&pool->mutex);
        const uint64_t start = sl_now_ns();
        sl_completion completion = read_any(read);
        const uint64_t ns = sl_now_ns() - start;
        sl_lock(&pool->mutex);
        pool->quick = is_quick(&completion, ns);
        if (!pool->quick) {
            call_many_locked(pool); /* the queue was left to this thread on a guess */
        }
        pread_pool_finish_locked(pool, &completion);
    }
    sl_unlock(&pool->mutex);
}

static void pread_pool_submit(sl_backend *backend, sl_read *const *reads, uint32_t count)
{
    struct pool *pool = (struct pool *)backend;
    sl_lock(&pool->mutex);
    assert(pool->queued + pool->running + pool->finished + count <= pool->depth);
    for (uint32_t i = 0; i < count; i++) {
        pool->queue[(pool->queue_head + pool->queued) % pool->depth] = reads[i];
        pool->queued++;
        if (!pool->quick && pool->idle != NULL) {
            call_one_locked(pool);
        }
    }
    if (pool->queued > 0 && pool->idle != NULL && pool->idlers == pool->started) {
        call_one_locked(pool);
    }
    sl_unlock(&pool->mutex);
}

/* Waits for completions; ends early when woken or after the deadline. */
static void pread_pool_wait_locked(struct pool *pool, uint64_t deadline)
{
    bool late = false;
    while (pool->finished == 0 && !pool->woken && !late) {
        pool->looking = pool->running + pool->queued > 0 && pool->quick;
        const uint64_t next = pool->looking ? sl_now_ns() + LOOK_NS : deadline;
        const uint64_t until = sl_min_u64(next, deadline);
        const bool over = !sl_cond_wait_until(&pool->done, &pool->mutex, until);
        late = over && until == deadline;
        if (over && pool->looking) {
            pool->quick = false; /* or one would have come */
            call_many_locked(pool);
        }
        pool->looking = false;
    }
}

static uint32_t pread_pool_reap(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                                uint64_t timeout_ns)
{
    struct pool *pool = (struct pool *)backend;
    sl_lock(&pool->mutex);
    if (timeout_ns > 0) {
        const uint64_t now = sl_now_ns();
        pread_pool_wait_locked(pool, timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns);
    }
    pool->woken = false;
    uint32_t count = 0;
    while (count < capacity && pool->finished > 0) {
        completions[count++] = pool->results[pool->result_head];
        pool->result_head = (pool->result_head + 1) % pool->depth;
        pool->finished--;
    }
    sl_unlock(&pool->mutex);
    return count;
}

static void pread_pool_wake(sl_backend *backend)
{
    struct pool *pool = (struct pool *)backend;
    sl_lock(&pool->mutex);
    pool->woken = true;
    sl_cond_signal(&pool->done);
    sl_unlock(&pool->mutex);
}

static void pread_pool_free_pool(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->started; i++) {
        sl_cond_destroy(&pool->readers[i].work);
    }
    sl_cond_destroy(&pool->done);
    sl_mutex_destroy(&pool->mutex);
    sl_free(pool->queue);
    sl_free(pool->results);
    sl_free(pool->readers);
    sl_free(pool);
}

/* Drops requests not begun. A thread that does not come back keeps the pool forever. */
static uint32_t pread_pool_close_pool(sl_backend *backend, uint64_t drain_ns,
                                      const sl_read_ends *ends)
{
    struct pool *pool = (struct pool *)backend;
    uint64_t now = sl_now_ns();
    uint64_t deadline = drain_ns > UINT64_MAX - now ? UINT64_MAX : now + drain_ns;
    sl_lock(&pool->mutex);
    pool->stopped = true;
    for (; pool->queued > 0; pool->queued--) {
        sl_read_ended(ends, pool->queue[pool->queue_head]);
        pool->queue_head = (pool->queue_head + 1) % pool->depth;
    }
    while (pool->idle != NULL) {
        call_one_locked(pool);
    }
    while (pool->running > 0) {
        if (!sl_cond_wait_until(&pool->done, &pool->mutex, deadline)) {
            break;
        }
    }
    uint32_t abandoned = pool->running;
    for (; pool->finished > 0; pool->finished--) {
        sl_read_ended(ends, pool->results[pool->result_head].read);
        pool->result_head = (pool->result_head + 1) % pool->depth;
    }
    sl_unlock(&pool->mutex);
    if (abandoned > 0) {
        return abandoned;
    }
    for (uint32_t i = 0; i < pool->started; i++) {
        sl_thread_join(&pool->readers[i].thread);
    }
    pread_pool_free_pool(pool);
    return 0;
}

static sluice_status start_readers(struct pool *pool, sluice_error *error)
{
    while (pool->started < pool->threads) {
        struct reader *reader = &pool->readers[pool->started];
        reader->pool = pool;
        sl_cond_init(&reader->work);
        pool->started++; /* its condition variable exists from here on */
        sluice_status status =
            sl_thread_start(&reader->thread, "sluice-read", run_reader, reader, error);
        if (status < 0) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status open_pool(sl_backend **backend, const sl_backend_config *config,
                               sluice_error *error)
{
    assert(config->depth > 0 && config->threads > 0);
    struct pool *pool = sl_calloc(1, sizeof(*pool));
    if (pool == NULL) {
        return sl_no_memory(error, "io", "for reader threads");
    }
    pool->base.ops = &sl_backend_pread;
    pool->depth = config->depth;
    pool->threads = sl_min_u32(config->threads, config->depth);
    sl_mutex_init(&pool->mutex);
    sl_cond_init(&pool->done);
    pool->queue = sl_calloc(pool->depth, sizeof(sl_read *));
    pool->results = sl_calloc(pool->depth, sizeof(*pool->results));
    pool->readers = sl_calloc(pool->threads, sizeof(*pool->readers));
    if (pool->queue == NULL || pool->results == NULL || pool->readers == NULL) {
        pread_pool_free_pool(pool);
        return sl_no_memory(error, "io", "for reader threads");
    }
    sluice_status status = start_readers(pool, error);
    if (status < 0) {
        (void)pread_pool_close_pool(&pool->base, UINT64_MAX, NULL);
        return status;
    }
    *backend = &pool->base;
    return SLUICE_OK;
}

const sl_backend_ops sl_backend_pread = {
    "pread",         open_pool, pread_pool_submit,    pread_pool_reap,
    pread_pool_wake, NULL,      pread_pool_close_pool};
