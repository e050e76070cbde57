/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of window.h, written from its description, without its code. */
#include "window_valid.h"

static uint32_t slot_of(const sl_window *window, uint64_t sequence)
{
    return (uint32_t)(sequence % window->config.lookahead);
}

static uint32_t want_count(const sl_window *window)
{
    return window->config.lookahead + window->config.inserts;
}

/* Compares by file and offset. */
static bool comes_before(const sl_window *window, uint32_t a, uint32_t b)
{
    const sl_fetch_item *x = &window->wants[a].item;
    const sl_fetch_item *y = &window->wants[b].item;
    if (x->object != y->object) {
        return x->object < y->object;
    }
    if (x->offset != y->offset) {
        return x->offset < y->offset;
    }
    return a < b;
}

/* True if an item is in the order exactly while it is WANTED. */
static bool is_ordered(const sl_window *window, uint32_t index)
{
    const sl_want *want = &window->wants[index];
    return window->config.merge_bytes > 0 && !want->alone && want->item.bytes > 0 &&
           !sl_window_is_insert(window, index);
}

static bool order_valid(const sl_window *window)
{
    for (uint32_t i = 0; i < window->order_count; i++) {
        const uint32_t index = window->order[i];
        if (window->wants[index].state != SL_WANT_WANTED || !is_ordered(window, index) ||
            (i > 0 && !comes_before(window, window->order[i - 1], index))) {
            return false;
        }
    }
    return true;
}

/* Inserted items: waiting and free ones are in their lists, others in neither. */
static bool inserts_valid(const sl_window *window)
{
    uint32_t listed = 0;
    uint32_t wanted = 0;
    uint32_t last = SL_WANT_NONE;
    for (uint32_t i = window->insert_first; i != SL_WANT_NONE; i = window->wants[i].next) {
        if (window->wants[i].state != SL_WANT_WANTED || ++listed > window->config.inserts) {
            return false;
        }
        last = i;
    }
    for (uint32_t i = window->insert_free; i != SL_WANT_NONE; i = window->wants[i].next) {
        if (window->wants[i].state != SL_WANT_FREE || ++listed > window->config.inserts) {
            return false;
        }
    }
    for (uint32_t i = window->config.lookahead; i < want_count(window); i++) {
        const sl_want_state state = window->wants[i].state;
        wanted += state == SL_WANT_WANTED || state == SL_WANT_FREE;
    }
    return wanted == listed && last == window->insert_last;
}

bool window_valid(const sl_window *window)
{
    uint32_t ordered = 0;
    if (window->base > window->asked || window->credited > window->asked ||
        window->asked - window->base > window->config.lookahead || window->head > window->asked ||
        window->credited > window->credit) {
        return false;
    }
    for (uint64_t k = window->base; k < window->asked; k++) {
        const uint32_t index = slot_of(window, k);
        const sl_want *want = &window->wants[index];
        if (want->state != SL_WANT_FREE && want->item.sequence != k) {
            return false;
        }
        if ((want->state == SL_WANT_WANTED && k < window->head) ||
            (k == window->base && want->state == SL_WANT_FREE)) {
            return false;
        }
        ordered += want->state == SL_WANT_WANTED && is_ordered(window, index);
    }
    return ordered == window->order_count && order_valid(window) && inserts_valid(window);
}
