/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search against a linear scan, and the smaller and larger of two numbers. */
#include "minmax.h"
#include "philox.h"
#include "search.h"
#include "test.h"

enum { ROUNDS = 400, ITEMS_MAX = 40, STEP_MAX = 4 };

typedef struct item {
    uint32_t other;
    uint64_t first;
    char more;
} item;

/* Finds the last item that begins at or before `key`, by scanning all. */
static uint64_t walked(const item *items, uint64_t count, uint64_t key)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; i++) {
        last = items[i].first <= key ? i : last;
    }
    return last;
}

/* Arrays with equal keys, and keys before the first and after the last. */
TEST(finds_what_walking_finds)
{
    sl_random chance = sl_random_for(11, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        item items[ITEMS_MAX] = {{0}};
        const uint64_t count = sl_random_below(&chance, ITEMS_MAX + 1);
        uint64_t at = sl_random_below(&chance, STEP_MAX);
        for (uint64_t i = 0; i < count; i++) {
            items[i].first = at;
            at += sl_random_below(&chance, STEP_MAX);
        }
        for (uint64_t key = 0; key < at + 2; key++) {
            assert_int_equal(sl_last_at_or_before(&items->first, sizeof(*items), count, key),
                             walked(items, count, key));
        }
    }
}

TEST(finds_among_large_keys)
{
    const uint64_t keys[] = {0, 1, UINT64_MAX - 1, UINT64_MAX};
    const size_t stride = sizeof(*keys);
    assert_int_equal(sl_last_at_or_before(keys, stride, 4, UINT64_MAX), 3);
    assert_int_equal(sl_last_at_or_before(keys, stride, 4, UINT64_MAX - 1), 2);
    assert_int_equal(sl_last_at_or_before(keys, stride, 4, UINT64_MAX - 2), 1);
    assert_int_equal(sl_last_at_or_before(keys + 2, stride, 2, 5), 0);
}

TEST(smaller_and_larger)
{
    assert_true(sl_min_u32(3, UINT32_MAX) == 3 && sl_max_u32(3, UINT32_MAX) == UINT32_MAX);
    assert_true(sl_min_u32(9, 2) == 2 && sl_max_u32(9, 2) == 9);
    assert_true(sl_min_u64(UINT64_MAX, 4) == 4 && sl_max_u64(UINT64_MAX, 4) == UINT64_MAX);
    assert_true(sl_min_u64(4, 4) == 4 && sl_max_u64(4, 5) == 5);
    assert_true(sl_min_size(SIZE_MAX, 1) == 1 && sl_max_size(0, SIZE_MAX) == SIZE_MAX);
}
