/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue: a bounded queue of fixed-size items between threads.
 *
 * Purpose: back-pressure. A full queue blocks the producer, an empty one the consumer; close wakes
 * everyone. First in, first out.
 *
 * Wake-ups: a push signals one consumer, however many items it adds; a consumer that was signaled
 * and leaves items behind signals the next. So a consumer that is awake and fast lets the others
 * sleep, and a producer of many items pays for one wake-up.
 *
 * Lock: its own mutex, never held while a caller's code runs.
 *
 * Invariants: 0 <= count <= capacity; after close, push fails and pop drains the remaining items.
 */
#ifndef SL_QUEUE_H
#define SL_QUEUE_H

#include "histogram.h"

#include <sluice/common.h>

#include <pthread.h>
#include <stdbool.h>

typedef struct sl_queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    uint8_t *items;
    size_t item_bytes, capacity, head, count;
    size_t takers, givers; /* waiting threads, including those signaled and not running yet */
    bool closed;
    uint64_t depth[SL_DEPTH_BINS]; /* under mutex; sampled at each pop */
} sl_queue;

/* Errors: NOMEM. A zeroed queue may be destroyed. */
sluice_status sl_queue_open(sl_queue *queue, size_t capacity, size_t item_bytes,
                            sluice_error *error);
/* No thread may be in push or pop any more, not even about to return. */
void sl_queue_destroy(sl_queue *queue);
/* Copies `count` items in, in order, under one lock; waits while the queue is full. CANCELED when
 * it is closed before the last item is in. */
sluice_status sl_queue_push(sl_queue *queue, const void *items, size_t count);
/* Copies the oldest item out; waits while the queue is empty. CANCELED when it is closed and
 * empty. */
sluice_status sl_queue_pop(sl_queue *queue, void *item);
/* Returns whether `takers` threads wait for items and there are none; and how many items were taken
 * so far. */
bool sl_queue_is_idle(sl_queue *queue, size_t takers, uint64_t *taken);
void sl_queue_close(sl_queue *queue);
/* Adds the depths seen so far to `bins`. */
void sl_queue_depths(sl_queue *queue, uint64_t bins[SL_DEPTH_BINS]);

#endif
