/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the promises of the shard order: over all ranks, each sample comes once, each shard is
 * read from its front, windows stay within their limits, each shard that is read has one end, and
 * the rest of an epoch is the same from any entry point. python/tests/shard_model.py covers the
 * permutations. */
#include "shard_order.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 3000, SHARDS_MAX = 3000 };

static uint32_t below(uint32_t *seed, uint32_t bound)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % bound;
}

static uint32_t units[SAMPLES_MAX];
static uint32_t shard_of[SAMPLES_MAX];

/* Makes shards of up to `most` samples, each of up to `most_units`. */
static void make(sl_shard_set *set, const sl_shard_limits *limits, uint32_t samples, uint32_t most,
                 uint32_t most_units, uint32_t seed)
{
    uint32_t left = 0;
    uint32_t shards = 0;
    sl_shard_set_open(set, limits);
    for (uint32_t i = 0; i < samples; i++) {
        const bool begins = left == 0;
        left = begins ? 1 + below(&seed, most) : left;
        shards += begins;
        left--;
        units[i] = 1 + below(&seed, most_units);
        shard_of[i] = shards - 1;
        assert_true(sl_shard_set_add(set, units[i], begins));
    }
    assert_int_equal(set->samples, samples);
    assert_int_equal(set->count, shards);
    for (uint32_t i = 0; i < samples; i++) {
        assert_int_equal(sl_shard_set_find(set, i), shard_of[i]);
    }
}

/* Walks from `start` and stores the samples at the positions that follow. */
static uint32_t walk_all(const sl_shard_set *set, const sl_shard_epoch *epoch, uint64_t *at,
                         uint8_t *ends)
{
    static int64_t last[SHARDS_MAX];
    static uint8_t ended[SHARDS_MAX];
    sl_shard_walk walk;
    sl_shard_next next;
    uint32_t count = 0;
    assert_int_equal(sl_shard_walk_open(&walk, set, NULL), SLUICE_OK);
    sl_shard_walk_begin(&walk, epoch);
    for (uint64_t i = 0; i < set->count; i++) {
        last[i] = -1;
        ended[i] = 0;
    }
    while (sl_shard_walk_next(&walk, &next)) {
        assert_true(next.position >= epoch->start && next.position < SAMPLES_MAX);
        assert_true(sl_shard_walk_given(&walk) <= next.position + sl_shard_set_window(set));
        at[next.position] = next.sample;
        assert_int_equal(next.shard, shard_of[next.sample]);
        assert_true((int64_t)next.sample > last[next.shard]); /* from front to back */
        last[next.shard] = (int64_t)next.sample;
        assert_int_equal(ended[next.shard], 0); /* nothing after an end */
        ended[next.shard] = next.end != SL_SHARD_GOES_ON;
        if (ends != NULL && next.end != SL_SHARD_GOES_ON) {
            ends[next.shard] |= (uint8_t)next.end;
        }
        count++;
    }
    for (uint64_t i = 0; i < set->count; i++) {
        assert_true(ended[i] == (last[i] >= 0)); /* every shard that was begun */
    }
    assert_int_equal(sl_shard_walk_given(&walk), epoch->start + count);
    sl_shard_walk_close(&walk);
    return count;
}

/* Checks all ranks of an epoch, each entered at several positions. */
static void check_epoch(const sl_shard_set *set, const sl_shard_epoch *epoch)
{
    static uint64_t whole[SAMPLES_MAX];
    static uint64_t rest[SAMPLES_MAX];
    static uint8_t seen[SAMPLES_MAX];
    static uint8_t ends[SHARDS_MAX];
    uint64_t all = 0;
    memset(seen, 0, sizeof(seen));
    memset(ends, 0, sizeof(ends));
    for (uint32_t rank = 0; rank < epoch->world; rank++) {
        sl_shard_epoch own = *epoch;
        own.rank = rank;
        const uint32_t count = walk_all(set, &own, whole, ends);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(seen[whole[i]]++, 0);
        }
        for (own.start = 1; own.start < count; own.start += 1 + own.start / 3) {
            assert_int_equal(walk_all(set, &own, rest, NULL), count - own.start);
            assert_memory_equal(rest + own.start, whole + own.start,
                                (count - own.start) * sizeof(*rest));
        }
        all += count;
    }
    assert_int_equal(all, set->samples - epoch->dropped);
    for (uint64_t i = 0; i < set->count && epoch->dropped == 0; i++) {
        assert_true((ends[i] & SL_SHARD_ENDS) != 0); /* some rank reads it to its end */
    }
}

TEST(everything_once)
{
    static const sl_shard_limits limits[] = {
        {16, 1024, 16384}, {1, 1, 1}, {5, 3, 100}, {64, 2, 1000}, {3, 1000, 20}};
    uint32_t seed = 7;
    for (uint32_t round = 0; round < 120; round++) {
        sl_shard_set set;
        const uint32_t samples = 1 + below(&seed, round % 10 == 0 ? SAMPLES_MAX : 300);
        make(&set, &limits[round % 5], samples, 1 + below(&seed, 200), 1 + below(&seed, 30), round);
        const uint32_t world = 1 + below(&seed, 5);
        const uint64_t dropped = round % 3 == 0 ? below(&seed, samples) : 0;
        check_epoch(&set, &(sl_shard_epoch){
                              .seed = seed, .epoch = round, .world = world, .dropped = dropped});
        sl_shard_set_close(&set);
    }
}

/* The part of a window in memory never exceeds the stated limit. */
TEST(windows_are_bounded)
{
    uint32_t seed = 3;
    for (uint32_t round = 0; round < 40; round++) {
        sl_shard_set set;
        sl_shard_walk walk;
        sl_shard_next next;
        uint64_t own = 0;
        uint64_t given = 0;
        uint32_t count = 0;
        const sl_shard_limits limits = {1 + below(&seed, 20), 1 + below(&seed, 20),
                                        50 + below(&seed, 300)};
        make(&set, &limits, 2000, 300, 60, round);
        assert_int_equal(sl_shard_walk_open(&walk, &set, NULL), SLUICE_OK);
        sl_shard_walk_begin(&walk, &(sl_shard_epoch){.world = 1, .epoch = round});
        while (sl_shard_walk_next(&walk, &next)) {
            own += units[next.sample];
            count++;
            assert_true(own <= sl_shard_set_window_units(&set));
            assert_true(count <= sl_shard_set_window(&set));
            if (sl_shard_walk_given(&walk) != given) { /* the window's last sample */
                given = sl_shard_walk_given(&walk);
                own = count = 0;
            }
        }
        assert_int_equal(given, 2000);
        assert_true(sl_shard_set_window_units(&set) <=
                    (limits.window_units > 60 ? limits.window_units : 60));
        sl_shard_walk_close(&walk);
        sl_shard_set_close(&set);
    }
}

/* Neighbours are separated, and epochs differ. */
TEST(it_is_a_shuffle)
{
    static uint64_t orders[2][SAMPLES_MAX];
    const sl_shard_limits limits = {16, 1024, 16384};
    sl_shard_set set;
    uint32_t beside = 0;
    uint32_t same = 0;
    make(&set, &limits, 2000, 400, 7, 1);
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        (void)walk_all(&set, &(sl_shard_epoch){.world = 1, .epoch = epoch}, orders[epoch], NULL);
    }
    for (uint32_t i = 0; i + 1 < 2000; i++) {
        beside += orders[0][i] + 1 == orders[0][i + 1];
        same += orders[0][i] == orders[1][i];
    }
    assert_true(beside < 20 && same < 20);
    sl_shard_set_close(&set);
}

TEST(substitutes)
{
    const sl_shard_limits limits = {16, 1024, 16384};
    sl_shard_set set;
    make(&set, &limits, 500, 60, 7, 1);
    uint32_t different = 0;
    uint64_t before = UINT64_MAX;
    for (uint32_t position = 0; position < 500; position++) {
        for (uint32_t attempt = 1; attempt < 9; attempt++) {
            const sl_shard_bad bad = {.position = position, .sample = position, .attempt = attempt};
            const uint64_t sample = sl_shard_set_substitute(&set, &bad);
            assert_true(sample < 500 && sample != position);
            assert_int_equal(sample, sl_shard_set_substitute(&set, &bad));
            assert_true(sample - set.shards[shard_of[sample]].first < 8);
            different += sample != before;
            before = sample;
        }
    }
    assert_true(different > 3500);
    sl_shard_set_close(&set);
    make(&set, &limits, 2, 1, 1, 1); /* two shards of one sample */
    for (uint32_t attempt = 1; attempt < 9; attempt++) {
        assert_int_equal(
            sl_shard_set_substitute(&set, &(sl_shard_bad){.sample = 1, .attempt = attempt}), 0);
    }
    sl_shard_set_close(&set);
}
