/* SPDX-License-Identifier: Apache-2.0 */
/* Tests filling the chunk cache by a plan: which chunks are fetched, kept and removed, over a fake
 * cache. */
#include "caching.h"

#include "chunk_waits.h"
#include "clock.h"
#include "fake_chunks.h"
#include "memory.h"
#include "permutation.h"
#include "stop.h"
#include "test.h"
#include "thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 4, EACH = 16, CHUNKS = OBJECTS * EACH, THREADS = 4 };

#define ROW_BYTES (SL_CHUNK_BYTES + 4096)

static void assert_near(double found, double expected, double off)
{
    assert_true(fabs(found - expected) <= off);
}

typedef struct rig {
    fake_chunks chunks;
    sl_caching_objects objects;
    sl_chunk_cache *cache;
    sl_caching *caching;
    uint64_t ahead; /* chunks fetched ahead: a quarter of the cache */
} rig;

static void open_rig(rig *r, uint64_t space_chunks, uint32_t threads)
{
    sluice_error error;
    r->chunks.most = space_chunks * ROW_BYTES;
    r->ahead = space_chunks < 16 ? 4 : space_chunks / 4;
    r->chunks.objects = OBJECTS;
    r->chunks.bytes_each = EACH * SL_CHUNK_BYTES;
    r->cache = fake_chunks_begin(&r->chunks);
    r->objects = fake_chunks_objects(&r->chunks);
    assert_int_equal(sl_caching_open(&r->caching, r->cache, &r->objects, threads, &error),
                     SLUICE_OK);
    assert_int_equal(sl_caching_first_chunk(r->caching, OBJECTS), CHUNKS);
}

static void pause_a_little(void)
{
    sl_sleep_until_ns(sl_deadline_ns(100000));
}

/* Waits until this many chunks of the plan are settled. */
static sl_caching_stats wait_settled(const rig *r, uint64_t count)
{
    const uint64_t deadline = sl_deadline_ns((int64_t)TEST_PATIENCE_NS);
    sl_caching_stats stats;
    for (;;) {
        sl_caching_get_stats(r->caching, &stats);
        if (stats.here + stats.fetched + stats.left >= count) {
            return stats;
        }
        assert_true(sl_now_ns() < deadline);
        pause_a_little();
    }
}

/* ---- epochs ---- */

/* Uses of chunks, in order. */
typedef struct epoch {
    uint32_t *uses;
    uint64_t count;
} epoch;

/* Uses each chunk `times` times, spread over the epoch. */
static epoch make_epoch(uint64_t number, uint32_t times)
{
    epoch made = {calloc((size_t)CHUNKS * times, sizeof(uint32_t)), (uint64_t)CHUNKS * times};
    const sl_permutation order = sl_permutation_make(made.count, number);
    assert_non_null(made.uses);
    for (uint64_t i = 0; i < made.count; i++) {
        made.uses[i] = (uint32_t)(sl_permutation_apply(&order, i) % CHUNKS);
    }
    return made;
}

static int by_first(const void *a, const void *b)
{
    const sl_chunk_plan *left = a;
    const sl_chunk_plan *right = b;
    return left->first < right->first ? -1 : left->first > right->first;
}

static void plan_epoch(sl_chunk_plan *plan, const epoch *now, const epoch *then)
{
    for (uint32_t i = 0; i < CHUNKS; i++) {
        plan[i] = (sl_chunk_plan){.object = i / EACH,
                                  .chunk = i % EACH,
                                  .first = SL_CHUNK_NEVER,
                                  .last = SL_CHUNK_NEVER,
                                  .again = SL_CHUNK_NEVER};
    }
    for (uint64_t i = 0; i < now->count; i++) {
        sl_chunk_plan *chunk = &plan[now->uses[i]];
        chunk->first = chunk->first == SL_CHUNK_NEVER ? i : chunk->first;
        chunk->last = i;
    }
    for (uint64_t i = then->count; i-- > 0;) {
        plan[then->uses[i]].again = i;
    }
    qsort(plan, CHUNKS, sizeof(*plan), by_first);
}

static void begin(const rig *r, const epoch *now, const epoch *then)
{
    sl_chunk_plan plan[CHUNKS];
    sluice_error error;
    plan_epoch(plan, now, then);
    assert_int_equal(
        sl_caching_begin(r->caching, &(sl_chunk_epoch){.chunks = plan, .count = CHUNKS}, &error),
        SLUICE_OK);
}

/* Reads an epoch as slowly as the cache fills. Returns the fraction of chunk uses whose chunk was
 * in the cache before the epoch and still is. */
static double run_epoch(const rig *r, const epoch *now, const epoch *then)
{
    bool before[CHUNKS];
    bool seen[CHUNKS] = {false};
    uint64_t hits = 0;
    uint64_t distinct = 0;
    sl_caching_stats stats;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        before[i] = fake_chunks_has(i);
    }
    begin(r, now, then);
    sl_caching_get_stats(r->caching, &stats);
    for (uint64_t i = 0; i < now->count; i++) {
        const uint32_t chunk = now->uses[i];
        sl_caching_advance(r->caching, i);
        distinct += !seen[chunk];
        seen[chunk] = true;
        /* Fetches everything allowed at this position, including the chunk now in use. */
        const uint64_t settled = distinct + r->ahead;
        (void)wait_settled(r, settled < stats.chunks ? settled : stats.chunks);
        hits += before[chunk] && fake_chunks_has(chunk);
    }
    return (double)hits / (double)now->count;
}

static double lru_share(const epoch *one, const epoch *two, uint64_t space)
{
    uint32_t *bytes = calloc(two->count, sizeof(*bytes));
    uint32_t sizes[CHUNKS];
    sluice_error error;
    sl_chunk_hits hits;
    assert_non_null(bytes);
    for (uint64_t i = 0; i < two->count; i++) {
        bytes[i] = 1;
    }
    for (uint32_t i = 0; i < CHUNKS; i++) {
        sizes[i] = (uint32_t)(two->count / CHUNKS);
    }
    const sl_chunk_uses uses = {one->uses,  two->uses,  bytes,  sizes,
                                one->count, two->count, CHUNKS, space * sizes[0]};
    assert_int_equal(sl_chunk_hits_find(&uses, &hits, &error), SLUICE_OK);
    free(bytes);
    return hits.lru;
}

/* Runs three epochs with a cache of this many chunks, each used `times` times per epoch. */
static void expect_hits(uint64_t space, uint32_t times, double least, double lru_most)
{
    rig r = {0};
    epoch epochs[4];
    sl_caching_stats stats;
    for (uint32_t i = 0; i < 4; i++) {
        epochs[i] = make_epoch(i, times);
    }
    open_rig(&r, space, THREADS);
    assert_near(run_epoch(&r, &epochs[0], &epochs[1]), 0, 0);
    for (uint32_t i = 1; i < 3; i++) {
        assert_true(run_epoch(&r, &epochs[i], &epochs[i + 1]) >= least);
        sl_caching_get_stats(r.caching, &stats);
        assert_int_equal(stats.removed + stats.fetched, 0); /* no chunk is replaced */
        assert_int_equal(stats.here, space);
        assert_int_equal(stats.left, CHUNKS - space);
    }
    assert_true(lru_share(&epochs[0], &epochs[1], space) <= lru_most);
    sl_caching_close(r.caching);
    for (uint32_t i = 0; i < 4; i++) {
        free(epochs[i].uses);
    }
}

TEST(a_cache_of_everything_is_filled_once)
{
    expect_hits(CHUNKS, 1, 1, 1);
    expect_hits(CHUNKS, 10, 1, 1);
}

TEST(half_a_cache_hits_half_by_shards)
{
    expect_hits(CHUNKS / 2, 1, 0.48, 0.25);
}

TEST(half_a_cache_hits_half_by_samples)
{
    expect_hits(CHUNKS / 2, 10, 0.48, 0);
}

/* ---- eviction ---- */

static epoch uses_of(uint32_t first, uint32_t count)
{
    epoch made = {calloc(count, sizeof(uint32_t)), count};
    assert_non_null(made.uses);
    for (uint32_t i = 0; i < count; i++) {
        made.uses[i] = first + i;
    }
    return made;
}

TEST(chunks_without_a_next_use_make_space)
{
    rig r = {0};
    epoch low = uses_of(0, CHUNKS / 2);
    epoch high = uses_of(CHUNKS / 4, CHUNKS / 2);
    open_rig(&r, CHUNKS / 2, THREADS);
    (void)run_epoch(&r, &low, &low);
    assert_int_equal(wait_settled(&r, CHUNKS / 2).fetched, CHUNKS / 2);
    /* The quarter without further uses is removed; the quarter that both epochs use stays. */
    assert_near(run_epoch(&r, &high, &high), 0.5, 1e-9);
    const sl_caching_stats stats = wait_settled(&r, CHUNKS / 2);
    assert_int_equal(stats.removed, CHUNKS / 4);
    assert_int_equal(stats.fetched, CHUNKS / 4);
    assert_int_equal(stats.left, 0);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        assert_int_equal(fake_chunks_has(i), i >= CHUNKS / 4 && i < CHUNKS * 3 / 4);
    }
    sl_caching_close(r.caching);
    free(low.uses);
    free(high.uses);
}

TEST(a_chunk_in_use_is_not_removed)
{
    rig r = {0};
    epoch low = uses_of(0, 8);
    epoch high = uses_of(8, 8);
    open_rig(&r, 8, 2);
    /* The low chunks have no later use, but are in use until the epoch's last position. */
    sl_chunk_plan plan[CHUNKS];
    sluice_error error;
    plan_epoch(plan, &low, &high);
    for (uint32_t i = 0; i < 8; i++) {
        plan[i].last = 100;
    }
    assert_int_equal(
        sl_caching_begin(r.caching, &(sl_chunk_epoch){.chunks = plan, .count = CHUNKS}, &error),
        SLUICE_OK);
    sl_caching_advance(r.caching, 7);
    assert_int_equal(wait_settled(&r, 8).fetched, 8);
    for (uint32_t i = 8; i < 16; i++) { /* used in this epoch, too */
        plan[i] = (sl_chunk_plan){i / EACH, i % EACH, 50, 100, 3, 0};
    }
    assert_int_equal(
        sl_caching_begin(r.caching, &(sl_chunk_epoch){.chunks = plan, .count = CHUNKS}, &error),
        SLUICE_OK);
    sl_caching_advance(r.caching, 60);
    const sl_caching_stats stats = wait_settled(&r, 16);
    assert_int_equal(stats.removed, 0);
    assert_int_equal(stats.left, 8);
    sl_caching_close(r.caching);
    free(low.uses);
    free(high.uses);
}

/* While keeping is off, lack of space is not why chunks are left. Nor does it count as the reason
 * once keeping is on again. */
TEST(nothing_is_removed_while_keeping_is_off)
{
    rig r = {0};
    epoch low = uses_of(0, CHUNKS / 2);
    epoch high = uses_of(CHUNKS / 2, CHUNKS / 2);
    open_rig(&r, CHUNKS / 2, 1);
    (void)run_epoch(&r, &low, &low);
    atomic_store_explicit(&r.chunks.off, true, memory_order_relaxed);
    begin(&r, &high, &high);
    sl_caching_advance(r.caching, 3);
    sl_caching_stats stats = wait_settled(&r, r.ahead + 4);
    assert_int_equal(stats.left, r.ahead + 4);
    assert_int_equal(stats.removed, 0);
    atomic_store_explicit(&r.chunks.off, false, memory_order_relaxed);
    sl_caching_advance(r.caching, CHUNKS);
    stats = wait_settled(&r, CHUNKS / 2);
    assert_int_equal(stats.removed, stats.fetched);
    assert_int_equal(stats.fetched, CHUNKS / 2 - r.ahead - 4);
    sl_caching_close(r.caching);
    free(low.uses);
    free(high.uses);
}

/* ---- how far ahead ---- */

TEST(fetching_stays_ahead_of_the_position_only)
{
    rig r = {0};
    epoch all = uses_of(0, CHUNKS);
    open_rig(&r, 32, 2); /* a quarter of it: 8 chunks */
    begin(&r, &all, &all);
    /* At position 0, the first chunk is in use. */
    assert_int_equal(wait_settled(&r, 9).fetched, 9);
    sl_caching_advance(r.caching, 4);
    assert_int_equal(wait_settled(&r, 13).fetched, 13);
    pause_a_little();
    assert_int_equal(wait_settled(&r, 13).fetched, 13);
    sl_caching_close(r.caching);
    free(all.uses);
}

/* ---- what reads wait for ---- */

/* Reads end when the gate opens, or when their thread must stop. */
typedef struct gate {
    _Atomic bool open, fails;
    _Atomic uint64_t inside;
} gate;

static bool pass_gate(void *ctx, uint64_t chunk)
{
    gate *g = ctx;
    (void)chunk;
    atomic_fetch_add_explicit(&g->inside, 1, memory_order_relaxed);
    while (!atomic_load_explicit(&g->open, memory_order_acquire)) {
        if (sl_stop_requested()) {
            return false;
        }
        pause_a_little();
    }
    return !atomic_load_explicit(&g->fails, memory_order_relaxed);
}

static void wait_inside(gate *g, uint64_t count)
{
    const uint64_t deadline = sl_deadline_ns((int64_t)TEST_PATIENCE_NS);
    while (atomic_load_explicit(&g->inside, memory_order_relaxed) < count) {
        assert_true(sl_now_ns() < deadline);
        pause_a_little();
    }
}

TEST(reads_wait_for_chunks_of_the_plan)
{
    rig r = {0};
    gate g = {.open = false};
    epoch all = uses_of(0, CHUNKS - 1);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 2);                           /* 16 ahead */
    assert_false(sl_caching_expects(r.caching, 0, 0)); /* no plan yet */
    begin(&r, &all, &all);
    wait_inside(&g, 2);
    assert_true(sl_caching_expects(r.caching, 0, 0)); /* being fetched */
    assert_true(sl_caching_expects(r.caching, 1, 0)); /* the last chunk within reach */
    assert_true(sl_caching_expects(r.caching, 3, 3)); /* out of turn */
    assert_true(sl_caching_expects(r.caching, 3, 3));
    assert_false(sl_caching_expects(r.caching, 3, EACH - 1)); /* an unused chunk */
    assert_false(sl_caching_expects(r.caching, 0, EACH));     /* no such chunk */
    const uint64_t changes = sl_caching_changes(r.caching);
    atomic_store_explicit(&g.open, true, memory_order_release);
    (void)wait_settled(&r, 18);
    assert_true(fake_chunks_has(3 * EACH + 3));
    assert_true(sl_caching_changes(r.caching) != changes);
    assert_false(sl_caching_expects(r.caching, 0, 0)); /* cached, or removed since */
    sl_caching_advance(r.caching, CHUNKS);
    assert_int_equal(wait_settled(&r, CHUNKS - 1).fetched, CHUNKS - 1); /* each once */
    assert_int_equal(atomic_load_explicit(&r.chunks.reads_begun, memory_order_relaxed), CHUNKS - 1);
    sl_caching_close(r.caching);
    free(all.uses);
}

/* Reads check again when the change counter has changed. */
TEST(closing_what_reads_wait_for_is_a_change)
{
    rig r = {0};
    gate g = {.open = false};
    epoch all = uses_of(0, CHUNKS);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 1);
    sl_chunk_waits *waits = sl_chunk_waits_open(r.caching);
    begin(&r, &all, &all);
    assert_true(sl_chunk_waits_ask(waits, 0, 0));
    const uint64_t changes = sl_chunk_waits_changes(waits);
    sl_chunk_waits_hold(waits);
    sl_chunk_waits_close(waits);
    assert_int_not_equal(sl_chunk_waits_changes(waits), changes);
    assert_false(sl_chunk_waits_ask(waits, 0, 0));
    sl_chunk_waits_release(waits);
    sl_caching_close(r.caching);
    free(all.uses);
}

/* A new plan forgets the requests of reads under the previous one: they ask again. */
TEST(a_new_plan_is_asked_again)
{
    rig r = {0};
    gate g = {.open = false};
    epoch all = uses_of(0, CHUNKS);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 1);
    begin(&r, &all, &all);
    wait_inside(&g, 1);
    assert_true(sl_caching_expects(r.caching, 3, 3));
    begin(&r, &all, &all);
    assert_true(sl_caching_expects(r.caching, 2, 2));
    atomic_store_explicit(&g.open, true, memory_order_release);
    (void)wait_settled(&r, 18);
    assert_true(fake_chunks_has(2 * EACH + 2));
    assert_false(fake_chunks_has(3 * EACH + 3));
    sl_caching_close(r.caching);
    free(all.uses);
}

TEST(reads_do_not_wait_without_space)
{
    rig r = {0};
    gate g = {.open = false};
    epoch all = uses_of(0, CHUNKS);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, 4, 2);
    begin(&r, &all, &all);
    wait_inside(&g, 2);
    for (uint32_t i = 0; i < 5; i++) { /* 5 are within reach */
        assert_int_equal(sl_caching_expects(r.caching, 0, i), i < 4);
    }
    atomic_store_explicit(&g.open, true, memory_order_release);
    (void)wait_settled(&r, 5);
    sl_caching_advance(r.caching, 10);
    assert_false(sl_caching_expects(r.caching, 0, 10)); /* the cache is full */
    sl_caching_close(r.caching);
    free(all.uses);
}

/* Another loader of the process may set a plan. */
TEST(a_new_plan_has_the_quota_of_now)
{
    rig r = {0};
    gate g = {.open = false};
    epoch all = uses_of(0, CHUNKS);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, 4, 1);
    begin(&r, &all, &all);
    wait_inside(&g, 1);
    assert_false(sl_caching_expects(r.caching, 0, 4));
    r.chunks.most = CHUNKS * ROW_BYTES;
    begin(&r, &all, &all);
    assert_true(sl_caching_expects(r.caching, 0, 4));
    atomic_store_explicit(&r.chunks.off, true, memory_order_relaxed); /* temporarily */
    begin(&r, &all, &all);
    assert_true(sl_caching_expects(r.caching, 0, 4));
    atomic_store_explicit(&g.open, true, memory_order_release);
    sl_caching_close(r.caching);
    free(all.uses);
}

TEST(reads_do_not_wait_after_a_failed_fetch)
{
    rig r = {0};
    gate g = {.open = true, .fails = true};
    epoch all = uses_of(0, CHUNKS);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 1);
    begin(&r, &all, &all);
    (void)wait_settled(&r, 17);
    sl_caching_advance(r.caching, 1);
    assert_false(sl_caching_expects(r.caching, 1, 1));
    /* One successful fetch is enough. */
    atomic_store_explicit(&g.fails, false, memory_order_relaxed);
    sl_caching_advance(r.caching, 4);
    (void)wait_settled(&r, 21);
    atomic_store_explicit(&g.open, false, memory_order_release);
    sl_caching_advance(r.caching, 6);
    assert_true(sl_caching_expects(r.caching, 1, 6));
    sl_caching_close(r.caching);
    free(all.uses);
}

/* Reads still wait for other objects if one object is not kept, but not if the store is silent. */
TEST(reads_do_not_wait_for_a_silent_store)
{
    for (int silent = 0; silent < 2; silent++) {
        rig r = {0};
        gate g = {.open = false};
        epoch all = uses_of(0, CHUNKS);
        r.chunks.reads = pass_gate;
        r.chunks.ctx = &g;
        open_rig(&r, CHUNKS, 1);
        atomic_store_explicit(&r.chunks.unknown, true, memory_order_relaxed);
        atomic_store_explicit(&r.chunks.silent, silent == 1, memory_order_relaxed);
        begin(&r, &all, &all);
        assert_int_equal(wait_settled(&r, 17).left, 17);
        assert_int_equal(sl_caching_expects(r.caching, 3, 3), silent == 0);
        sl_caching_close(r.caching);
        free(all.uses);
    }
}

/* A chunk is too late once its burst is over and reads have passed it. That remains known when the
 * next epoch is announced. */
TEST(chunks_that_reads_have_passed_are_left)
{
    rig r = {0};
    gate g = {.open = true, .fails = true};
    epoch all = uses_of(0, CHUNKS);
    sl_chunk_plan plan[CHUNKS];
    sluice_error error;
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 1);
    begin(&r, &all, &all);
    assert_int_equal(wait_settled(&r, 17).left, 17);
    assert_false(sl_caching_expects(r.caching, 1, 14)); /* since fetches failed */
    atomic_store_explicit(&g.fails, false, memory_order_relaxed);
    plan_epoch(plan, &all, &all);
    assert_int_equal(
        sl_caching_begin(
            r.caching, &(sl_chunk_epoch){.chunks = plan, .count = CHUNKS, .goes_on = true}, &error),
        SLUICE_OK);
    sl_caching_advance(r.caching, CHUNKS);
    assert_int_equal(wait_settled(&r, CHUNKS).left, 1);
    assert_false(fake_chunks_has(EACH + 14));
    sl_caching_close(r.caching);
    free(all.uses);
}

/* Bytes of a fetched chunk that are read for the first time would have been downloaded. */
TEST(a_chunk_that_was_fetched_is_hit_later)
{
    enum { READ = 1000 };
    rig r = {0};
    epoch all = uses_of(0, CHUNKS);
    sl_chunk_plan plan[CHUNKS];
    sluice_error error;
    open_rig(&r, CHUNKS, 1);
    fake_chunks_set(1, SL_CHUNK_HERE);
    plan_epoch(plan, &all, &all);
    plan[0].bytes = 2 * READ;
    plan[1].bytes = 2 * READ;
    assert_int_equal(
        sl_caching_begin(r.caching, &(sl_chunk_epoch){.chunks = plan, .count = CHUNKS}, &error),
        SLUICE_OK);
    (void)wait_settled(&r, 17);
    begin(&r, &all, &all); /* reads are late */
    assert_false(sl_caching_is_hit(r.caching, 0, 0, READ));
    assert_false(sl_caching_is_hit(r.caching, 0, 0, READ));
    assert_true(sl_caching_is_hit(r.caching, 0, 0, READ));
    assert_true(sl_caching_is_hit(r.caching, 0, 1, READ));
    assert_true(sl_caching_is_hit(r.caching, 0, CHUNKS, READ));
    sl_caching_close(r.caching);
    free(all.uses);
}

/* ---- other processes ---- */

TEST(chunks_of_other_processes_are_waited_for)
{
    rig r = {0};
    epoch all = uses_of(0, 4);
    open_rig(&r, CHUNKS, 2);
    fake_chunks_set(1, SL_CHUNK_COMING);
    fake_chunks_set(2, SL_CHUNK_COMING);
    begin(&r, &all, &all);
    assert_int_equal(wait_settled(&r, 2).fetched, 2);
    fake_chunks_set(1, SL_CHUNK_HERE);
    fake_chunks_set(2, SL_CHUNK_ABSENT); /* its writer died */
    const sl_caching_stats stats = wait_settled(&r, 4);
    assert_int_equal(stats.here, 1);
    assert_int_equal(stats.fetched, 3);
    sl_caching_close(r.caching);
    free(all.uses);
}

/* The other process was stopped. */
TEST(a_chunk_that_another_process_never_ends_is_left)
{
    rig r = {0};
    epoch all = uses_of(0, 2);
    open_rig(&r, CHUNKS, 1);
    sl_caching_close(r.caching);
    r.objects.wait_ns = 1;
    sluice_error error;
    assert_int_equal(sl_caching_open(&r.caching, r.cache, &r.objects, 1, &error), SLUICE_OK);
    fake_chunks_set(1, SL_CHUNK_COMING);
    begin(&r, &all, &all);
    const sl_caching_stats stats = wait_settled(&r, 2);
    assert_int_equal(stats.fetched, 1);
    assert_int_equal(stats.left, 1);
    sl_caching_close(r.caching);
    free(all.uses);
}

/* ---- reads that fail, or take long ---- */

TEST(chunks_that_cannot_be_read_are_left)
{
    rig r = {0};
    gate g = {.open = true, .fails = true};
    epoch all = uses_of(0, 4);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 2);
    begin(&r, &all, &all);
    assert_int_equal(wait_settled(&r, 4).left, 4);
    assert_int_equal(atomic_load_explicit(&r.chunks.dropped, memory_order_relaxed), 4);
    sl_caching_close(r.caching);
    free(all.uses);
}

TEST(closing_ends_reads)
{
    rig r = {0};
    gate g = {.open = false};
    epoch all = uses_of(0, 2);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 1);
    fake_chunks_set(0, SL_CHUNK_COMING);
    begin(&r, &all, &all);
    wait_inside(&g, 1); /* of chunk 1, since chunk 0 was postponed */
    sl_caching_close(r.caching);
    assert_int_equal(atomic_load_explicit(&r.chunks.dropped, memory_order_relaxed), 1);
    free(all.uses);
}

/* A fetch of the previous epoch continues and is not started again. */
TEST(a_new_plan_keeps_what_is_on_its_way)
{
    rig r = {0};
    gate g = {.open = false};
    epoch all = uses_of(0, 2);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    open_rig(&r, CHUNKS, 3);
    begin(&r, &all, &all);
    wait_inside(&g, 2);
    begin(&r, &all, &all);
    atomic_store_explicit(&g.open, true, memory_order_release);
    const uint64_t deadline = sl_deadline_ns((int64_t)TEST_PATIENCE_NS);
    sl_caching_stats stats;
    do {
        sl_caching_get_stats(r.caching, &stats);
        assert_true(sl_now_ns() < deadline);
        pause_a_little();
    } while (stats.here < 2);
    assert_int_equal(atomic_load_explicit(&r.chunks.reads_begun, memory_order_relaxed), 2);
    sl_caching_close(r.caching);
    free(all.uses);
}

/* ---- filling ---- */

typedef struct progress {
    uint64_t calls, done, all;
} progress;

static void note_progress(void *ctx, uint64_t done, uint64_t all)
{
    progress *p = ctx;
    assert_true(done >= p->done && done <= all);
    *p = (progress){p->calls + 1, done, all};
}

TEST(fill_keeps_all_that_there_is_space_for)
{
    rig r = {0};
    sluice_error error;
    sl_caching_stats stats;
    progress p = {0};
    const sl_caching_watch watch = {note_progress, &p};
    open_rig(&r, CHUNKS - 10, 1);
    sl_caching_close(r.caching);
    fake_chunks_set(7, SL_CHUNK_HERE);
    assert_int_equal(sl_caching_fill(r.cache, &r.objects, &watch, &stats, &error), SLUICE_OK);
    assert_int_equal(stats.here, 1);
    assert_int_equal(stats.fetched, CHUNKS - 11);
    assert_int_equal(stats.left_bytes, 10 * SL_CHUNK_BYTES);
    assert_int_equal(p.done, CHUNKS * SL_CHUNK_BYTES);
    assert_int_equal(p.all, CHUNKS * SL_CHUNK_BYTES);
}

TEST(fill_ends_when_it_is_to_stop)
{
    rig r = {0};
    gate g = {.open = false};
    sluice_error error;
    sl_caching_stats stats;
    _Atomic bool stop = true;
    open_rig(&r, CHUNKS, 1);
    sl_caching_close(r.caching);
    r.chunks.reads = pass_gate;
    r.chunks.ctx = &g;
    (void)sl_stop_work_under(&stop);
    assert_int_equal(
        sl_caching_fill(r.cache, &r.objects, &(sl_caching_watch){NULL, NULL}, &stats, &error),
        SLUICE_CANCELED);
    (void)sl_stop_work_under(NULL);
}

TEST(an_object_that_ends_in_a_chunk_counts_its_bytes)
{
    rig r = {0};
    sluice_error error;
    sl_caching_stats stats;
    open_rig(&r, CHUNKS, 1);
    sl_caching_close(r.caching);
    r.chunks.bytes_each = SL_CHUNK_BYTES + 5;
    r.cache = fake_chunks_begin(&r.chunks);
    assert_int_equal(
        sl_caching_fill(r.cache, &r.objects, &(sl_caching_watch){NULL, NULL}, &stats, &error),
        SLUICE_OK);
    assert_int_equal(stats.fetched, 2 * OBJECTS);
    assert_int_equal(stats.fetched_bytes, OBJECTS * (SL_CHUNK_BYTES + 5));
}
