/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the restart interval, and Huffman codes against theoretical bounds. */
#include "huffman_code.h"
#include "jpeg_tiles.h"
#include "philox.h"
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

TEST(intervals_are_near_the_target)
{
    static const struct {
        uint32_t across, mcu, wanted, expected;
    } rows[] = {
        {1, 8, 0, 1},   {12, 8, 0, 12}, {6, 16, 0, 6},  {63, 8, 0, 9}, /* 500 pixels */
        {32, 16, 0, 4}, {47, 8, 0, 12}, {31, 16, 0, 6}, {24, 8, 0, 12},   {13, 8, 0, 13},
        {26, 8, 0, 13}, {7, 16, 0, 7},  {20, 16, 0, 5}, {8188, 8, 0, 23}, {4, 32, 0, 2},
        {35, 16, 0, 5}, {40, 8, 0, 10}, {63, 8, 4, 4},  {3, 8, 5, 3},     {63, 8, 65535, 63},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(sl_tile_interval(rows[i].across, rows[i].mcu, rows[i].wanted),
                         rows[i].expected);
    }
}

/* By definition, not by table: the nearest divisor if one is near, otherwise the target. */
static void check_interval(uint32_t across, uint32_t mcu)
{
    const uint32_t target = SL_TILE_PIXELS / mcu;
    const uint32_t interval = sl_tile_interval(across, mcu, 0);
    const int distance = abs((int)interval - (int)target);
    bool possible = false;
    bool divides = false;
    assert_true(interval > 0 && interval <= across);
    assert_true(across > target || interval == across);
    for (uint32_t d = 1; d <= across; d++) {
        if (across % d != 0) {
            continue;
        }
        divides = divides || d == interval;
        if (d * 2 >= target && d <= target * 2) {
            possible = true;
            assert_true(across <= target || abs((int)d - (int)target) >= distance);
        }
    }
    assert_true(possible ? divides : interval == target);
}

TEST(divisors_are_preferred)
{
    for (uint32_t mcu = 8; mcu <= 32; mcu *= 2) {
        for (uint32_t across = 1; across < 700; across++) {
            /* a narrow row is one interval, even if that is less than half the target */
            if (across * 2 >= SL_TILE_PIXELS / mcu) {
                check_interval(across, mcu);
            } else {
                assert_int_equal(sl_tile_interval(across, mcu, 0), across);
            }
        }
    }
}

/* Checks that the code is valid in a JPEG; returns the bits that the counted symbols take. */
static uint64_t check_code(const sl_huffman_lengths *code, const uint64_t counts[256])
{
    uint32_t codes = 0;
    uint32_t space = 0; /* used part of 2^16 */
    uint64_t total = 0;
    bool seen[256] = {false};
    for (uint32_t length = 1; length <= 16; length++) {
        for (uint32_t i = 0; i < code->bits[length]; i++) {
            const uint8_t symbol = code->symbols[codes++];
            assert_false(seen[symbol]);
            assert_true(counts[symbol] > 0);
            seen[symbol] = true;
            space += 1u << (16 - length);
            total += counts[symbol] * length;
        }
    }
    assert_int_equal(code->bits[0], 0);
    assert_true(space < 1u << 16); /* the code of all ones stays free */
    uint32_t wanted = 0;
    for (uint32_t symbol = 0; symbol < 256; symbol++) {
        wanted += counts[symbol] > 0;
    }
    assert_int_equal(codes, wanted);
    return total;
}

/* Returns the cost of an unlimited Huffman code: the sum of all joined weights. */
static uint64_t least_bits(const uint64_t counts[256])
{
    uint64_t weights[257];
    uint32_t left = 0;
    uint64_t total = 0;
    for (uint32_t symbol = 0; symbol < 256; symbol++) {
        if (counts[symbol] > 0) {
            weights[left++] = counts[symbol];
        }
    }
    weights[left++] = 0; /* the code of all ones, which is unused */
    while (left > 1) {
        uint64_t sum = 0;
        for (int i = 0; i < 2; i++) {
            uint32_t best = 0;
            for (uint32_t k = 1; k < left; k++) {
                best = weights[k] < weights[best] ? k : best;
            }
            sum += weights[best];
            weights[best] = weights[--left];
        }
        weights[left++] = sum;
        total += sum;
    }
    return total;
}

TEST(codes_are_the_shortest)
{
    for (uint32_t round = 0; round < 2000; round++) {
        uint64_t counts[256] = {0};
        sl_random random = sl_random_for(round, 0, 0, 0);
        const uint32_t symbols = 1 + sl_random_below(&random, 256);
        for (uint32_t i = 0; i < symbols; i++) {
            counts[sl_random_below(&random, 256)] += 100 + sl_random_below(&random, 9000);
        }
        sl_huffman_lengths code;
        sl_huffman_code_make(&code, counts);
        /* A weight of 1 instead of 0 for the code of all ones costs at most one bit for each
         * level. */
        const uint64_t bits = check_code(&code, counts);
        const uint64_t least = least_bits(counts);
        assert_true(bits >= least && bits <= least + 16);
    }
}

TEST(codes_end_at_sixteen_bits)
{
    sl_huffman_lengths code;
    uint64_t counts[256] = {0};
    counts[0xA5] = 1;
    sl_huffman_code_make(&code, counts);
    assert_int_equal(check_code(&code, counts), 1);
    /* Fibonacci numbers make the deepest tree. */
    uint64_t a = 1;
    uint64_t b = 1;
    for (uint32_t i = 0; i < 80; i++) {
        counts[i] = a;
        const uint64_t next = a + b;
        a = b;
        b = next;
    }
    sl_huffman_code_make(&code, counts);
    const uint64_t bits = check_code(&code, counts);
    const uint64_t least = least_bits(counts);
    assert_true(bits >= least && bits - least < least / 100);
    for (uint32_t i = 0; i < 256; i++) {
        counts[i] = 7;
    }
    sl_huffman_code_make(&code, counts);
    assert_int_equal(check_code(&code, counts), 7 * (255 * 8 + 9));
}
