/* SPDX-License-Identifier: Apache-2.0 */
/* reads: begins, cancels and delivers reads; read_parts.c handles their parts. */
#include "reads.h"

#include "clock.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "minmax.h"
#include "read_parts.h"
#include "stop.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Guards sl_remote_read.state, so that a cancel finds a state or none. A child of fork() has its
 * own lock, because a thread of its parent may hold this one. */
typedef struct reads_lock {
    uint64_t forks;
    pthread_mutex_t mutex;
} reads_lock;

/* Acquire and release: the lock is whole when its pointer is seen. */
static _Atomic(reads_lock *) the_lock;

/* Returns the process's lock. NULL: no memory. */
static reads_lock *reads_lock_get(void)
{
    const uint64_t forks = sl_fork_count();
    /* Acquires the lock that the exchange below released. */
    reads_lock *lock = atomic_load_explicit(&the_lock, memory_order_acquire);
    if (lock != NULL && lock->forks == forks) {
        return lock;
    }
    reads_lock *made = sl_malloc(sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->forks = forks;
    sl_mutex_init(&made->mutex);
    /* Releases the lock that was made; acquires another thread's. */
    if (!atomic_compare_exchange_strong_explicit(&the_lock, &lock, made, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        sl_mutex_destroy(&made->mutex);
        sl_free(made);
        return lock;
    }
    return made;
}

/* ---- states ---- */

void sl_read_hold(sl_read_state *state)
{
    /* Relaxed: the caller is a holder already. */
    atomic_fetch_add_explicit(&state->holders, 1, memory_order_relaxed);
}

void sl_read_drop_locked(sl_read_state *state)
{
    /* Relaxed: not the last. The caller has its own hold, and releases it later. */
    const uint32_t before = atomic_fetch_sub_explicit(&state->holders, 1, memory_order_relaxed);
    assert(before > 1);
    (void)before;
}

static void state_release(sl_read_state *state)
{
    /* release and acquire: other threads' writes are seen before it is freed */
    if (atomic_fetch_sub_explicit(&state->holders, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (uint32_t i = 0; i < state->part_count; i++) {
        sl_read_part *part = &state->parts[i];
        sl_exchange_free(&part->main.exchange);
        if (part->hedge != NULL) {
            sl_exchange_free(&part->hedge->exchange);
            sl_free(part->hedge->own);
            sl_free(part->hedge);
        }
    }
    sl_remote_settings_release(state->settings);
    sl_object_release(state->object);
    sl_mutex_destroy(&state->mutex);
    sl_free(state);
}

/* Sets the read's result from its parts: bytes up to the first part that ended early, or an
 * error. */
static void read_set_result(sl_remote_read *read, const sl_read_state *state)
{
    read->result = 0;
    read->reason[0] = '\0';
    read->object_bytes = state->object_bytes;
    bool ended = false;
    for (uint32_t i = 0; i < state->part_count; i++) {
        const sl_read_part *part = &state->parts[i];
        if (part->result < 0) {
            /* the others were canceled because one failed */
            if (read->result >= 0 || read->result == -ECANCELED) {
                read->result = part->result;
                memcpy(read->reason, part->reason, sizeof(read->reason));
            }
        } else if (read->result >= 0 && !ended) {
            read->result += part->result;
            ended = part->result < part->bytes;
        }
    }
}

static void read_deliver(sl_read_state *state)
{
    sl_remote_read *read = state->read;
    reads_lock *lock = reads_lock_get();
    read_set_result(read, state);
    sl_lock(&lock->mutex);
    read->state = NULL;
    sl_unlock(&lock->mutex);
    read->done(read);
    state_release(state); /* the read's own hold */
}

/* Cancels the remaining parts after one has failed. */
static void cancel_rest_locked(sl_read_state *state)
{
    bool failed = false;
    for (uint32_t i = 0; i < state->part_count; i++) {
        failed = failed || (state->parts[i].phase == SL_PART_DONE && state->parts[i].result < 0);
    }
    for (uint32_t i = 0; failed && i < state->part_count; i++) {
        state->canceled = true;
        sl_part_cancel_locked(&state->parts[i]);
    }
}

/* Calls waiters of the hosts, so it runs without the mutex. */
static void give_back_places_locked(sl_read_state *state)
{
    for (uint32_t i = 0; i < state->part_count; i++) {
        sl_read_part *part = &state->parts[i];
        while (part->owes_place > 0) {
            sl_host *host = part->queued_for;
            part->owes_place--;
            sl_unlock(&state->mutex);
            sl_host_ended(host, SL_HOST_CANCELED, &(sl_host_times){.bytes = 0});
            sl_lock(&state->mutex);
        }
    }
}

void sl_read_leave(sl_read_state *state)
{
    if (!state->canceled && state->left > 0) {
        cancel_rest_locked(state);
    }
    give_back_places_locked(state);
    const bool delivers = state->left == 0 && !state->finished;
    state->finished = state->finished || delivers;
    sl_unlock(&state->mutex);
    if (delivers) {
        read_deliver(state);
    }
    state_release(state);
}

/* ---- starting ---- */

static void read_end_now(sl_remote_read *read, int64_t result, const char *reason)
{
    read->result = result;
    (void)snprintf(read->reason, sizeof(read->reason), "%.*s", (int)sizeof(read->reason) - 1,
                   reason);
    read->done(read);
}

/* The requested range. */
typedef struct read_range {
    uint64_t offset, bytes;
    bool whole; /* without a range: the size is unknown */
} read_range;

/* Finds the range to request. False: no request is needed, and the read's done was called. */
static bool read_find_range(sl_remote_read *read, read_range *range)
{
    sl_file_identity identity;
    const bool sized = sl_object_facts(read->object, &identity);
    *range = (read_range){.offset = read->whole ? 0 : read->offset,
                          .bytes = read->bytes,
                          .whole = read->whole && !sized};
    if (sized) {
        const uint64_t left = range->offset < identity.bytes ? identity.bytes - range->offset : 0;
        read->object_bytes = identity.bytes;
        if (read->whole && left > read->bytes) {
            read_end_now(read, -EFBIG, "the object is longer than the buffer");
            return false;
        }
        range->bytes = sl_min_u64(range->bytes, left);
    }
    if (range->bytes == 0 && !range->whole) {
        read_end_now(read, 0, "");
        return false;
    }
    return true;
}

/* Returns where the part that begins at `offset` ends: at the end of a slice, so that one node
 * has it. */
static uint64_t part_end(const read_range *range, uint64_t offset, bool cuts)
{
    const uint64_t end = range->offset + range->bytes;
    return cuts ? sl_min_u64(end, (offset / SL_SLICE_BYTES + 1) * SL_SLICE_BYTES) : end;
}

static sl_read_state *state_make(sl_remote_read *read, const read_range *range,
                                 const sl_remote_settings *settings)
{
    const bool cuts = settings->nodes != NULL && !read->from_store && !range->whole;
    uint32_t count = 0;
    uint64_t at = range->offset;
    do {
        at = part_end(range, at, cuts);
        count++;
    } while (at < range->offset + range->bytes);
    sl_read_state *state = sl_malloc(sizeof(*state) + count * sizeof(state->parts[0]));
    if (state == NULL) {
        return NULL;
    }
    memset(state, 0, sizeof(*state));
    state->read = read;
    state->object = read->object;
    state->from_store = read->from_store;
    state->settings = settings;
    state->stall_ns = read->stall_ns != 0 ? read->stall_ns : settings->stall_ns;
    state->object_bytes = read->object_bytes;
    state->part_count = state->left = count;
    sl_mutex_init(&state->mutex);
    atomic_init(&state->holders, 2); /* for the read, and for sl_remote_read_start */
    at = range->offset;
    for (uint32_t i = 0; i < count; i++) {
        sl_read_part *part = &state->parts[i];
        const uint64_t end = part_end(range, at, cuts);
        memset(part, 0, offsetof(sl_read_part, main.text));
        part->state = state;
        part->main.part = part;
        part->offset = at;
        part->bytes = (uint32_t)(end - at);
        part->to = read->buffer + (at - range->offset);
        part->whole = range->whole;
        part->began_ns = sl_now_ns();
        at = end;
    }
    return state;
}

void sl_remote_read_start(sl_remote_read *read)
{
    const sl_remote_settings *settings = NULL;
    reads_lock *lock = reads_lock_get();
    read_range range;
    sluice_error error;
    sl_error_clear(&error);
    read->state = NULL;
    read->object_bytes = UINT64_MAX;
    if (sl_remote_settings_get(&settings, &error) != SLUICE_OK) {
        read_end_now(read, -EINVAL, error.text);
        return;
    }
    if (!read_find_range(read, &range)) {
        sl_remote_settings_release(settings);
        return;
    }
    sl_read_state *state = lock != NULL ? state_make(read, &range, settings) : NULL;
    if (state == NULL) {
        sl_remote_settings_release(settings);
        read_end_now(read, -ENOMEM, "out of memory");
        return;
    }
    sl_object_hold(state->object);
    sl_lock(&lock->mutex);
    read->state = state;
    sl_unlock(&lock->mutex);
    sl_lock(&state->mutex);
    for (uint32_t i = 0; i < state->part_count; i++) {
        sl_part_send_locked(&state->parts[i]);
    }
    sl_read_leave(state);
}

void sl_remote_read_cancel(sl_remote_read *read)
{
    reads_lock *lock = reads_lock_get();
    if (lock == NULL) {
        return;
    }
    sl_lock(&lock->mutex);
    sl_read_state *state = read->state;
    if (state != NULL) {
        sl_read_hold(state);
    }
    sl_unlock(&lock->mutex);
    if (state == NULL) {
        return;
    }
    sl_lock(&state->mutex);
    state->canceled = true;
    for (uint32_t i = 0; i < state->part_count; i++) {
        sl_part_cancel_locked(&state->parts[i]);
    }
    sl_read_leave(state);
}

/* ---- blocking ---- */

typedef struct read_waiter {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
} read_waiter;

static void read_waiter_done(sl_remote_read *read)
{
    read_waiter *waiter = read->ctx;
    sl_lock(&waiter->mutex);
    waiter->done = true;
    sl_cond_signal(&waiter->cond);
    sl_unlock(&waiter->mutex);
}

int64_t sl_remote_read_run(sl_remote_read *read)
{
    read_waiter waiter = {.done = false};
    sl_mutex_init(&waiter.mutex);
    sl_cond_init(&waiter.cond);
    read->done = read_waiter_done;
    read->ctx = &waiter;
    sl_remote_read_start(read);
    bool canceled = false;
    sl_lock(&waiter.mutex);
    while (!waiter.done) {
        if (canceled) {
            sl_cond_wait(&waiter.cond, &waiter.mutex);
        } else if (sl_stop_wait(&waiter.cond, &waiter.mutex) && !waiter.done) {
            canceled = true;
            sl_unlock(&waiter.mutex);
            sl_remote_read_cancel(read);
            sl_lock(&waiter.mutex);
        }
    }
    sl_unlock(&waiter.mutex);
    sl_cond_destroy(&waiter.cond);
    sl_mutex_destroy(&waiter.mutex);
    return read->result;
}
