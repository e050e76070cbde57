/* SPDX-License-Identifier: Apache-2.0 */
/* Compares interval sets with a grid of single nanoseconds, and by hand at the borders. */
#include "test.h"

#include "../../tools/sluice/idle/intervals.h"

#include <string.h>

enum { SPAN = 200, ROUNDS = 4000 };

/* Nanosecond i of the grid is [i, i+1). */
struct grid {
    bool at[SPAN];
};

static uint32_t seed = 12345;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void add(struct interval_set *set, struct grid *grid, int64_t start, int64_t end)
{
    intervals_add(set, start, end);
    for (int64_t i = start; i < end; i++) {
        grid->at[i] = true;
    }
}

/* Nested, touching, empty and reversed intervals occur by chance. */
static void fill(struct interval_set *set, struct grid *grid)
{
    *set = (struct interval_set){0};
    memset(grid, 0, sizeof *grid);
    uint32_t count = draw(25);
    for (uint32_t i = 0; i < count; i++) {
        int64_t start = draw(SPAN - 20);
        add(set, grid, start, start + (int64_t)draw(20) - 2);
    }
    intervals_normalise(set);
}

static void expect_grid(const struct interval_set *set, const struct grid *grid)
{
    assert_false(set->failed);
    struct grid found = {{false}};
    int64_t length = 0;
    for (size_t i = 0; i < set->count; i++) {
        assert_true(set->items[i].start < set->items[i].end);
        assert_true(i == 0 || set->items[i - 1].end < set->items[i].start);
        for (int64_t at = set->items[i].start; at < set->items[i].end; at++) {
            found.at[at] = true;
        }
    }
    for (int i = 0; i < SPAN; i++) {
        length += grid->at[i];
    }
    assert_memory_equal(&found, grid, sizeof found);
    assert_int_equal(intervals_length(set), length);
}

static bool model(bool a, bool b, enum interval_operation operation)
{
    static const bool table[3][4] = {
        [INTERVALS_UNION] = {false, true, true, true},
        [INTERVALS_INTERSECTION] = {false, false, false, true},
        [INTERVALS_DIFFERENCE] = {false, false, true, false},
    };
    return table[operation][(a ? 2 : 0) + (b ? 1 : 0)];
}

TEST(test_against_grid)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct interval_set a;
        struct interval_set b;
        struct grid grid_a;
        struct grid grid_b;
        fill(&a, &grid_a);
        fill(&b, &grid_b);
        expect_grid(&a, &grid_a);
        for (int operation = 0; operation < 3; operation++) {
            struct grid wanted;
            for (int i = 0; i < SPAN; i++) {
                wanted.at[i] = model(grid_a.at[i], grid_b.at[i], operation);
            }
            struct interval_set result = intervals_combine(&a, &b, operation);
            expect_grid(&result, &wanted);
            intervals_free(&result);
        }
        int64_t from = draw(SPAN);
        int64_t to = draw(SPAN);
        for (int i = 0; i < SPAN; i++) {
            grid_a.at[i] = grid_a.at[i] && i >= from && i < to;
        }
        struct interval_set clipped = intervals_clip(&a, from, to);
        expect_grid(&clipped, &grid_a);
        intervals_free(&clipped);
        intervals_free(&a);
        intervals_free(&b);
    }
}

static void expect_items(const struct interval_set *set, const struct interval *items, size_t count)
{
    assert_int_equal(set->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(set->items[i].start, items[i].start);
        assert_int_equal(set->items[i].end, items[i].end);
    }
}

TEST(test_by_hand)
{
    struct interval_set set = {0};
    intervals_add(&set, 30, 40);
    intervals_add(&set, 10, 20);
    intervals_add(&set, 20, 25); /* touches */
    intervals_add(&set, 12, 15); /* nested */
    intervals_add(&set, 50, 50); /* empty */
    intervals_add(&set, 60, 55); /* reversed */
    intervals_add(&set, -5, -1);
    intervals_normalise(&set);
    expect_items(&set, (struct interval[]){{-5, -1}, {10, 25}, {30, 40}}, 3);
    assert_int_equal(intervals_length(&set), 29);

    struct interval_set empty = {0};
    intervals_normalise(&empty);
    assert_int_equal(intervals_length(&empty), 0);
    struct interval_set same = intervals_combine(&set, &empty, INTERVALS_DIFFERENCE);
    expect_items(&same, set.items, set.count);
    struct interval_set nothing = intervals_combine(&empty, &set, INTERVALS_DIFFERENCE);
    assert_int_equal(nothing.count, 0);
    intervals_free(&same);
    intervals_free(&nothing);
    intervals_free(&set);
}

/* The extremes of the clock are times like any other. */
TEST(test_extremes)
{
    struct interval_set early = {0};
    struct interval_set late = {0};
    intervals_add(&early, INT64_MIN, INT64_MIN + 7);
    intervals_add(&late, INT64_MAX - 5, INT64_MAX);
    struct interval_set both = intervals_combine(&early, &late, INTERVALS_UNION);
    assert_int_equal(both.count, 2);
    assert_int_equal(intervals_length(&both), 12);
    intervals_free(&both);
    intervals_free(&early);
    intervals_free(&late);
}

TEST(test_failure_is_handed_on)
{
    struct interval_set broken = {.failed = true};
    struct interval_set fine = {0};
    intervals_add(&fine, 0, 1);
    struct interval_set result = intervals_combine(&fine, &broken, INTERVALS_UNION);
    assert_true(result.failed);
    intervals_free(&result);
    intervals_free(&fine);
}
