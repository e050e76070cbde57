/* SPDX-License-Identifier: Apache-2.0 */
/* Philox against Random123's published answers, and the draws derived from it. */
#include "philox.h"
#include "test.h"

#include <stdlib.h>

TEST(known_answers)
{
    /* kat_vectors of Random123, philox4x32 with 10 rounds: counter, key, result. */
    static const uint32_t known[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < 3; i++) {
        const uint32_t *k = known[i];
        const uint64_t low = k[0] | ((uint64_t)k[1] << 32);
        const uint64_t high = k[2] | ((uint64_t)k[3] << 32);
        const uint64_t key = k[4] | ((uint64_t)k[5] << 32);
        const sl_philox_block block = sl_philox(key, low, high);
        for (size_t j = 0; j < 4; j++) {
            assert_int_equal(block.v[j], k[6 + j]);
        }
        assert_true(sl_philox_u64(key, low, high) == (k[6] | ((uint64_t)k[7] << 32)));
    }
}

/* Made by another implementation in another language. The streams must never change, or later
 * versions could not repeat a run. */
TEST(streams_are_what_they_always_were)
{
    static const uint32_t expected[8] = {0xfd993679, 0x745db5f6, 0x27557fa4, 0x55b1a2cd,
                                         0xdd661863, 0xe5ec7904, 0x3b63d135, 0x52d4675f};
    sl_random random = sl_random_for(42, 3, 7, 5);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(sl_random_u32(&random), expected[i]);
    }
    sl_random again = sl_random_for(42, 3, 7, 5);
    const double unit = sl_random_unit(&again);
    assert_true(unit ==
                (double)((((uint64_t)0xfd993679 << 32) | 0x745db5f6) >> 11) / 9007199254740992.0);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

TEST(every_argument_makes_another_stream)
{
    enum { SIDE = 8, ALL = SIDE * SIDE * SIDE * SIDE };
    uint64_t first[ALL];
    for (uint32_t i = 0; i < ALL; i++) {
        sl_random random =
            sl_random_for(i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE) % SIDE, i / (ALL / SIDE));
        const uint64_t upper = sl_random_u32(&random);
        first[i] = upper << 32 | sl_random_u32(&random);
    }
    qsort(first, ALL, sizeof(first[0]), compare);
    for (size_t i = 1; i < ALL; i++) {
        assert_true(first[i - 1] != first[i]);
    }
}

TEST(units_are_uniform)
{
    enum { DRAWS = 200000, BINS = 100 };
    unsigned bins[BINS] = {0};
    sl_random random = sl_random_for(1, 2, 3, 4);
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double unit = sl_random_unit(&random);
        assert_true(unit >= 0 && unit < 1);
        sum += unit;
        bins[(size_t)(unit * BINS)]++;
    }
    double chi_square = 0;
    for (size_t i = 0; i < BINS; i++) {
        const double off = bins[i] - (double)DRAWS / BINS;
        chi_square += off * off / ((double)DRAWS / BINS);
    }
    assert_true(chi_square < 180); /* 99 degrees of freedom: p = 1e-6 */
    assert_true(sum / DRAWS > 0.4968 && sum / DRAWS < 0.5032);
}

TEST(ranges_keep_their_bounds)
{
    sl_random random = sl_random_for(0, 0, 0, 0);
    for (int i = 0; i < 10000; i++) {
        const double value = sl_random_range(&random, 0.08, 1.0);
        assert_true(value >= 0.08 && value <= 1.0);
        assert_true(sl_random_range(&random, 0.75, 0.75) == 0.75);
    }
}

TEST(below_has_no_bias)
{
    /* A bound of 3/4 of 2^32: plain reduction would give the thirds 1/2, 1/4, 1/4. */
    const uint32_t third = 1U << 30;
    unsigned counts[3] = {0};
    sl_random random = sl_random_for(9, 9, 9, 9);
    for (int i = 0; i < 30000; i++) {
        const uint32_t drawn = sl_random_below(&random, 3 * third);
        assert_true(drawn < 3 * third);
        counts[drawn % 3]++;
        assert_int_equal(sl_random_below(&random, 1), 0);
    }
    double chi_square = 0;
    for (size_t i = 0; i < 3; i++) {
        chi_square += ((double)counts[i] - 10000) * ((double)counts[i] - 10000) / 10000;
    }
    assert_true(chi_square < 27.6); /* 2 degrees of freedom: p = 1e-6 */
    unsigned small[7] = {0};
    for (int i = 0; i < 70000; i++) {
        small[sl_random_below(&random, 7)]++;
    }
    for (size_t i = 0; i < 7; i++) {
        assert_in_range(small[i], 9520, 10480); /* 5 standard deviations */
    }
}
