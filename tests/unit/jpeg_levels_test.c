/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG kernels of each instruction set against the scalar ones, on chosen inputs: one differing
 * coefficient or sample at each position of a block, with the most extreme values; every colour;
 * all sizes around a vector's.
 */
#include "jpeg_fdct.h"
#include "jpeg_idct.h"
#include "jpeg_kernels.h"
#include "jpeg_ycc.h"
#include "test.h"

#include <stdalign.h>
#include <string.h>

/* Returns the next level; SL_SIMD_COUNT: none. */
static int next_level(int level)
{
    do {
        level++;
    } while (level < SL_SIMD_COUNT && !jpeg_kernels_has_level(level));
    return level;
}

/* ---- the inverse transforms ---- */

enum { BLOCKS = 9, STRIDE = 8 * BLOCKS };

static const int16_t extremes[] = {1,     -1,     2,         7,         -8,
                                   1023,  -1024,  2047,      4095,      -4096,
                                   16383, -16384, INT16_MAX, INT16_MIN, -INT16_MAX};
static const uint16_t quantizers_of[] = {1, 2, 3, 16, 131, 255, 32767, 32768, 65535};
enum {
    EXTREMES = sizeof(extremes) / sizeof(extremes[0]),
    QUANTIZERS = sizeof(quantizers_of) / sizeof(quantizers_of[0])
};

/* Block b has `value` at place + b, alone, with a first coefficient, or with others. */
static void directed_blocks(int16_t *coefficients, uint32_t place, int16_t value, uint32_t kind)
{
    memset(coefficients, 0, sizeof(int16_t) * BLOCKS * SL_JPEG_BLOCK);
    for (uint32_t b = 0; b < BLOCKS; b++) {
        int16_t *block = coefficients + (size_t)b * SL_JPEG_BLOCK;
        block[0] = (int16_t)(kind == 1 ? 1023 : kind == 2 ? INT16_MIN : 0);
        for (uint32_t i = 0; i < SL_JPEG_BLOCK && kind == 3; i++) {
            block[i] = (int16_t)(i % 2 == 0 ? value : -1 - value);
        }
        block[(place + b) % SL_JPEG_BLOCK] = value;
    }
}

TEST(inverse_transforms)
{
    static alignas(64) int16_t coefficients[BLOCKS * SL_JPEG_BLOCK];
    static alignas(64) uint16_t quantizers[SL_JPEG_BLOCK];
    static uint8_t wanted[8 * STRIDE];
    static uint8_t made[8 * STRIDE];
    for (uint32_t round = 0; round < SL_JPEG_BLOCK * EXTREMES * 4; round++) {
        directed_blocks(coefficients, round % SL_JPEG_BLOCK, extremes[round / 64 % EXTREMES],
                        round / 64 / EXTREMES);
        for (uint32_t i = 0; i < SL_JPEG_BLOCK; i++) {
            quantizers[i] = quantizers_of[(round / 64 + (round % 3 == 0 ? i : 0)) % QUANTIZERS];
        }
        const unsigned size = 1U << round / 7 % 4;
        sl_jpeg_blocks blocks = {.coefficients = coefficients,
                                 .pitch = SL_JPEG_BLOCK,
                                 .count = 1 + round % BLOCKS,
                                 .quantizers = quantizers,
                                 .stride = STRIDE,
                                 .samples = wanted};
        sl_jpeg_idct_for(SL_SIMD_SCALAR, size)(&blocks);
        blocks.samples = made;
        for (int level = next_level(SL_SIMD_SCALAR); level < SL_SIMD_COUNT;
             level = next_level(level)) {
            sl_jpeg_idct_for((sl_simd)level, size)(&blocks);
            for (size_t y = 0; y < size; y++) {
                assert_memory_equal(made + y * STRIDE, wanted + y * STRIDE, size * blocks.count);
            }
        }
    }
}

/* ---- the forward transform ---- */

/* Samples of 0 or 255, chosen by the signs of a cosine, give the largest coefficients. */
static void directed_samples(uint8_t *samples, uint32_t place, uint32_t kind)
{
    static const uint8_t flat[][2] = {{0, 255}, {255, 0}, {128, 129}, {127, 255}, {1, 0}};
    for (uint32_t y = 0; y < 8; y++) {
        for (uint32_t x = 0; x < STRIDE; x++) {
            const uint32_t u = place % 8;
            const uint32_t v = place / 8 % 8;
            const bool high = (((2 * (x % 8) + 1) * u / 16 + (2 * y + 1) * v / 16) & 1) != 0;
            samples[y * STRIDE + x] = kind < 5 ? flat[kind][0] : high == (kind == 5) ? 255 : 0;
            if (kind < 5 && (y * 8 + x % 8 + x / 8) % 64 == place % 64) {
                samples[y * STRIDE + x] = flat[kind][1];
            }
        }
    }
}

TEST(forward_transforms)
{
    static const uint16_t qualities[] = {1, 2, 3, 7, 16, 99, 128, 254, 255};
    static alignas(64) int16_t wanted[BLOCKS * SL_JPEG_BLOCK];
    static alignas(64) int16_t made[BLOCKS * SL_JPEG_BLOCK];
    static uint8_t samples[8 * STRIDE + 64];
    for (uint32_t round = 0; round < 64 * 7 * 9; round++) {
        sl_jpeg_divisors divisors;
        for (uint32_t i = 0; i < SL_JPEG_BLOCK; i++) {
            divisors.quantizers[i] = qualities[(round / 7 + (round % 5 == 0 ? i : 0)) % 9];
        }
        sl_jpeg_divisors_prepare(&divisors);
        directed_samples(samples, round / 63, round % 7);
        const size_t count = 1 + round % BLOCKS;
        sl_jpeg_fdct_scalar(samples, STRIDE, count, &divisors, wanted);
        for (int level = next_level(SL_SIMD_SCALAR); level < SL_SIMD_COUNT;
             level = next_level(level)) {
            sl_jpeg_fdct_for((sl_simd)level)(samples, STRIDE, count, &divisors, made);
            assert_memory_equal(made, wanted, count * SL_JPEG_BLOCK * sizeof(*made));
        }
    }
}

/* ---- colours ---- */

enum { ROW = 256, SPACE = ROW + SL_YCC_SLACK };

static void compare_ycc(const uint8_t *rgb, size_t pixels)
{
    static uint8_t wanted[3][SPACE];
    static uint8_t made[3][SPACE];
    sl_jpeg_ycc_scalar.convert(rgb, pixels, &(sl_ycc_row){wanted[0], wanted[1], wanted[2]});
    for (int level = next_level(SL_SIMD_SCALAR); level < SL_SIMD_COUNT; level = next_level(level)) {
        sl_jpeg_ycc_for((sl_simd)level)
            ->convert(rgb, pixels, &(sl_ycc_row){made[0], made[1], made[2]});
        for (int i = 0; i < 3; i++) {
            assert_memory_equal(made[i], wanted[i], pixels);
        }
    }
}

/* Every colour; and every number of pixels. */
TEST(colours)
{
    static uint8_t rgb[3 * SPACE];
    for (uint32_t high = 0; high < 65536; high += TEST_AMOUNT(1, 37)) {
        for (uint32_t low = 0; low < 256; low++) {
            rgb[(size_t)3 * low] = (uint8_t)low;
            rgb[(size_t)3 * low + 1] = (uint8_t)high;
            rgb[(size_t)3 * low + 2] = (uint8_t)(high >> 8);
        }
        compare_ycc(rgb, high % 7 == 0 ? high / 7 % 257 : 256);
    }
}

TEST(halved_rows)
{
    static uint8_t rows[2][2 * SPACE];
    static uint8_t wanted[SPACE];
    static uint8_t made[SPACE];
    for (uint32_t round = 0; round < 256 * 64; round++) {
        const size_t count = round % ROW;
        for (uint32_t i = 0; i < 2 * ROW; i++) { /* every remainder, including the largest */
            rows[0][i] = (uint8_t)(i < 256 ? i : 255 - (round / 256 + i) % 4);
            rows[1][i] = (uint8_t)(i < 256 ? i + round / 256 * 3 : 255);
        }
        sl_jpeg_ycc_scalar.halve(rows[0], rows[1], count, wanted);
        for (int level = next_level(SL_SIMD_SCALAR); level < SL_SIMD_COUNT;
             level = next_level(level)) {
            sl_jpeg_ycc_for((sl_simd)level)->halve(rows[0], rows[1], count, made);
            assert_memory_equal(made, wanted, count);
        }
    }
}
