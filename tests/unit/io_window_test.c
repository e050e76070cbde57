/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every interleaving of a small window: visits all reachable states and tries every action in each.
 * Invariants hold, nothing is delivered twice or without credit, and from every state all other
 * items can be delivered. Also merging, against plain sums.
 */
#include "test.h"
#include "window.h"
#include "window_valid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 4, INSERTS = 2, LOOKAHEAD = 3, ROOM = 1, WANTS = LOOKAHEAD + ROOM, ALL = 6 };
enum { STATES_MOST = TEST_AMOUNT(1 << 22, 30000) };
/* Pairs of items are due in swapped order, or all in the order requested. */
enum { PAIR = 2, DUES = LOOKAHEAD + 2 * PAIR };

static uint32_t spread;

/* A state: the window on its own arrays, and the fate of each item. */
typedef struct small {
    sl_window window;
    sl_want wants[WANTS];
    uint32_t order[LOOKAHEAD];
    uint32_t dues[DUES];
    uint8_t delivered[ALL], again[ALL];
    uint32_t inserted;
} small;

typedef struct walk {
    uint64_t *seen; /* hashes; 0: free */
    size_t capacity, count;
    small *stack;
    size_t depth, stack_capacity;
    bool wrong;
} walk;

/* Neighbours; one of the sequence and one of the inserted items need a lookup. */
static sl_fetch_item item_of(uint32_t number)
{
    sl_fetch_item item = {.tag = number, .offset = (uint64_t)number * 10, .bytes = 10, .object = 1};
    item.lookup = number == 2 || number == 5;
    item.due = spread > 0 ? number ^ 1 : 77; /* ignored */
    return item;
}

static void attach(small *s)
{
    s->window.wants = s->wants;
    s->window.order = s->order;
    s->window.dues = spread > 0 ? s->dues : NULL;
}

static void copy(small *to, const small *from)
{
    *to = *from;
    attach(to);
}

static void first_state(small *s)
{
    const sl_window_config config = {
        .lookahead = LOOKAHEAD, .inserts = ROOM, .spread = spread, .merge_bytes = 100};
    sl_window window;
    memset(s, 0, sizeof(*s));
    assert_int_equal(sl_window_open(&window, &config, NULL), SLUICE_OK);
    memcpy(s->wants, window.wants, sizeof(s->wants));
    if (spread > 0) {
        assert_int_equal(window.due_capacity, DUES);
        memcpy(s->dues, window.dues, sizeof(s->dues));
    }
    s->window = window;
    attach(s);
    sl_window_close(&window);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const small *s)
{
    const sl_window *w = &s->window;
    uint64_t hash = mix(mix(mix(mix(1, w->base), w->asked), w->credit), w->credited);
    hash = mix(mix(mix(hash, w->head), w->insert_first), w->insert_free);
    for (uint32_t i = 0; i < WANTS; i++) {
        const sl_want *want = &s->wants[i];
        hash = mix(mix(hash, want->state), want->state == SL_WANT_FREE ? 99 : want->item.tag);
        hash = mix(hash, (uint64_t)want->item.lookup << 1 | want->alone);
    }
    for (uint32_t i = 0; i < w->order_count; i++) {
        hash = mix(hash, s->order[i]);
    }
    for (uint32_t i = 0; i < ALL; i++) {
        hash = mix(hash, s->delivered[i] << 4 | s->again[i]);
    }
    for (uint32_t i = 0; spread > 0 && i < DUES; i++) {
        hash = mix(hash, s->dues[i]);
    }
    hash = mix(hash, s->inserted);
    return hash != 0 ? hash : 1;
}

static void deliver(walk *w, small *s, uint32_t index)
{
    const sl_want was = sl_window_deliver(&s->window, index);
    const bool inserted = was.item.sequence == SL_INSERTED;
    w->wrong |= ++s->delivered[was.item.tag] > 1 || was.item.lookup;
    const uint64_t due = spread > 0 ? was.item.sequence ^ 1 : was.item.sequence;
    w->wrong |= !inserted && due >= s->window.credit;
    w->wrong |=
        inserted != (was.item.tag >= ITEMS) || (!inserted && was.item.sequence != was.item.tag);
}

/* Acts like the fetch thread: READY lookups stay, others proceed when they are due. */
static void settle(walk *w, small *s, uint32_t index)
{
    const sl_want *want = &s->wants[index];
    if (!(want->state == SL_WANT_READY && want->item.lookup) &&
        sl_window_is_due(&s->window, index)) {
        s->wants[index].item.lookup = false; /* a failed one is delivered unchanged */
        deliver(w, s, index);
    }
}

static void settle_credited(walk *w, small *s)
{
    uint32_t index = sl_window_next_credited(&s->window);
    for (; index != SL_WANT_NONE; index = sl_window_next_credited(&s->window)) {
        if (s->wants[index].state == SL_WANT_READY && s->wants[index].item.lookup) {
            w->wrong = true; /* those are reported before anything else happens */
            return;
        }
        s->wants[index].item.lookup = false;
        deliver(w, s, index);
    }
}

static void learn(walk *w, small *s, uint32_t index, bool found)
{
    const sl_failure failure = {.kind = SL_FAILURE_SOURCE};
    sl_fetch_item item = item_of((uint32_t)s->wants[index].item.tag);
    item.lookup = false;
    if (found) {
        sl_window_moved(&s->window, index, &item);
    } else {
        sl_window_fail(&s->window, index, &failure);
        settle(w, s, index);
    }
}

static void ready(walk *w, small *s, uint32_t index, bool found)
{
    const sl_fetch_bytes bytes = {.handle = 7};
    sl_window_ready(&s->window, index, &bytes);
    if (s->wants[index].item.lookup) {
        learn(w, s, index, found);
    } else {
        settle(w, s, index);
    }
}

static void read_next(small *s, bool merge)
{
    const uint32_t index = sl_window_next(&s->window);
    const sl_span span = sl_window_span(&s->window, index, merge);
    (void)sl_window_take(&s->window, index, &span);
}

/* ---- actions: 0 .. 5, and three for each want ---- */

enum { ASK, INSERT, CREDIT, READ, READ_MERGED, PER_WANT, ACTIONS = PER_WANT + 4 * WANTS };

static bool act_on(walk *w, small *s, uint32_t index, uint32_t what)
{
    const sl_failure failure = {.kind = SL_FAILURE_READ};
    uint8_t *again = &s->again[s->wants[index].item.tag];
    if (s->wants[index].state != SL_WANT_READING || (what == 2 && *again >= 1)) {
        return false;
    }
    if (what == 0 || what == 3) {
        ready(w, s, index, what == 0);
    } else if (what == 1) {
        sl_window_fail(&s->window, index, &failure);
        settle(w, s, index);
    } else {
        ++*again;
        sl_window_again(&s->window, index, true);
    }
    return true;
}

/* False: the action is not possible here. */
static bool act(walk *w, small *s, uint32_t action)
{
    sl_fetch_item item;
    switch (action) {
    case ASK:
        if (s->window.asked == ITEMS || !sl_window_has_space(&s->window)) {
            return false;
        }
        item = item_of((uint32_t)s->window.asked);
        (void)sl_window_ask(&s->window, &item);
        settle_credited(w, s);
        return true;
    case INSERT:
        if (s->inserted == INSERTS || !sl_window_has_insert_space(&s->window)) {
            return false;
        }
        item = item_of(ITEMS + s->inserted++);
        (void)sl_window_insert(&s->window, &item);
        return true;
    case CREDIT:
        if (s->window.credit == ITEMS) {
            return false;
        }
        sl_window_credit(&s->window, s->window.credit + 2);
        settle_credited(w, s);
        return true;
    case READ:
    case READ_MERGED:
        if (sl_window_next(&s->window) == SL_WANT_NONE) {
            return false;
        }
        read_next(s, action == READ_MERGED);
        return true;
    default:
        return act_on(w, s, (action - PER_WANT) / 4, (action - PER_WANT) % 4);
    }
}

/* With full credit, everything is delivered once. */
static bool comes_through(walk *w, const small *from)
{
    small s;
    copy(&s, from);
    sl_window_credit(&s.window, ITEMS);
    for (uint32_t round = 0; round < 100; round++) {
        settle_credited(w, &s);
        (void)act(w, &s, ASK);
        (void)act(w, &s, INSERT);
        (void)act(w, &s, READ);
        for (uint32_t i = 0; i < WANTS; i++) {
            (void)act_on(w, &s, i, 0);
        }
    }
    for (uint32_t i = 0; i < ALL; i++) {
        if (s.delivered[i] != 1) {
            return false;
        }
    }
    return sl_window_any(&s.window) == SL_WANT_NONE && s.window.base == ITEMS;
}

/* A cancel leaves nothing behind. */
static bool cancels(const small *from)
{
    small s;
    copy(&s, from);
    const sl_failure failure = {.kind = SL_FAILURE_CANCELED};
    uint32_t index = sl_window_any(&s.window);
    for (uint32_t i = 0; index != SL_WANT_NONE && i < WANTS; i++) {
        (void)sl_window_cancel(&s.window, index, &failure);
        (void)sl_window_deliver(&s.window, index);
        index = sl_window_any(&s.window);
    }
    sl_window_restart(&s.window);
    return index == SL_WANT_NONE && window_valid(&s.window) && sl_window_has_space(&s.window) &&
           sl_window_has_insert_space(&s.window) && s.window.asked == 0;
}

static bool is_new(walk *w, uint64_t hash)
{
    size_t at = (size_t)(hash % w->capacity);
    while (w->seen[at] != 0 && w->seen[at] != hash) {
        at = (at + 1) % w->capacity;
    }
    const bool fresh = w->seen[at] == 0;
    w->seen[at] = hash;
    w->count += fresh;
    return fresh;
}

static void push(walk *w, const small *s)
{
    assert_true(w->depth < w->stack_capacity && w->count < w->capacity / 2);
    w->stack[w->depth++] = *s;
}

static void visit(walk *w)
{
    small from;
    copy(&from, &w->stack[--w->depth]);
    if (!comes_through(w, &from) || !cancels(&from)) {
        w->wrong = true;
    }
    for (uint32_t action = 0; action < ACTIONS && !w->wrong; action++) {
        small s;
        copy(&s, &from);
        if (act(w, &s, action)) {
            w->wrong |= !window_valid(&s.window);
            if (is_new(w, hash_of(&s))) {
                push(w, &s);
            }
        }
    }
}

static void every_interleaving(uint32_t of_spread)
{
    spread = of_spread;
    walk w = {.capacity = (size_t)1 << 23, .stack_capacity = 1 << 16};
    w.seen = calloc(w.capacity, sizeof(*w.seen));
    w.stack = calloc(w.stack_capacity, sizeof(*w.stack));
    if (w.seen == NULL || w.stack == NULL) {
        fail();
    }
    small first;
    first_state(&first);
    assert_true(is_new(&w, hash_of(&first)));
    push(&w, &first);
    while (w.depth > 0 && !w.wrong && w.count < STATES_MOST) {
        visit(&w);
    }
    assert_false(w.wrong);
    print_message("%zu states\n", w.count);
    assert_true(w.count > TEST_AMOUNT(100000, 10000));
    free(w.seen);
    free(w.stack);
}

TEST(interleavings_in_order)
{
    every_interleaving(0);
}

TEST(interleavings_of_pairs)
{
    every_interleaving(PAIR);
}

/* Whether an item is waited for: one due below the credit, in any order of arrival. */
TEST(what_is_waited_for)
{
    spread = PAIR;
    small s;
    first_state(&s);
    for (uint32_t i = 0; i < 3; i++) {
        const sl_fetch_item item = {.due = i ^ 1, .bytes = 1, .object = i, .offset = 1};
        (void)sl_window_ask(&s.window, &item);
    }
    assert_false(sl_window_is_waited_for(&s.window));
    sl_window_credit(&s.window, 1); /* the second item */
    assert_int_equal(sl_window_next_credited(&s.window), SL_WANT_NONE);
    read_next(&s, false);
    sl_window_ready(&s.window, 0, &(sl_fetch_bytes){.handle = 7});
    assert_false(sl_window_is_due(&s.window, 0));
    assert_true(sl_window_is_waited_for(&s.window));
    read_next(&s, false);
    sl_window_ready(&s.window, 1, &(sl_fetch_bytes){.handle = 7});
    assert_true(sl_window_is_due(&s.window, 1));
    (void)sl_window_deliver(&s.window, 1);
    assert_false(sl_window_is_waited_for(&s.window));
    spread = 0;
}

/* ---- merging ---- */

enum { MANY = 40 };

static uint32_t below(uint32_t *seed, uint32_t bound)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % bound;
}

/* Items read together are in one object, within the limits, and no near item is left out. */
static void check_span(const sl_window *window, uint32_t index)
{
    const sl_span span = sl_window_span(window, index, true);
    const sl_fetch_item *item = &window->wants[index].item;
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    bool inside = span.count == 1;
    for (uint32_t i = 0; i < span.count && span.count > 1; i++) {
        const sl_fetch_item *other = &window->wants[window->order[span.first + i]].item;
        assert_int_equal(other->object, item->object);
        low = other->offset < low ? other->offset : low;
        high = other->offset + other->bytes > high ? other->offset + other->bytes : high;
        inside |= other == item;
    }
    assert_true(inside);
    if (span.count > 1) {
        assert_int_equal(low, span.low);
        assert_int_equal(high, span.high);
        assert_true(high - low <= window->config.merge_bytes);
    }
    if (span.first + span.count < window->order_count && span.count > 1) {
        const sl_fetch_item *next = &window->wants[window->order[span.first + span.count]].item;
        const bool far = next->object != item->object ||
                         next->offset > high + window->config.merge_gap_bytes ||
                         next->offset + next->bytes - low > window->config.merge_bytes;
        assert_true(far);
    }
}

TEST(merging)
{
    uint32_t seed = 3;
    for (uint32_t round = 0; round < TEST_AMOUNT(300, 100); round++) {
        const sl_window_config config = {.lookahead = MANY,
                                         .inserts = 1,
                                         .merge_gap_bytes = below(&seed, 60),
                                         .merge_bytes = 1 + below(&seed, 500)};
        sl_window window;
        assert_int_equal(sl_window_open(&window, &config, NULL), SLUICE_OK);
        for (uint32_t i = 0; i < MANY; i++) {
            const sl_fetch_item item = {
                .offset = below(&seed, 1000), .bytes = 20, .object = below(&seed, 3)};
            (void)sl_window_ask(&window, &item);
        }
        for (uint32_t i = sl_window_next(&window); i != SL_WANT_NONE; i = sl_window_next(&window)) {
            assert_true(window_valid(&window));
            check_span(&window, i);
            const sl_span span = sl_window_span(&window, i, below(&seed, 3) > 0);
            (void)sl_window_take(&window, i, &span);
        }
        assert_int_equal(window.order_count, 0);
        sl_window_close(&window);
    }
}
