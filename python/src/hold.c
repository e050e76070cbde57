/* SPDX-License-Identifier: Apache-2.0 */
#include "hold.h"

#include <stdlib.h>

/* Counts are taken with relaxed order, as who takes one has one; given up with acq_rel, so that the
 * last owner sees what all others did. */

hold_count *hold_count_new(void)
{
    hold_count *count = calloc(1, sizeof(*count));
    if (count != NULL) {
        atomic_init(&count->owners, 1);
    }
    return count;
}

void hold_count_drop(hold_count *count)
{
    if (count != NULL && atomic_fetch_sub_explicit(&count->owners, 1, memory_order_acq_rel) == 1) {
        free(count);
    }
}

hold *hold_new(sluice_batch *batch, hold_count *count)
{
    hold *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        sluice_batch_release(batch);
        return NULL;
    }
    atomic_init(&h->owners, 1);
    h->batch = batch;
    h->count = count;
    atomic_fetch_add_explicit(&count->owners, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&count->held, 1, memory_order_relaxed);
    return h;
}

hold *hold_share(hold *h)
{
    atomic_fetch_add_explicit(&h->owners, 1, memory_order_relaxed);
    return h;
}

hold *hold_for_stream(hold *h, struct CUstream_st *stream)
{
    hold *made = calloc(1, sizeof(*made));
    if (made == NULL || sluice_batch_retain(h->batch) < 0) {
        free(made);
        return NULL;
    }
    atomic_init(&made->owners, 1);
    made->batch = h->batch;
    made->parent = hold_share(h);
    made->stream = stream;
    return made;
}

static hold_count *count_of(const hold *h)
{
    while (h->parent != NULL) {
        h = h->parent;
    }
    return h->count;
}

sluice_loader *hold_loader(const hold *h)
{
    return count_of(h)->loader;
}

/* The default ones, whose handles are 0, 1 and 2, are never gone: they are refused in a thread that
 * has a context of its own. */
static bool may_be_gone(const struct CUstream_st *stream)
{
    return (uintptr_t)stream > 2;
}

/* false: its stream is being captured, or is not to be had in this thread. */
static bool give_back(const hold *h)
{
    const sluice_status status =
        h->parent == NULL ? SLUICE_INVALID : sluice_batch_release_on(h->batch, h->stream);
    if (status == SLUICE_INVALID && (h->parent == NULL || may_be_gone(h->stream))) {
        sluice_batch_release(h->batch);
        return true;
    }
    return status != SLUICE_STATE && status != SLUICE_INVALID;
}

/* Its slot is given back. */
static void forget(hold *h)
{
    hold *parent = h->parent;
    if (parent == NULL) {
        atomic_fetch_sub_explicit(&h->count->held, 1, memory_order_relaxed);
        hold_count_drop(h->count);
    }
    free(h);
    hold_drop(parent);
}

/* Until hold_retry. */
static void set_aside(hold_count *count, hold *h)
{
    h->next = atomic_load_explicit(&count->waiting, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&count->waiting, &h->next, h,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

void hold_drop(hold *h)
{
    if (h == NULL || atomic_fetch_sub_explicit(&h->owners, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (give_back(h)) {
        forget(h);
    } else {
        set_aside(count_of(h), h);
    }
}

void hold_retry(hold_count *count)
{
    if (count == NULL || atomic_load_explicit(&count->waiting, memory_order_relaxed) == NULL) {
        return;
    }
    hold *h = atomic_exchange_explicit(&count->waiting, NULL, memory_order_acquire);
    while (h != NULL) {
        hold *next = h->next;
        if (give_back(h)) {
            forget(h);
        } else {
            set_aside(count, h);
        }
        h = next;
    }
}
