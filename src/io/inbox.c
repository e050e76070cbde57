/* SPDX-License-Identifier: Apache-2.0 */
#include "inbox.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

#include <assert.h>

sluice_status sl_inbox_open(sl_inbox *inbox, uint32_t inserts, sluice_error *error)
{
    *inbox = (sl_inbox){.dozing = true, .capacity = inserts};
    inbox->items = sl_calloc((size_t)inserts + 1, sizeof(*inbox->items));
    if (inbox->items == NULL) {
        return sl_no_memory(error, "io", "for %u inserted items", inserts);
    }
    sl_mutex_init(&inbox->mutex);
    sl_cond_init(&inbox->restarted);
    return SLUICE_OK;
}

void sl_inbox_close(sl_inbox *inbox)
{
    if (inbox->items != NULL) {
        sl_free(inbox->items);
        sl_cond_destroy(&inbox->restarted);
        sl_mutex_destroy(&inbox->mutex);
        inbox->items = NULL;
    }
}

void sl_inbox_signal(sl_inbox *inbox)
{
    /* seq_cst on attention and asleep, here and in sl_inbox_sleeping: either the thread sees
     * `attention` before it blocks, or this thread sees that it is asleep. */
    if (atomic_exchange_explicit(&inbox->attention, 1, memory_order_seq_cst) == 0 &&
        atomic_load_explicit(&inbox->asleep, memory_order_seq_cst) != 0) {
        sl_lock(&inbox->mutex);
        if (inbox->bell.ring != NULL) {
            inbox->bell.ring(inbox->bell.ctx);
        }
        sl_unlock(&inbox->mutex);
    }
}

void sl_inbox_credit(sl_inbox *inbox, uint64_t limit)
{
    sl_lock(&inbox->mutex);
    if (limit > inbox->credit) {
        inbox->credit = limit;
    }
    if (inbox->dozing) {
        inbox->dozing = false;
        inbox->ask = true;
    }
    sl_unlock(&inbox->mutex);
    sl_inbox_signal(inbox);
}

void sl_inbox_wake(sl_inbox *inbox)
{
    sl_lock(&inbox->mutex);
    inbox->dozing = false;
    inbox->ask = true;
    sl_unlock(&inbox->mutex);
    sl_inbox_signal(inbox);
}

void sl_inbox_insert(sl_inbox *inbox, const sl_fetch_item *item)
{
    sl_lock(&inbox->mutex);
    assert(inbox->count < inbox->capacity);
    inbox->items[(inbox->first + inbox->count++) % inbox->capacity] = *item;
    sl_unlock(&inbox->mutex);
    sl_inbox_signal(inbox);
}

void sl_inbox_stop(sl_inbox *inbox)
{
    sl_lock(&inbox->mutex);
    inbox->stop = true;
    sl_unlock(&inbox->mutex);
    sl_inbox_signal(inbox);
}

void sl_inbox_restart(sl_inbox *inbox)
{
    sl_lock(&inbox->mutex);
    const uint64_t mine = ++inbox->restarts_wanted;
    sl_unlock(&inbox->mutex);
    sl_inbox_signal(inbox);
    sl_lock(&inbox->mutex);
    while (inbox->restarts_done < mine) {
        sl_cond_wait(&inbox->restarted, &inbox->mutex);
    }
    sl_unlock(&inbox->mutex);
}

void sl_inbox_set_bell(sl_inbox *inbox, const sl_inbox_bell *bell)
{
    sl_lock(&inbox->mutex);
    inbox->bell = *bell;
    sl_unlock(&inbox->mutex);
}

sl_inbox_news sl_inbox_collect(sl_inbox *inbox)
{
    /* seq_cst, with the exchange in sl_inbox_signal, before the rest is read: a later entry sets it
     * again. */
    atomic_store_explicit(&inbox->attention, 0, memory_order_seq_cst);
    sl_lock(&inbox->mutex);
    const sl_inbox_news news = {.credit = inbox->credit,
                                .restarts = inbox->restarts_wanted - inbox->restarts_done,
                                .inserted = inbox->count,
                                .stop = inbox->stop,
                                .ask = inbox->ask};
    inbox->ask = false;
    sl_unlock(&inbox->mutex);
    return news;
}

bool sl_inbox_pop(sl_inbox *inbox, sl_fetch_item *item)
{
    sl_lock(&inbox->mutex);
    const bool any = inbox->count > 0;
    if (any) {
        *item = inbox->items[inbox->first];
        inbox->first = (inbox->first + 1) % inbox->capacity;
        inbox->count--;
    }
    sl_unlock(&inbox->mutex);
    return any;
}

bool sl_inbox_sleeping(sl_inbox *inbox, bool idle)
{
    /* release, with the acquire in sl_inbox_is_idle: a reader of this sleep's value sees that
     * sl_inbox_woke has counted the one before it. */
    atomic_store_explicit(&inbox->idle, idle, memory_order_release);
    atomic_store_explicit(&inbox->asleep, 1, memory_order_seq_cst); /* see sl_inbox_signal */
    return atomic_load_explicit(&inbox->attention, memory_order_seq_cst) == 0;
}

void sl_inbox_woke(sl_inbox *inbox)
{
    /* Relaxed: a signal that still sees the thread asleep rings in vain. */
    atomic_store_explicit(&inbox->asleep, 0, memory_order_relaxed);
    /* seq_cst, with the loads in sl_inbox_is_idle: before `attention` is cleared. */
    atomic_fetch_add_explicit(&inbox->rounds, 1, memory_order_seq_cst);
}

bool sl_inbox_is_idle(sl_inbox *inbox, uint64_t *rounds)
{
    /* seq_cst: with `rounds` the same before and behind them, both are of one sleep. */
    *rounds = atomic_load_explicit(&inbox->rounds, memory_order_seq_cst);
    const bool asleep = atomic_load_explicit(&inbox->asleep, memory_order_seq_cst) != 0 &&
                        atomic_load_explicit(&inbox->idle, memory_order_acquire);
    const bool called = atomic_load_explicit(&inbox->attention, memory_order_seq_cst) != 0;
    return asleep && !called &&
           atomic_load_explicit(&inbox->rounds, memory_order_seq_cst) == *rounds;
}

void sl_inbox_restarted(sl_inbox *inbox, uint64_t restarts)
{
    sl_lock(&inbox->mutex);
    inbox->credit = 0;
    inbox->ask = false;
    inbox->dozing = true;
    inbox->restarts_done += restarts;
    sl_cond_broadcast(&inbox->restarted);
    sl_unlock(&inbox->mutex);
}
