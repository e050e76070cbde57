/* SPDX-License-Identifier: Apache-2.0 */
#include "populate.h"

#include "minmax.h"
#include "retry.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 5.14; by number, since older C libraries lack the name. */
#define POPULATE_WRITE 23
/* Taken by a thread at a time: one huge page. */
#define PIECE_BYTES ((uint64_t)2 << 20)

/* Writes each page's own value back, since other threads may write to it at the same time. Relaxed:
 * nothing is published. */
static void touch(uint8_t *base, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (uint8_t *at = base; at < base + bytes; at += page) {
        atomic_fetch_add_explicit((_Atomic uint8_t *)(void *)at, 0, memory_order_relaxed);
    }
}

/* Makes pages present. If memory is short, its user finds out. */
static void make_present(uint8_t *base, size_t bytes)
{
    const size_t into = (uintptr_t)base % (size_t)sysconf(_SC_PAGESIZE);
    uint32_t interrupted = 0;
    int result;
    do {
        result = madvise(base - into, bytes + into, POPULATE_WRITE);
    } while (result != 0 && sl_retry_interrupted(&interrupted, errno));
    if (result != 0 && errno == EINVAL) {
        touch(base, bytes); /* an older kernel */
    }
}

/* Takes the next piece; false: there is none. */
static bool populate_take(sl_populate *populate, sl_populate_range *piece)
{
    const sl_populate_config *config = &populate->config;
    /* Relaxed: a number for this thread only. */
    uint64_t at = atomic_fetch_add_explicit(&populate->next, PIECE_BYTES, memory_order_relaxed);
    for (uint32_t i = 0; i < config->count; i++) {
        const sl_populate_range *range = &config->ranges[i];
        /* Each range takes whole pieces of the numbering. */
        const uint64_t span = (range->bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
        if (at < span) {
            const uint64_t left = range->bytes - at;
            *piece = (sl_populate_range){range->base + at, (size_t)sl_min_u64(left, PIECE_BYTES)};
            return true;
        }
        at -= span;
    }
    return false;
}

/* Ends the work of one thread, or of the opener. */
static void populate_leave(sl_populate *populate)
{
    /* acq_rel: the last one comes after the others' work. */
    if (atomic_fetch_sub_explicit(&populate->working, 1, memory_order_acq_rel) == 1 &&
        populate->config.done != NULL &&
        !atomic_load_explicit(&populate->stop, memory_order_relaxed)) {
        populate->config.done(populate->config.ctx);
    }
    sl_lock(&populate->mutex);
    populate->inside--;
    sl_cond_broadcast(&populate->gone);
    sl_unlock(&populate->mutex);
}

static void populate_run(void *argument)
{
    sl_populate *populate = argument;
    sl_populate_range piece;
    (void)pthread_detach(pthread_self());
    /* Relaxed: a thread that sees it late touches one piece more. */
    while (!atomic_load_explicit(&populate->stop, memory_order_relaxed) &&
           populate_take(populate, &piece)) {
        make_present(piece.base, piece.bytes);
    }
    populate_leave(populate);
}

void sl_populate_open(sl_populate *populate, const sl_populate_config *config)
{
    const uint32_t threads = sl_min_u32(config->threads, SL_POPULATE_THREADS);
    *populate = (sl_populate){.config = *config, .inside = threads + 1, .opened = true};
    sl_mutex_init(&populate->mutex);
    sl_cond_init(&populate->gone);
    /* Relaxed: the threads are not started yet. */
    atomic_store_explicit(&populate->working, threads + 1, memory_order_relaxed);
    for (uint32_t i = 0; i < threads; i++) {
        sl_thread thread = {.running = false};
        if (sl_thread_start_near(&thread, "sluice-fresh", config->near, populate_run, populate,
                                 NULL) != SLUICE_OK) {
            populate_leave(populate);
        }
    }
    populate_leave(populate);
}

void sl_populate_wait(sl_populate *populate)
{
    sl_lock(&populate->mutex);
    while (populate->inside > 0) {
        sl_cond_wait(&populate->gone, &populate->mutex);
    }
    sl_unlock(&populate->mutex);
}

void sl_populate_close(sl_populate *populate)
{
    if (!populate->opened) {
        return;
    }
    /* Relaxed: sl_populate_wait waits under the mutex for the threads that read it. */
    atomic_store_explicit(&populate->stop, true, memory_order_relaxed);
    sl_populate_wait(populate);
    sl_cond_destroy(&populate->gone);
    sl_mutex_destroy(&populate->mutex);
    *populate = (sl_populate){.opened = false};
}
