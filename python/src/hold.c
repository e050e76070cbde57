/* SPDX-License-Identifier: Apache-2.0 */
#include "hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_ALIGN ((size_t)64)

/* Counts are incremented with relaxed order, since the caller has one, and decremented with
 * acq_rel, so that the last owner sees the writes of all others. */

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
    if (count == NULL || atomic_fetch_sub_explicit(&count->owners, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (uint32_t i = 0; i < count->column_count; i++) {
        free(count->names[i]);
    }
    free(count->names);
    free(count->kept);
    free(count);
}

bool hold_count_columns(hold_count *count, const sluice_batch *batch)
{
    const uint32_t columns = sluice_batch_columns(batch);
    if (count->names != NULL) {
        return true;
    }
    char **names = calloc(columns, sizeof(*names));
    atomic_uint *kept = calloc(columns, sizeof(*kept));
    bool complete = names != NULL && kept != NULL;
    for (uint32_t i = 0; complete && i < columns; i++) {
        atomic_init(&kept[i], 0);
        names[i] = strdup(sluice_batch_column_name(batch, i));
        complete = names[i] != NULL;
    }
    if (complete) {
        count->names = names;
        count->kept = kept;
        count->column_count = columns;
        return true;
    }
    for (uint32_t i = 0; names != NULL && i < columns; i++) {
        free(names[i]);
    }
    free(names);
    free(kept);
    return false;
}

void hold_count_describe(const hold_count *count, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count->column_count; i++) {
        const unsigned kept = atomic_load_explicit(&count->kept[i], memory_order_relaxed);
        const char *between = used > 0 ? ", " : "";
        const int length = kept == 0 ? 0
                                     : snprintf(text + used, bytes - used, "%s'%s' of %u", between,
                                                count->names[i], kept);
        if (length < 0 || (size_t)length >= bytes - used) {
            text[used] = '\0'; /* no space for this name */
            return;
        }
        used += (size_t)length;
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
    h->kind = HOLD_BATCH;
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

hold *hold_column(hold *h, uint32_t column)
{
    hold *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    atomic_init(&made->owners, 1);
    made->kind = HOLD_COLUMN;
    made->column = column;
    made->batch = h->batch;
    made->count = h->count;
    made->parent = hold_share(h);
    atomic_fetch_add_explicit(&h->count->kept[column], 1, memory_order_relaxed);
    return made;
}

hold *hold_copy(const void *from, size_t bytes, void **data)
{
    const size_t front = (sizeof(hold) + COPY_ALIGN - 1) / COPY_ALIGN * COPY_ALIGN;
    const size_t whole = (front + bytes + COPY_ALIGN - 1) / COPY_ALIGN * COPY_ALIGN;
    hold *made = whole < bytes ? NULL : aligned_alloc(COPY_ALIGN, whole);
    if (made == NULL) {
        return NULL;
    }
    memset(made, 0, sizeof(*made));
    atomic_init(&made->owners, 1);
    made->kind = HOLD_COPY;
    *data = (uint8_t *)made + front;
    if (bytes > 0) {
        memcpy(*data, from, bytes);
    }
    return made;
}

hold *hold_for_stream(hold *h, struct CUstream_st *stream)
{
    hold *made = calloc(1, sizeof(*made));
    if (made == NULL || sluice_batch_retain(h->batch) < 0) {
        free(made);
        return NULL;
    }
    atomic_init(&made->owners, 1);
    made->kind = HOLD_STREAM;
    made->batch = h->batch;
    made->parent = hold_share(h);
    made->stream = stream;
    return made;
}

static hold_count *count_of(const hold *h)
{
    while (h->kind == HOLD_STREAM) {
        h = h->parent;
    }
    return h->count;
}

sluice_loader *hold_loader(const hold *h)
{
    return h->kind != HOLD_COPY ? count_of(h)->loader : NULL;
}

/* The default streams, with handles 0, 1 and 2, always exist: they fail only in a thread with
 * another context. */
static bool may_be_gone(const struct CUstream_st *stream)
{
    return (uintptr_t)stream > 2;
}

/* Returns false if its stream is being captured, or is not available in this thread. */
static bool give_back(const hold *h)
{
    if (h->kind == HOLD_COLUMN || h->kind == HOLD_COPY) {
        return true;
    }
    const bool streams = h->kind == HOLD_STREAM;
    const sluice_status status =
        streams ? sluice_batch_release_on(h->batch, h->stream) : SLUICE_INVALID;
    if (status == SLUICE_INVALID && (!streams || may_be_gone(h->stream))) {
        sluice_batch_release(h->batch);
        return true;
    }
    return status != SLUICE_STATE && status != SLUICE_INVALID;
}

/* Returns its slot. */
static void forget(hold *h)
{
    hold *parent = h->parent;
    if (h->kind == HOLD_BATCH) {
        atomic_fetch_sub_explicit(&h->count->held, 1, memory_order_relaxed);
        hold_count_drop(h->count);
    } else if (h->kind == HOLD_COLUMN) {
        atomic_fetch_sub_explicit(&h->count->kept[h->column], 1, memory_order_relaxed);
    }
    free(h);
    hold_drop(parent);
}

/* Keeps the hold until hold_retry. */
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
