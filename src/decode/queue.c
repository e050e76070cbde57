/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

#include <assert.h>
#include <string.h>

sluice_status sl_queue_open(sl_queue *queue, size_t capacity, size_t item_bytes,
                            sluice_error *error)
{
    assert(capacity > 0 && item_bytes > 0);
    memset(queue, 0, sizeof(*queue));
    uint8_t *items = sl_calloc(capacity, item_bytes);
    if (items == NULL) {
        return sl_no_memory(error, "base", "for a queue of %zu x %zu bytes", capacity, item_bytes);
    }
    sl_mutex_init(&queue->mutex);
    sl_cond_init(&queue->not_empty);
    sl_cond_init(&queue->not_full);
    queue->items = items;
    queue->capacity = capacity;
    queue->item_bytes = item_bytes;
    return SLUICE_OK;
}

void sl_queue_destroy(sl_queue *queue)
{
    if (queue->items == NULL) {
        return;
    }
    sl_cond_destroy(&queue->not_full);
    sl_cond_destroy(&queue->not_empty);
    sl_mutex_destroy(&queue->mutex);
    sl_free(queue->items);
    memset(queue, 0, sizeof(*queue));
}

static void append_locked(sl_queue *queue, const void *item)
{
    const size_t until_wrap = queue->capacity - queue->head;
    const size_t place =
        queue->count < until_wrap ? queue->head + queue->count : queue->count - until_wrap;
    memcpy(queue->items + place * queue->item_bytes, item, queue->item_bytes);
    queue->count++;
}

static void queue_take_locked(sl_queue *queue, void *item)
{
    memcpy(item, queue->items + queue->head * queue->item_bytes, queue->item_bytes);
    queue->head = queue->head + 1 == queue->capacity ? 0 : queue->head + 1;
    queue->count--;
}

/* Returns whether a taker sleeps that should be woken. */
static bool calls_taker_locked(const sl_queue *queue)
{
    return queue->count > 0 && queue->takers > 0;
}

/* A sleeping thread may be the one that could make space: a taker is signaled before waiting, not
 * only after the last item. */
static void wait_for_space_locked(sl_queue *queue)
{
    if (calls_taker_locked(queue)) {
        sl_cond_signal(&queue->not_empty);
    }
    queue->givers++;
    sl_cond_wait(&queue->not_full, &queue->mutex);
    queue->givers--;
}

/* Unlocks, then signals a waiting thread: one signaled while the lock is held would block on it. */
static void unlock_and_call(sl_queue *queue, bool taker, bool giver)
{
    sl_unlock(&queue->mutex);
    if (taker) {
        sl_cond_signal(&queue->not_empty);
    }
    if (giver) {
        sl_cond_signal(&queue->not_full);
    }
}

sluice_status sl_queue_push(sl_queue *queue, const void *items, size_t count)
{
    const uint8_t *next = items;
    sl_lock(&queue->mutex);
    for (size_t i = 0; i < count && !queue->closed; i++) {
        while (!queue->closed && queue->count == queue->capacity) {
            wait_for_space_locked(queue);
        }
        if (!queue->closed) {
            append_locked(queue, next);
            next += queue->item_bytes;
        }
    }
    const bool accepted = !queue->closed;
    unlock_and_call(queue, calls_taker_locked(queue), false);
    return accepted ? SLUICE_OK : SLUICE_CANCELED;
}

sluice_status sl_queue_pop(sl_queue *queue, void *item)
{
    sl_lock(&queue->mutex);
    /* As the consumer finds it: 0 means that it had to wait. */
    const size_t bin = sl_depth_bin(queue->count, queue->capacity);
    bool waited = false;
    while (!queue->closed && queue->count == 0) {
        queue->takers++;
        sl_cond_wait(&queue->not_empty, &queue->mutex);
        queue->takers--;
        waited = true;
    }
    const bool found = queue->count > 0;
    if (found) {
        queue_take_locked(queue, item);
        queue->depth[bin]++;
    }
    unlock_and_call(queue, waited && calls_taker_locked(queue), found && queue->givers > 0);
    return found ? SLUICE_OK : SLUICE_CANCELED;
}

bool sl_queue_is_idle(sl_queue *queue, size_t takers, uint64_t *taken)
{
    sl_lock(&queue->mutex);
    const bool idle = queue->count == 0 && queue->takers == takers;
    *taken = 0;
    for (size_t i = 0; i < SL_DEPTH_BINS; i++) {
        *taken += queue->depth[i];
    }
    sl_unlock(&queue->mutex);
    return idle;
}

void sl_queue_close(sl_queue *queue)
{
    sl_lock(&queue->mutex);
    queue->closed = true;
    sl_cond_broadcast(&queue->not_empty);
    sl_cond_broadcast(&queue->not_full);
    sl_unlock(&queue->mutex);
}

void sl_queue_depths(sl_queue *queue, uint64_t bins[SL_DEPTH_BINS])
{
    sl_lock(&queue->mutex);
    for (size_t i = 0; i < SL_DEPTH_BINS; i++) {
        bins[i] += queue->depth[i];
    }
    sl_unlock(&queue->mutex);
}
