/* SPDX-License-Identifier: Apache-2.0 */
/* Tests every interleaving of the slot machine at small depths: visits all reachable states, tries
 * every action in each, and compares the outcome with the intended life of the slots. */
#include "slots.h"
#include "slots_valid.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 3

/* A state without the unused slots: about 100 bytes instead of 2 KiB. */
typedef struct small {
    uint64_t begun, copied, taken, discard_below;
    sl_host_slot host[DEPTH_MAX];
    sl_device_slot device[DEPTH_MAX];
} small;

typedef struct walk {
    sl_slots shape; /* counts and `shared`; expanded states start from it */
    uint64_t *seen; /* open addressing; 0: free */
    size_t seen_capacity;
    small *stack;
    size_t stack_capacity, depth;
    uint64_t states, transitions;
} walk;

typedef enum action {
    BEGIN,
    FILLED,
    COPY_BEGIN,
    COPY_QUEUED,
    COPY_DONE,
    TAKE,
    RELEASE,
    DISCARD,
    ACTIONS
} action;

static small shrink(const sl_slots *slots)
{
    small to = {.begun = slots->begun,
                .copied = slots->copied,
                .taken = slots->taken,
                .discard_below = slots->discard_below};
    memcpy(to.host, slots->host, sizeof(to.host));
    memcpy(to.device, slots->device, sizeof(to.device));
    return to;
}

static void expand(const walk *w, const small *from, sl_slots *slots)
{
    *slots = w->shape;
    slots->begun = from->begun;
    slots->copied = from->copied;
    slots->taken = from->taken;
    slots->discard_below = from->discard_below;
    memcpy(slots->host, from->host, sizeof(from->host));
    memcpy(slots->device, from->device, sizeof(from->device));
}

/* ---- visited states ---- */

/* Tickets count from `taken`. All lower ones are equivalent: the ticket of a held, discarded or
 * copied slot is never compared with another. */
static uint64_t ticket_key(const sl_slots *slots, uint64_t ticket)
{
    return ticket < slots->taken ? 0 : ticket - slots->taken + 1;
}

/* Exact: states with the same key behave identically. */
static uint64_t key_of(const sl_slots *slots)
{
    uint64_t key = 1; /* never 0 */
    for (uint32_t i = 0; i < slots->host_count; i++) {
        const sl_host_slot *host = &slots->host[i];
        key = key << 2 | host->state;
        key = key << 3 | (host->state == SL_HOST_EMPTY ? 0 : ticket_key(slots, host->ticket));
    }
    for (uint32_t i = 0; i < slots->device_count; i++) {
        const sl_device_slot *device = &slots->device[i];
        const bool copying = device->state == SL_DEVICE_COPYING;
        key = key << 2 | device->state;
        key = key << 2 | (copying ? device->host : 0);
        key = key << 3 | (device->state == SL_DEVICE_FREE ? 0 : ticket_key(slots, device->ticket));
    }
    return key;
}

static bool insert(uint64_t *seen, size_t capacity, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) % capacity;
    while (seen[at] != 0 && seen[at] != key) {
        at = (at + 1) % capacity;
    }
    const bool is_new = seen[at] == 0;
    seen[at] = key;
    return is_new;
}

static void grow_seen(walk *w)
{
    const size_t capacity = w->seen_capacity * 2;
    uint64_t *seen = calloc(capacity, sizeof(*seen));
    assert_non_null(seen);
    for (size_t i = 0; i < w->seen_capacity; i++) {
        if (w->seen[i] != 0) {
            insert(seen, capacity, w->seen[i]);
        }
    }
    free(w->seen);
    w->seen = seen;
    w->seen_capacity = capacity;
}

static void visit(walk *w, const sl_slots *slots)
{
    if (!insert(w->seen, w->seen_capacity, key_of(slots))) {
        return;
    }
    w->states++;
    if (w->states * 2 > w->seen_capacity) {
        grow_seen(w);
    }
    if (w->depth == w->stack_capacity) {
        w->stack_capacity *= 2;
        w->stack = realloc(w->stack, w->stack_capacity * sizeof(*w->stack));
        assert_non_null(w->stack);
    }
    w->stack[w->depth++] = shrink(slots);
}

/* ---- what should happen, told from the slots alone ---- */

/* Returns the lowest ticket that was begun and neither taken nor dropped, or UINT64_MAX. */
static uint64_t oldest_untaken(const sl_slots *slots)
{
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        const sl_host_slot *host = &slots->host[i];
        const bool waits = host->state == SL_HOST_FILLING || host->state == SL_HOST_FULL;
        if (waits && host->ticket >= slots->discard_below && host->ticket < oldest) {
            oldest = host->ticket;
        }
    }
    for (uint32_t i = 0; i < slots->device_count; i++) {
        const sl_device_slot *device = &slots->device[i];
        const bool waits = device->state == SL_DEVICE_COPYING || device->state == SL_DEVICE_READY;
        if (waits && device->ticket >= slots->discard_below && device->ticket < oldest) {
            oldest = device->ticket;
        }
    }
    return oldest;
}

static uint64_t oldest_uncopied(const sl_slots *slots)
{
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        const sl_host_slot *host = &slots->host[i];
        const bool waits = host->state == SL_HOST_FILLING || host->state == SL_HOST_FULL;
        if (waits && host->ticket >= slots->discard_below && host->ticket < oldest) {
            oldest = host->ticket;
        }
    }
    return oldest;
}

static bool any_host(const sl_slots *slots, sl_host_state state)
{
    for (uint32_t i = 0; i < slots->host_count; i++) {
        if (slots->host[i].state == state) {
            return true;
        }
    }
    return false;
}

static bool any_device(const sl_slots *slots, sl_device_state state)
{
    for (uint32_t i = 0; i < slots->device_count; i++) {
        if (slots->device[i].state == state) {
            return true;
        }
    }
    return false;
}

static bool full_with(const sl_slots *slots, uint64_t ticket)
{
    for (uint32_t i = 0; i < slots->host_count; i++) {
        if (slots->host[i].state == SL_HOST_FULL && slots->host[i].ticket == ticket) {
            return true;
        }
    }
    return false;
}

static bool ready_with(const sl_slots *slots, uint64_t ticket)
{
    for (uint32_t i = 0; i < slots->device_count; i++) {
        if (slots->device[i].state == SL_DEVICE_READY && slots->device[i].ticket == ticket) {
            return true;
        }
    }
    return false;
}

static bool copy_from_unqueued(const sl_slots *slots, uint32_t host)
{
    for (uint32_t i = 0; i < slots->device_count; i++) {
        if (slots->device[i].state == SL_DEVICE_COPYING && slots->device[i].host == host) {
            return true;
        }
    }
    return false;
}

static bool should_be_legal(const sl_slots *slots, action what, uint32_t slot)
{
    switch (what) {
    case BEGIN:
        return any_host(slots, SL_HOST_EMPTY);
    case FILLED:
        return slot < slots->host_count && slots->host[slot].state == SL_HOST_FILLING;
    case COPY_BEGIN:
        return full_with(slots, oldest_uncopied(slots)) &&
               (slots->shared || any_device(slots, SL_DEVICE_FREE));
    case COPY_QUEUED:
        return slot < slots->device_count && slots->device[slot].state == SL_DEVICE_COPYING;
    case COPY_DONE:
        return !slots->shared && slot < slots->host_count &&
               slots->host[slot].state == SL_HOST_COPYING && !copy_from_unqueued(slots, slot);
    case TAKE:
        return ready_with(slots, oldest_untaken(slots));
    case RELEASE:
        return slot < slots->device_count && slots->device[slot].state == SL_DEVICE_HELD;
    default:
        return true;
    }
}

/* The slots that a legal action may have touched; -1: none. */
typedef struct touched {
    int host, device;
} touched;

static bool apply(sl_slots *slots, action what, uint32_t slot, touched *where)
{
    uint32_t host = 0;
    uint32_t device = 0;
    bool legal = true;
    *where = (touched){-1, -1};
    switch (what) {
    case BEGIN:
        where->host = sl_slots_begin(slots);
        return where->host >= 0;
    case FILLED:
        legal = sl_slots_filled(slots, slot);
        where->host = (int)slot;
        break;
    case COPY_BEGIN:
        legal = sl_slots_copy_begin(slots, &host, &device);
        *where = (touched){(int)host, (int)device};
        break;
    case COPY_QUEUED:
        legal = sl_slots_copy_queued(slots, slot);
        *where = (touched){slots->shared ? (int)slot : -1, (int)slot};
        break;
    case COPY_DONE:
        legal = sl_slots_copy_done(slots, slot);
        where->host = (int)slot;
        break;
    case TAKE:
        where->device = sl_slots_take(slots);
        return where->device >= 0;
    case RELEASE:
        legal = sl_slots_release(slots, slot);
        *where = (touched){slots->shared ? (int)slot : -1, (int)slot};
        break;
    default:
        sl_slots_discard(slots);
        break;
    }
    return legal;
}

static void check_untouched(const sl_slots *before, const sl_slots *after, touched where)
{
    for (uint32_t i = 0; i < before->host_count; i++) {
        if ((int)i != where.host) {
            assert_memory_equal(&before->host[i], &after->host[i], sizeof(before->host[i]));
        }
    }
    for (uint32_t i = 0; i < before->device_count; i++) {
        if ((int)i != where.device) {
            assert_memory_equal(&before->device[i], &after->device[i], sizeof(before->device[i]));
        }
    }
}

static void check_discard(const sl_slots *before, const sl_slots *after)
{
    assert_false(any_host(after, SL_HOST_FULL));
    assert_false(any_device(after, SL_DEVICE_READY));
    assert_int_equal(after->taken, before->begun);
    assert_int_equal(oldest_untaken(after), UINT64_MAX);
    for (uint32_t i = 0; i < before->device_count; i++) {
        if (before->device[i].state != SL_DEVICE_READY) {
            assert_memory_equal(&before->device[i], &after->device[i], sizeof(after->device[i]));
        }
    }
    for (uint32_t i = 0; i < before->host_count; i++) {
        if (before->host[i].state == SL_HOST_FILLING) {
            assert_memory_equal(&before->host[i], &after->host[i], sizeof(after->host[i]));
        }
    }
}

static void check_begin(const sl_slots *before, const sl_slots *after, uint32_t host)
{
    assert_int_equal(before->host[host].state, SL_HOST_EMPTY);
    assert_int_equal(after->host[host].state, SL_HOST_FILLING);
    assert_int_equal(after->host[host].ticket, before->begun);
}

static void check_filled(const sl_slots *before, const sl_slots *after, uint32_t host)
{
    const bool dropped = before->host[host].ticket < before->discard_below;
    assert_int_equal(after->host[host].state, dropped ? SL_HOST_EMPTY : SL_HOST_FULL);
}

/* Checks that the slots named in `where` have made the transition of the action. */
static void check_outcome(const sl_slots *before, const sl_slots *after, action what, touched where)
{
    const uint32_t host = (uint32_t)where.host;
    const uint32_t device = (uint32_t)where.device;
    switch (what) {
    case BEGIN:
        check_begin(before, after, host);
        break;
    case FILLED:
        check_filled(before, after, host);
        break;
    case COPY_BEGIN: /* the oldest, into an unused slot */
        assert_int_equal(before->host[host].ticket, oldest_uncopied(before));
        assert_int_equal(before->device[device].state, SL_DEVICE_FREE);
        assert_int_equal(after->device[device].ticket, before->host[host].ticket);
        assert_int_equal(after->device[device].host, host);
        break;
    case COPY_QUEUED:
        assert_int_equal(after->device[device].state,
                         before->device[device].ticket < before->discard_below ? SL_DEVICE_FREE
                                                                               : SL_DEVICE_READY);
        break;
    case COPY_DONE:
        assert_int_equal(after->host[host].state, SL_HOST_EMPTY);
        break;
    case TAKE: /* in order: never before an older one */
        assert_int_equal(before->device[device].ticket, oldest_untaken(before));
        assert_int_equal(after->device[device].state, SL_DEVICE_HELD);
        break;
    case RELEASE:
        assert_int_equal(after->device[device].state, SL_DEVICE_FREE);
        assert_true(!after->shared || after->host[device].state == SL_HOST_EMPTY);
        break;
    default:
        check_discard(before, after);
        break;
    }
}

/* Decreases with every action except begin and discard, so that the others cannot continue
 * forever. */
static uint32_t work_left(const sl_slots *slots)
{
    static const uint32_t of_host[] = {0, 20, 10, 1};
    static const uint32_t of_device[] = {0, 4, 3, 2};
    uint32_t work = 0;
    for (uint32_t i = 0; i < slots->host_count; i++) {
        work += of_host[slots->host[i].state];
    }
    for (uint32_t i = 0; i < slots->device_count; i++) {
        work += of_device[slots->device[i].state];
    }
    return work;
}

/* Tries one action in one state. True if it was legal. */
static bool try_action(walk *w, const sl_slots *before, action what, uint32_t slot)
{
    sl_slots after = *before;
    touched where;
    const bool legal = apply(&after, what, slot, &where);
    assert_int_equal(legal, should_be_legal(before, what, slot));
    if (!legal) {
        assert_memory_equal(before, &after, sizeof(after));
        return false;
    }
    w->transitions++;
    assert_true(slots_valid(&after));
    if (what != DISCARD) {
        check_untouched(before, &after, where);
    }
    check_outcome(before, &after, what, where);
    if (what != BEGIN && what != DISCARD) {
        assert_true(work_left(&after) < work_left(before));
    }
    visit(w, &after);
    return true;
}

/* The filler and the copier alone bring a discarded run to rest: nobody takes or releases. */
static void check_drains(const sl_slots *state)
{
    sl_slots slots = *state;
    sl_slots_discard(&slots);
    touched where;
    bool any = true;
    while (any) {
        any = false;
        for (uint32_t i = 0; i < DEPTH_MAX; i++) {
            any |= apply(&slots, FILLED, i, &where);
            any |= apply(&slots, COPY_QUEUED, i, &where);
            any |= apply(&slots, COPY_DONE, i, &where);
        }
    }
    assert_true(sl_slots_idle(&slots));
    assert_true(slots_valid(&slots));
}

static void check_state(walk *w, const sl_slots *slots)
{
    bool progress = false;
    try_action(w, slots, BEGIN, 0);
    for (action what = FILLED; what < DISCARD; what++) {
        const bool of_slot = what != COPY_BEGIN && what != TAKE;
        for (uint32_t slot = 0; slot < (of_slot ? DEPTH_MAX + 1 : 1); slot++) {
            progress |= try_action(w, slots, what, slot);
        }
    }
    try_action(w, slots, DISCARD, 0);
    /* No deadlock: every slot in use can advance. */
    assert_true(progress || work_left(slots) == 0);
    check_drains(slots);
}

typedef void each_state(walk *w, const sl_slots *slots);

/* Calls `each` once for every reachable state. */
static void walk_all(uint32_t hosts, uint32_t devices, bool shared, each_state *extra)
{
    walk w = {.seen_capacity = 1024, .stack_capacity = 1024};
    w.seen = calloc(w.seen_capacity, sizeof(*w.seen));
    w.stack = calloc(w.stack_capacity, sizeof(*w.stack));
    assert_non_null(w.seen);
    assert_non_null(w.stack);
    sl_slots_init(&w.shape, hosts, devices, shared);
    visit(&w, &w.shape);
    while (w.depth > 0) {
        const small next = w.stack[--w.depth];
        sl_slots slots;
        expand(&w, &next, &slots);
        check_state(&w, &slots);
        if (extra != NULL) {
            extra(&w, &slots);
        }
    }
    printf("host %u, device %u%s: %llu states, %llu transitions\n", hosts, w.shape.device_count,
           shared ? " (shared)" : "", (unsigned long long)w.states,
           (unsigned long long)w.transitions);
    assert_true(w.states > 4);
    free(w.seen);
    free(w.stack);
}

TEST(all_interleavings_with_copies)
{
    for (uint32_t hosts = 1; hosts <= DEPTH_MAX; hosts++) {
        for (uint32_t devices = 1; devices <= DEPTH_MAX; devices++) {
            walk_all(hosts, devices, false, NULL);
        }
    }
}

TEST(all_interleavings_in_shared_memory)
{
    for (uint32_t slots = 1; slots <= DEPTH_MAX; slots++) {
        walk_all(slots, 1, true, NULL);
    }
}

/* ---- the checks can fail ---- */

static uint64_t broken_states;

static void must_be_invalid(const sl_slots *slots)
{
    assert_false(slots_valid(slots));
    broken_states++;
}

static void break_host(const sl_slots *slots, uint32_t i)
{
    const sl_host_slot *host = &slots->host[i];
    const bool wanted = host->state != SL_HOST_EMPTY && host->ticket >= slots->copied;
    sl_slots broken = *slots;
    if (wanted) { /* a batch is lost */
        memset(&broken.host[i], 0, sizeof(broken.host[i]));
        must_be_invalid(&broken);
        broken = *slots; /* its copy begins, but the order of copies is not updated */
        broken.host[i].state = SL_HOST_COPYING;
        must_be_invalid(&broken);
    }
    if (host->state == SL_HOST_COPYING && copy_from_unqueued(slots, i)) { /* reused under a copy */
        broken = *slots;
        memset(&broken.host[i], 0, sizeof(broken.host[i]));
        must_be_invalid(&broken);
    }
    if (host->state == SL_HOST_EMPTY && slots->begun > slots->copied) { /* the same ticket twice */
        broken = *slots;
        broken.host[i] = (sl_host_slot){.state = SL_HOST_FULL, .ticket = slots->copied};
        must_be_invalid(&broken);
    }
}

static void break_device(const sl_slots *slots, uint32_t i)
{
    const sl_device_slot *device = &slots->device[i];
    sl_slots broken = *slots;
    if (device->state == SL_DEVICE_READY) {
        broken.device[i].state = SL_DEVICE_HELD; /* taken, but the order is not updated */
        must_be_invalid(&broken);
        memset(&broken.device[i], 0, sizeof(broken.device[i])); /* lost */
        must_be_invalid(&broken);
    }
    if (device->state == SL_DEVICE_HELD) { /* taken twice */
        broken.device[i].state = SL_DEVICE_READY;
        must_be_invalid(&broken);
    }
    if (device->state == SL_DEVICE_COPYING) { /* of a slot that does not exist */
        broken.device[i].host = SL_SLOTS_MAX;
        must_be_invalid(&broken);
    }
}

static void break_everything(walk *w, const sl_slots *slots)
{
    (void)w;
    sl_slots broken = *slots;
    broken.taken = broken.copied + 1;
    must_be_invalid(&broken);
    broken = *slots;
    broken.begun++;
    must_be_invalid(&broken);
    for (uint32_t i = 0; i < slots->host_count; i++) {
        break_host(slots, i);
    }
    for (uint32_t i = 0; i < slots->device_count; i++) {
        break_device(slots, i);
    }
}

TEST(a_broken_transition_is_caught)
{
    broken_states = 0;
    walk_all(2, 2, false, break_everything);
    walk_all(2, 2, true, break_everything);
    printf("%llu broken states, all caught\n", (unsigned long long)broken_states);
    assert_true(broken_states > 1000);
}

/* ---- larger rings, at random ---- */

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33) % below;
}

static void walk_at_random(uint64_t *random, uint32_t hosts, uint32_t devices, bool shared)
{
    sl_slots slots;
    touched where;
    sl_slots_init(&slots, hosts, devices, shared);
    for (int i = 0; i < 3000; i++) {
        const sl_slots before = slots;
        const bool discard = draw(random, 200) == 0;
        const action what = discard ? DISCARD : (action)draw(random, DISCARD);
        const uint32_t slot = draw(random, SL_SLOTS_MAX);
        const bool legal = apply(&slots, what, slot, &where);
        assert_int_equal(legal, should_be_legal(&before, what, slot));
        assert_true(slots_valid(&slots));
    }
}

TEST(the_largest_rings_stay_valid)
{
    uint64_t random = 7;
    for (int i = 0; i < 5; i++) {
        walk_at_random(&random, SL_SLOTS_MAX, SL_SLOTS_MAX, true);
        walk_at_random(&random, SL_SLOTS_MAX, SL_SLOTS_MAX, false);
        walk_at_random(&random, 1 + draw(&random, 8), 1 + draw(&random, 8), false);
    }
}

TEST(counts_tell_the_queues)
{
    sl_slots slots;
    uint32_t host;
    uint32_t device;
    sl_slots_init(&slots, 3, 2, false);
    assert_true(sl_slots_idle(&slots));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sl_slots_begin(&slots), i);
        assert_true(sl_slots_filled(&slots, (uint32_t)i));
    }
    assert_int_equal(sl_slots_begin(&slots), -1);
    assert_int_equal(sl_slots_full(&slots), 3);
    assert_true(sl_slots_copy_begin(&slots, &host, &device));
    assert_true(sl_slots_copy_queued(&slots, device));
    assert_int_equal(sl_slots_full(&slots), 2);
    assert_int_equal(sl_slots_ready(&slots), 1);
    assert_false(sl_slots_idle(&slots));
    assert_true(sl_slots_discard(&slots));
    assert_false(sl_slots_discard(&slots));
    assert_false(sl_slots_idle(&slots)); /* the copy still reads its host slot */
    assert_true(sl_slots_copy_done(&slots, host));
    assert_true(sl_slots_idle(&slots));
}
