/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the order of an epoch: each sample once, and block shuffle against its own description. */
#include "order.h"
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 5000 };

/* True if the order has each sample exactly once. */
static bool is_complete(const sl_order *order)
{
    bool seen[COUNT_MAX] = {false};
    for (uint64_t i = 0; i < order->count; i++) {
        const uint64_t sample = sl_order_sample(order, i);
        if (sample >= order->count || seen[sample]) {
            return false;
        }
        seen[sample] = true;
    }
    return true;
}

/* True if the samples are the same whether requested one by one or in runs of any length. */
static bool is_same_in_runs(const sl_order *order)
{
    uint64_t run[97];
    uint32_t length = 0;
    for (uint64_t first = 0; first < order->count; first += length) {
        length = 1 + (uint32_t)(first * 31 % 97);
        length = order->count - first < length ? (uint32_t)(order->count - first) : length;
        sl_order_samples(order, first, length, run);
        for (uint32_t i = 0; i < length; i++) {
            if (run[i] != sl_order_sample(order, first + i)) {
                return false;
            }
        }
    }
    return true;
}

static const struct {
    uint64_t block, window;
} shapes[] = {{1, 1}, {1, 7}, {7, 1}, {8, 4}, {64, 16}, {1000, 3}, {5, 1000}, {3, 2}};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

TEST(every_order_is_complete)
{
    for (uint64_t count = 1; count <= 600; count++) {
        /* All shapes for small counts, two alternating ones for larger counts. */
        for (size_t s = count < 150 ? 0 : count % 4; s < SHAPES; s += count < 150 ? 1 : 4) {
            const sl_order order = sl_order_make(SLUICE_SHUFFLE_BLOCK, count, shapes[s].block,
                                                 shapes[s].window, count * 31, s);
            assert_true(is_complete(&order) && is_same_in_runs(&order));
        }
        const sl_order full = sl_order_make(SLUICE_SHUFFLE_FULL, count, 0, 0, 1, count);
        assert_true(is_complete(&full));
    }
    const sl_order large = sl_order_make(SLUICE_SHUFFLE_BLOCK, COUNT_MAX - 1, 64, 16, 3, 4);
    assert_true(is_complete(&large) && is_same_in_runs(&large));
}

TEST(none_is_the_order_of_the_dataset)
{
    const sl_order order = sl_order_make(SLUICE_SHUFFLE_NONE, 100, 0, 0, 5, 6);
    for (uint64_t i = 0; i < 100; i++) {
        assert_true(sl_order_sample(&order, i) == i);
    }
}

/* Follows the description literally: a window holds the samples of its blocks and no others. The
 * blocks follow the outer order; positions are counted one by one. */
static void expect_windows_of_whole_blocks(const sl_order *order)
{
    const uint64_t count = order->count;
    const uint64_t blocks = (count + order->block - 1) / order->block;
    uint64_t position = 0;
    for (uint64_t first = 0; first < blocks; first += order->window) {
        static bool belongs[COUNT_MAX];
        memset(belongs, 0, sizeof(belongs));
        uint64_t size = 0;
        for (uint64_t rank = first; rank < first + order->window && rank < blocks; rank++) {
            const uint64_t begin = sl_permutation_apply(&order->outer, rank) * order->block;
            for (uint64_t i = begin; i < begin + order->block && i < count; i++) {
                belongs[i] = true;
                size++;
            }
        }
        for (uint64_t i = 0; i < size; i++) {
            const uint64_t sample = sl_order_sample(order, position++);
            assert_true(sample < count && belongs[sample]);
            belongs[sample] = false;
        }
    }
    assert_true(position == count);
}

TEST(windows_hold_their_blocks)
{
    static const uint64_t counts[] = {1, 2, 7, 63, 64, 65, 127, 1000, 1023, 1024, 1025, 4999};
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (size_t s = 0; s < SHAPES; s++) {
            for (uint64_t epoch = 0; epoch < 3; epoch++) {
                const sl_order order = sl_order_make(SLUICE_SHUFFLE_BLOCK, counts[c],
                                                     shapes[s].block, shapes[s].window, 7, epoch);
                expect_windows_of_whole_blocks(&order);
            }
        }
    }
}

/* The short block is not always the last one, and every block begins an epoch at some time. */
TEST(blocks_land_anywhere)
{
    unsigned first[11] = {0};
    unsigned short_at[11] = {0};
    for (uint64_t epoch = 0; epoch < 1100; epoch++) {
        const sl_order order = sl_order_make(SLUICE_SHUFFLE_BLOCK, 103, 10, 1, 1, epoch);
        first[sl_order_sample(&order, 0) / 10]++;
        short_at[order.short_rank]++;
    }
    for (size_t i = 0; i < 11; i++) {
        assert_in_range(first[i], 50, 150);
        assert_in_range(short_at[i], 50, 150);
    }
}

/* Within a window, every position is equally likely for each of its samples. */
TEST(windows_are_mixed)
{
    enum { COUNT = 32, EPOCHS = 3200 };
    unsigned seen[COUNT] = {0};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        const sl_order order = sl_order_make(SLUICE_SHUFFLE_BLOCK, COUNT, 4, 8, 2, epoch);
        seen[sl_order_sample(&order, 13)]++;
    }
    double chi_square = 0;
    for (size_t i = 0; i < COUNT; i++) {
        chi_square += ((double)seen[i] - 100) * ((double)seen[i] - 100) / 100;
    }
    assert_true(chi_square > 7 && chi_square < 84); /* 31 degrees of freedom: p = 1e-6 */
}

static size_t agreements(const sl_order *a, const sl_order *b)
{
    size_t same = 0;
    for (uint64_t i = 0; i < a->count; i++) {
        same += sl_order_sample(a, i) == sl_order_sample(b, i);
    }
    return same;
}

TEST(seeds_and_epochs_give_other_orders)
{
    static const sluice_shuffle shuffles[] = {SLUICE_SHUFFLE_FULL, SLUICE_SHUFFLE_BLOCK};
    for (size_t i = 0; i < 2; i++) {
        const sl_order base = sl_order_make(shuffles[i], 2000, 16, 4, 10, 20);
        const sl_order same = sl_order_make(shuffles[i], 2000, 16, 4, 10, 20);
        const sl_order seed = sl_order_make(shuffles[i], 2000, 16, 4, 11, 20);
        const sl_order epoch = sl_order_make(shuffles[i], 2000, 16, 4, 10, 21);
        const sl_order swapped = sl_order_make(shuffles[i], 2000, 16, 4, 20, 10);
        assert_int_equal(agreements(&base, &same), 2000);
        assert_in_range(agreements(&base, &seed), 0, 40);
        assert_in_range(agreements(&base, &epoch), 0, 40);
        assert_in_range(agreements(&base, &swapped), 0, 40);
    }
}

TEST(a_shape_larger_than_the_dataset_is_fine)
{
    const sl_order order = sl_order_make(SLUICE_SHUFFLE_BLOCK, 100, UINT32_MAX, UINT32_MAX, 1, 1);
    assert_true(is_complete(&order));
    const uint64_t huge = (uint64_t)1 << 62;
    const sl_order large =
        sl_order_make(SLUICE_SHUFFLE_BLOCK, huge - 1, UINT32_MAX, UINT32_MAX, 1, 1);
    for (uint64_t i = 0; i < 100; i++) {
        assert_true(sl_order_sample(&large, i) < huge - 1);
        assert_true(sl_order_sample(&large, huge - 2 - i) < huge - 1);
    }
}

/* From another implementation in another language. */
TEST(orders_are_what_they_always_were)
{
    static const uint64_t known[23] = {4,  6,  12, 5, 15, 14, 7, 13, 17, 16, 19, 20,
                                       18, 22, 21, 9, 10, 11, 1, 8,  3,  0,  2};
    const sl_order order = sl_order_make(SLUICE_SHUFFLE_BLOCK, 23, 4, 2, 11, 5);
    for (uint64_t i = 0; i < 23; i++) {
        assert_true(sl_order_sample(&order, i) == known[i]);
    }
    const sl_order longer = sl_order_make(SLUICE_SHUFFLE_BLOCK, 1003, 16, 5, 99, 2);
    uint64_t hash = 0xCBF29CE484222325;
    for (uint64_t i = 0; i < 1003; i++) {
        hash = (hash ^ sl_order_sample(&longer, i)) * 0x100000001B3;
    }
    assert_true(hash == 0xe9a44ec061bc5924);
}
