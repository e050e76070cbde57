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

void hold_drop(hold *h)
{
    if (h == NULL || atomic_fetch_sub_explicit(&h->owners, 1, memory_order_acq_rel) != 1) {
        return;
    }
    hold *parent = h->parent;
    if (parent == NULL || sluice_batch_release_on(h->batch, h->stream) == SLUICE_INVALID) {
        sluice_batch_release(h->batch);
    }
    if (parent == NULL) {
        atomic_fetch_sub_explicit(&h->count->held, 1, memory_order_relaxed);
        hold_count_drop(h->count);
    }
    free(h);
    hold_drop(parent);
}
