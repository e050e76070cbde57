/* SPDX-License-Identifier: Apache-2.0 */
/* The arena against a plain array that remembers the owner of each unit. */
#include "read_arena.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define UNITS 256U /* 4 MiB */
#define RUNS  300U

static uint32_t below(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 8) % bound;
}

/* First fit by brute force: returns the first of `units` consecutive free units, or UNITS. */
static uint32_t first_fit(const uint32_t owner[UNITS], uint32_t units)
{
    for (uint32_t at = 0; at + units <= UNITS; at++) {
        uint32_t n = 0;
        while (n < units && owner[at + n] == 0) {
            n++;
        }
        if (n == units) {
            return at;
        }
    }
    return UNITS;
}

static void paint(uint32_t owner[UNITS], sl_arena_run run, uint32_t from, uint32_t colour)
{
    for (uint32_t i = from; i < run.units; i++) {
        owner[run.first + i] = colour;
    }
}

static uint32_t count_free(const uint32_t owner[UNITS])
{
    uint32_t free_units = 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        free_units += owner[i] == 0 ? 1 : 0;
    }
    return free_units;
}

TEST(take_trim_give)
{
    static uint32_t owner[UNITS];
    static sl_arena_run runs[RUNS];
    uint32_t seed = 1;
    sl_read_arena arena;
    sl_budget budget;
    sl_budget_init(&budget, UINT64_MAX);
    assert_int_equal(sl_read_arena_open(&arena, UNITS * SL_ARENA_UNIT, SIZE_MAX, &budget, NULL),
                     SLUICE_OK);
    assert_int_equal(arena.units, UNITS);
    assert_int_equal((uintptr_t)arena.slab.base % SL_ARENA_UNIT, 0);
    for (uint32_t step = 0; step < 50000; step++) {
        uint32_t i = below(&seed, RUNS);
        if (runs[i].units == 0) {
            size_t bytes = below(&seed, step % 8 == 0 ? 2000000 : 60000);
            uint32_t units = bytes == 0 ? 1 : (uint32_t)((bytes - 1) / SL_ARENA_UNIT + 1);
            uint32_t expected = first_fit(owner, units);
            runs[i] = sl_read_arena_take(&arena, bytes);
            assert_int_equal(runs[i].units, expected == UNITS ? 0 : units);
            assert_int_equal(runs[i].first, expected == UNITS ? 0 : expected);
            paint(owner, runs[i], 0, i + 1);
        } else if (below(&seed, 3) == 0) {
            sl_arena_run old = runs[i];
            runs[i] = sl_read_arena_trim(&arena, old, below(&seed, 100000));
            assert_int_equal(runs[i].first, old.first);
            assert_in_range(runs[i].units, 1, old.units);
            paint(owner, old, runs[i].units, 0);
        } else {
            paint(owner, runs[i], 0, 0);
            assert_int_equal(sl_read_arena_give(&arena, &runs[i], 1), count_free(owner));
            runs[i].units = 0;
        }
        assert_int_equal(arena.free_units, count_free(owner));
    }
    sl_read_arena_close(&arena, 0);
    assert_int_equal(sl_budget_used(&budget), 0);
    sl_read_arena_close(&arena, 0); /* a zeroed arena is allowed */
}

TEST(limits)
{
    sl_read_arena arena;
    sl_budget budget;
    sl_budget_init(&budget, UNITS * SL_ARENA_UNIT);
    assert_int_equal(sl_read_arena_open(&arena, UNITS * SL_ARENA_UNIT + 1, SIZE_MAX, &budget, NULL),
                     SLUICE_NOMEM);
    assert_int_equal(sl_read_arena_open(&arena, UNITS * SL_ARENA_UNIT, SIZE_MAX, &budget, NULL),
                     SLUICE_OK);
    assert_int_equal(sl_read_arena_take(&arena, UNITS * SL_ARENA_UNIT + 1).units, 0);
    assert_int_equal(sl_read_arena_take(&arena, SIZE_MAX).units, 0);
    sl_arena_run all = sl_read_arena_take(&arena, UNITS * SL_ARENA_UNIT);
    assert_int_equal(all.units, UNITS);
    assert_int_equal(sl_read_arena_take(&arena, 1).units, 0);
    memset(sl_read_arena_data(&arena, all), 1, UNITS * SL_ARENA_UNIT);
    assert_int_equal(sl_read_arena_give(&arena, &all, 1), UNITS);
    sl_read_arena_close(&arena, 0);
}

/* The memory after the first part is usable once the arena is widened, and not touched before. */
TEST(widened)
{
    sl_read_arena arena;
    assert_int_equal(
        sl_read_arena_open(&arena, UNITS * SL_ARENA_UNIT, 3 * SL_ARENA_UNIT, NULL, NULL),
        SLUICE_OK);
    assert_int_equal(sl_read_arena_limit(&arena), 3);
    assert_int_equal(sl_read_arena_free(&arena), 3);
    assert_int_equal(sl_read_arena_take(&arena, 4 * SL_ARENA_UNIT).units, 0);
    const sl_arena_run first = sl_read_arena_take(&arena, 2 * SL_ARENA_UNIT);
    assert_int_equal(first.units, 2);
    assert_int_equal(sl_read_arena_take(&arena, 2 * SL_ARENA_UNIT).units, 0);
    sl_read_arena_widen(&arena);
    assert_int_equal(sl_read_arena_limit(&arena), UNITS);
    assert_int_equal(sl_read_arena_free(&arena), UNITS - 2);
    const sl_arena_run rest = sl_read_arena_take(&arena, (UNITS - 2) * SL_ARENA_UNIT);
    assert_int_equal(rest.first, 2);
    assert_int_equal(rest.units, UNITS - 2);
    assert_int_equal(sl_read_arena_give(&arena, &first, 1), 2);
    assert_int_equal(sl_read_arena_give(&arena, &rest, 1), UNITS);
    sl_read_arena_close(&arena, 0);
}

/* All bits are right afterwards: of units that were freed, of units that stay taken, and of the
 * start of the next search. */
TEST(moved_to_the_front)
{
    sl_read_arena arena;
    sl_budget budget;
    sl_arena_run runs[3];
    sl_budget_init(&budget, UINT64_MAX);
    assert_int_equal(sl_read_arena_open(&arena, UNITS * SL_ARENA_UNIT, SIZE_MAX, &budget, NULL),
                     SLUICE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        runs[i] = sl_read_arena_take(&arena, 70 * SL_ARENA_UNIT);
        assert_int_equal(runs[i].units, 70);
    }
    (void)sl_read_arena_give(&arena, &runs[0], 1);
    sl_read_arena_moved(&arena, 140);
    assert_int_equal(sl_read_arena_free(&arena), UNITS - 140);
    const sl_arena_run rest = sl_read_arena_take(&arena, (UNITS - 140) * SL_ARENA_UNIT);
    assert_int_equal(rest.first, 140);
    assert_int_equal(rest.units, UNITS - 140);
    assert_int_equal(sl_read_arena_take(&arena, 1).units, 0);
    const sl_arena_run front = {.first = 0, .units = 140};
    assert_int_equal(sl_read_arena_give(&arena, &front, 1), 140);
    assert_int_equal(sl_read_arena_take(&arena, 140 * SL_ARENA_UNIT).first, 0);
    sl_read_arena_close(&arena, 0);
}
