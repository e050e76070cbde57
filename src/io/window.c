/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window: the window of wanted items: a ring, and a list of inserted ones. Pure; the fetch
 * thread owns it.
 */
#include "window.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"

#include <assert.h>
#include <string.h>

static uint32_t window_slot_of(const sl_window *window, uint64_t sequence)
{
    return (uint32_t)(sequence % window->config.lookahead);
}

static uint32_t want_count(const sl_window *window)
{
    return window->config.lookahead + window->config.inserts;
}

static void forget_lists(sl_window *window)
{
    window->order_count = 0;
    window->insert_first = SL_WANT_NONE;
    window->insert_last = SL_WANT_NONE;
    window->insert_free = SL_WANT_NONE;
    for (uint32_t i = want_count(window); i-- > window->config.lookahead;) {
        window->wants[i].next = window->insert_free;
        window->insert_free = i;
    }
    for (uint32_t i = 0; window->dues != NULL && i < window->due_capacity; i++) {
        window->dues[i] = SL_WANT_NONE;
    }
}

/* A set of due items may have begun before the oldest undelivered item, and end behind the
 * newest. */
static bool open_dues(sl_window *window)
{
    if (window->config.spread == 0) {
        return true;
    }
    window->due_capacity = window->config.lookahead + 2 * window->config.spread;
    window->dues = sl_calloc(window->due_capacity, sizeof(*window->dues));
    return window->dues != NULL;
}

sluice_status sl_window_open(sl_window *window, const sl_window_config *config, sluice_error *error)
{
    assert(config->lookahead > 0);
    *window = (sl_window){.config = *config};
    window->wants = sl_calloc(want_count(window), sizeof(*window->wants));
    window->order = sl_calloc(config->lookahead, sizeof(*window->order));
    if (window->wants == NULL || window->order == NULL || !open_dues(window)) {
        sl_window_close(window);
        return sl_no_memory(error, "io", "for %u wanted items", want_count(window));
    }
    forget_lists(window);
    return SLUICE_OK;
}

void sl_window_close(sl_window *window)
{
    sl_free(window->wants);
    sl_free(window->order);
    sl_free(window->dues);
    *window = (sl_window){0};
}

void sl_window_restart(sl_window *window)
{
    window->base = 0;
    window->asked = 0;
    window->head = 0;
    window->credit = 0;
    window->credited = 0;
    window->delivered = 0;
    forget_lists(window);
}

/* ---- what may be merged: a sorted array. Moving at most `lookahead` numbers costs less than a
 * tree's pointers would, and neighbours are neighbours. ---- */

static bool comes_before(const sl_window *window, uint32_t a, uint32_t b)
{
    const sl_fetch_item *x = &window->wants[a].item;
    const sl_fetch_item *y = &window->wants[b].item;
    if (x->object != y->object) {
        return x->object < y->object;
    }
    if (x->pass != y->pass) {
        return x->pass < y->pass;
    }
    if (x->offset != y->offset) {
        return x->offset < y->offset;
    }
    return a < b;
}

/* Returns the number of entries that come before want `index`. */
static uint32_t window_place_of(const sl_window *window, uint32_t index)
{
    uint32_t low = 0;
    uint32_t high = window->order_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (comes_before(window, window->order[middle], index)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns whether it is in the order while WANTED. */
static bool is_ordered(const sl_window *window, uint32_t index)
{
    const sl_want *want = &window->wants[index];
    return window->config.merge_bytes > 0 && !want->alone && want->item.bytes > 0 &&
           want->item.pieces == 0 && !sl_window_is_insert(window, index);
}

static void order_add(sl_window *window, uint32_t index)
{
    const uint32_t place = window_place_of(window, index);
    assert(window->order_count < window->config.lookahead);
    memmove(window->order + place + 1, window->order + place,
            (window->order_count - place) * sizeof(*window->order));
    window->order[place] = index;
    window->order_count++;
}

static void order_remove(sl_window *window, uint32_t first, uint32_t count)
{
    assert(first + count <= window->order_count);
    window->order_count -= count;
    memmove(window->order + first, window->order + first + count,
            (window->order_count - first) * sizeof(*window->order));
}

/* ---- wanting ---- */

static void make_wanted(sl_window *window, uint32_t index)
{
    sl_want *want = &window->wants[index];
    want->next = SL_WANT_NONE;
    want->state = SL_WANT_WANTED;
    if (sl_window_is_insert(window, index)) {
        if (window->insert_last == SL_WANT_NONE) {
            window->insert_first = index;
        } else {
            window->wants[window->insert_last].next = index;
        }
        window->insert_last = index;
        return;
    }
    if (want->item.sequence < window->head) {
        window->head = want->item.sequence;
    }
    if (is_ordered(window, index)) {
        order_add(window, index);
    }
}

/* Removes a WANTED one from the unread ones. */
static void unqueue(sl_window *window, uint32_t index)
{
    if (sl_window_is_insert(window, index)) {
        assert(index == window->insert_first);
        window->insert_first = window->wants[index].next;
        if (window->insert_first == SL_WANT_NONE) {
            window->insert_last = SL_WANT_NONE;
        }
    } else if (is_ordered(window, index)) {
        const uint32_t place = window_place_of(window, index);
        assert(place < window->order_count && window->order[place] == index);
        order_remove(window, place, 1);
    }
}

bool sl_window_has_space(const sl_window *window)
{
    return window->asked - window->base < window->config.lookahead;
}

bool sl_window_has_insert_space(const sl_window *window)
{
    return window->insert_free != SL_WANT_NONE;
}

uint32_t sl_window_ask(sl_window *window, const sl_fetch_item *item)
{
    assert(sl_window_has_space(window));
    const uint32_t index = window_slot_of(window, window->asked);
    sl_want *want = &window->wants[index];
    assert(want->state == SL_WANT_FREE);
    *want = (sl_want){.item = *item};
    want->item.sequence = window->asked++;
    if (window->dues == NULL) {
        want->item.due = want->item.sequence;
    } else {
        assert(window->dues[item->due % window->due_capacity] == SL_WANT_NONE);
        window->dues[item->due % window->due_capacity] = index;
    }
    make_wanted(window, index);
    return index;
}

uint32_t sl_window_insert(sl_window *window, const sl_fetch_item *item)
{
    assert(sl_window_has_insert_space(window));
    const uint32_t index = window->insert_free;
    sl_want *want = &window->wants[index];
    window->insert_free = want->next;
    *want = (sl_want){.item = *item};
    want->item.sequence = SL_INSERTED;
    make_wanted(window, index);
    return index;
}

/* ---- reading ---- */

uint32_t sl_window_next(sl_window *window)
{
    if (window->insert_first != SL_WANT_NONE) {
        return window->insert_first;
    }
    for (; window->head < window->asked; window->head++) {
        const uint32_t index = window_slot_of(window, window->head);
        if (window->wants[index].state == SL_WANT_WANTED) {
            return index;
        }
    }
    return SL_WANT_NONE;
}

static uint64_t window_end_of(const sl_fetch_item *item)
{
    return item->offset + item->bytes;
}

/* Returns `span` extended by `item`; false if that breaks a limit of merging. */
static bool reaches(const sl_window *window, sl_span *span, const sl_fetch_item *item,
                    const sl_fetch_item *of)
{
    const uint64_t low = sl_min_u64(item->offset, span->low);
    const uint64_t high = window_end_of(item) > span->high ? window_end_of(item) : span->high;
    uint64_t gap = 0;
    if (item->offset > span->high) {
        gap = item->offset - span->high;
    } else if (window_end_of(item) < span->low) {
        gap = span->low - window_end_of(item);
    }
    if (item->object != of->object || item->pass != of->pass ||
        gap > window->config.merge_gap_bytes || high - low > window->config.merge_bytes) {
        return false;
    }
    span->low = low;
    span->high = high;
    span->count++;
    return true;
}

sl_span sl_window_span(const sl_window *window, uint32_t index, bool merge)
{
    const sl_fetch_item *item = &window->wants[index].item;
    sl_span span = {item->offset, window_end_of(item), 0, 1};
    if (!merge || !is_ordered(window, index)) {
        return span;
    }
    span.first = window_place_of(window, index);
    for (uint32_t next = span.first + 1; next < window->order_count; next++) {
        if (!reaches(window, &span, &window->wants[window->order[next]].item, item)) {
            break;
        }
    }
    while (span.first > 0 &&
           reaches(window, &span, &window->wants[window->order[span.first - 1]].item, item)) {
        span.first--;
    }
    return span;
}

uint32_t sl_window_take(sl_window *window, uint32_t index, const sl_span *span)
{
    sl_want *want = &window->wants[index];
    assert(want->state == SL_WANT_WANTED);
    if (span->count == 1) {
        unqueue(window, index);
        want->state = SL_WANT_READING;
        want->next = SL_WANT_NONE;
        return index;
    }
    uint32_t list = SL_WANT_NONE;
    for (uint32_t i = span->count; i-- > 0;) {
        const uint32_t other = window->order[span->first + i];
        assert(window->wants[other].state == SL_WANT_WANTED);
        window->wants[other].state = SL_WANT_READING;
        window->wants[other].next = list;
        list = other;
    }
    order_remove(window, span->first, span->count);
    return list;
}

void sl_window_ready(sl_window *window, uint32_t index, const sl_fetch_bytes *bytes)
{
    sl_want *want = &window->wants[index];
    assert(want->state == SL_WANT_READING);
    want->bytes = *bytes;
    want->state = SL_WANT_READY;
}

void sl_window_fail(sl_window *window, uint32_t index, const sl_failure *failure)
{
    sl_want *want = &window->wants[index];
    assert(want->state == SL_WANT_READING || want->state == SL_WANT_WANTED ||
           want->state == SL_WANT_READY);
    if (want->state == SL_WANT_WANTED) {
        unqueue(window, index);
    }
    want->failure = *failure;
    want->state = SL_WANT_FAILED;
}

void sl_window_again(sl_window *window, uint32_t index, bool alone)
{
    sl_want *want = &window->wants[index];
    assert(want->state == SL_WANT_READING);
    want->alone = want->alone || alone;
    make_wanted(window, index);
}

void sl_window_moved(sl_window *window, uint32_t index, const sl_fetch_item *item)
{
    sl_want *want = &window->wants[index];
    assert(want->state == SL_WANT_READY && want->item.lookup);
    const uint64_t sequence = want->item.sequence;
    const uint64_t tag = want->item.tag;
    const uint64_t due = want->item.due;
    *want = (sl_want){.item = *item};
    want->item.sequence = sequence;
    want->item.tag = tag;
    want->item.due = due;
    make_wanted(window, index);
}

/* ---- delivering ---- */

void sl_window_credit(sl_window *window, uint64_t limit)
{
    window->credit = sl_max_u64(limit, window->credit);
}

bool sl_window_is_waited_for(const sl_window *window)
{
    return window->delivered < window->credit;
}

bool sl_window_is_due(const sl_window *window, uint32_t index)
{
    return sl_window_is_insert(window, index) || window->wants[index].item.due < window->credited;
}

/* Returns the want that is due as number `due`; NONE: it is not requested yet, or was delivered. */
static uint32_t due_want(const sl_window *window, uint64_t due)
{
    return window->dues != NULL ? window->dues[due % window->due_capacity]
                                : window_slot_of(window, due);
}

uint32_t sl_window_next_credited(sl_window *window)
{
    while (window->credited < window->credit && window->credited < window->asked) {
        const uint32_t index = due_want(window, window->credited++);
        const sl_want_state state =
            index != SL_WANT_NONE ? window->wants[index].state : SL_WANT_FREE;
        if (state == SL_WANT_READY || state == SL_WANT_FAILED) {
            return index;
        }
    }
    return SL_WANT_NONE;
}

sl_want sl_window_deliver(sl_window *window, uint32_t index)
{
    sl_want *want = &window->wants[index];
    assert(want->state == SL_WANT_READY || want->state == SL_WANT_FAILED);
    const sl_want was = *want;
    want->state = SL_WANT_FREE;
    if (sl_window_is_insert(window, index)) {
        want->next = window->insert_free;
        window->insert_free = index;
        return was;
    }
    window->delivered++;
    if (window->dues != NULL) {
        window->dues[was.item.due % window->due_capacity] = SL_WANT_NONE;
    }
    while (window->base < window->asked &&
           window->wants[window_slot_of(window, window->base)].state == SL_WANT_FREE) {
        window->base++;
    }
    return was;
}

uint32_t sl_window_any(const sl_window *window)
{
    for (uint64_t k = window->base; k < window->asked; k++) {
        if (window->wants[window_slot_of(window, k)].state != SL_WANT_FREE) {
            return window_slot_of(window, k);
        }
    }
    for (uint32_t i = window->config.lookahead; i < want_count(window); i++) {
        if (window->wants[i].state != SL_WANT_FREE) {
            return i;
        }
    }
    return SL_WANT_NONE;
}

sl_want sl_window_cancel(sl_window *window, uint32_t index, const sl_failure *failure)
{
    sl_want *want = &window->wants[index];
    assert(want->state != SL_WANT_FREE);
    const sl_want was = *want;
    want->failure = *failure;
    want->state = SL_WANT_FAILED;
    return was;
}
