/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse transforms against libjpeg, and every level against the scalar one. */
#include "jpeg_idct.h"
#include "jpeg_kernels.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <stdalign.h>

enum {
    BLOCKS_MAX = 11,
    PITCH_MAX = 2 * SL_JPEG_BLOCK,
    STRIDE_MAX = 8 * BLOCKS_MAX + 9,
    GUARD = 64
};
enum { SAMPLES = GUARD + 8 * STRIDE_MAX + GUARD, ROUNDS = 4000 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

/* Grey images consist only of transformed blocks. */
TEST(equals_libjpeg)
{
    static const int qualities[] = {1, 10, 50, 75, 90, 100};
    static const uint32_t sizes[][2] = {{1, 1}, {8, 8}, {9, 17}, {200, 120}, {333, 61}};
    for (size_t q = 0; q < sizeof(qualities) / sizeof(qualities[0]); q++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            jpeg_options options = {.colour = JPEG_GREY, .quality = qualities[q]};
            jpeg_file file =
                jpeg_make_pattern(sizes[s][0], sizes[s][1], (uint32_t)(q + s), &options);
            jpeg_kernels_compare(&file);
            jpeg_free(&file);
        }
    }
}

/* White noise: no coefficient is zero, and many samples exceed 0..255. */
TEST(equals_libjpeg_on_noise)
{
    enum { WIDTH = 120, HEIGHT = 88 };
    static uint8_t pixels[WIDTH * HEIGHT];
    uint32_t random = 5;
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = next_random(&random) % 2 == 0 ? 0 : UINT8_MAX;
    }
    for (int quality = 5; quality <= 100; quality += 19) {
        jpeg_options options = {.colour = JPEG_GREY, .quality = quality};
        jpeg_file file = jpeg_make(pixels, WIDTH, HEIGHT, &options);
        jpeg_kernels_compare(&file);
        jpeg_free(&file);
    }
}

/* Draws a coefficient: from values of real images up to any that fit. */
static int16_t some_coefficient(uint32_t *random, uint32_t kind)
{
    static const int16_t extremes[] = {INT16_MIN, INT16_MAX, 0, -1, 1, 8191, 8192, -8192, -8193};
    uint32_t value = next_random(random);
    switch (kind) {
    case 0:
        return (int16_t)((int32_t)(value % 65) - 32);
    case 1:
        return (int16_t)(uint16_t)value;
    default:
        return extremes[value % (sizeof(extremes) / sizeof(extremes[0]))];
    }
}

/* Makes a block that is dense, sparse, first row only, first coefficient only, or empty. */
static void fill_block(int16_t *block, uint32_t *random)
{
    static const uint32_t limits[] = {64, 64, 8, 1, 0};
    memset(block, 0, SL_JPEG_BLOCK * sizeof(*block));
    uint32_t shape = next_random(random) % 5;
    uint32_t kind = next_random(random) % 3;
    uint32_t one_in = shape == 0 ? 1 : shape == 1 ? 16 : 2;
    for (uint32_t i = 0; i < limits[shape]; i++) {
        if (i == 0 || next_random(random) % one_in == 0) {
            block[i] = some_coefficient(random, kind);
        }
    }
}

static void compare_run(unsigned size, uint32_t *random)
{
    static alignas(64) int16_t coefficients[BLOCKS_MAX * PITCH_MAX];
    static alignas(64) uint16_t quantizers[SL_JPEG_BLOCK];
    static uint8_t wanted[SAMPLES];
    static uint8_t made[SAMPLES];
    bool sane = next_random(random) % 2 == 0;
    for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
        quantizers[i] = (uint16_t)(sane ? 1 + next_random(random) % 40 : next_random(random));
    }
    sl_jpeg_blocks blocks = {.coefficients = coefficients,
                             .pitch = next_random(random) % 2 == 0 ? SL_JPEG_BLOCK : PITCH_MAX,
                             .count = next_random(random) % (BLOCKS_MAX + 1),
                             .quantizers = quantizers};
    blocks.stride = blocks.count * size + next_random(random) % 9;
    for (size_t i = 0; i < blocks.count; i++) {
        fill_block(coefficients + i * blocks.pitch, random);
    }
    size_t offset = GUARD / 2 + next_random(random) % (GUARD / 2);
    memset(wanted, 0xA5, sizeof(wanted));
    blocks.samples = wanted + offset;
    sl_jpeg_idct_for(SL_SIMD_SCALAR, size)(&blocks);
    for (int simd = SL_SIMD_SCALAR + 1; simd < SL_SIMD_COUNT; simd++) {
        if (jpeg_kernels_has_level(simd)) {
            memset(made, 0xA5, sizeof(made));
            blocks.samples = made + offset;
            sl_jpeg_idct_for((sl_simd)simd, size)(&blocks);
            assert_memory_equal(made, wanted, sizeof(made));
        }
    }
}

/* The guards, bytes around the samples and between rows, do not change. */
TEST(levels_equal_scalar)
{
    uint32_t random = 20;
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned size = 1; size <= 8; size *= 2) {
            compare_run(size, &random);
        }
    }
}

/* The scalar version itself writes the right samples, and no others. */
TEST(scalar_keeps_to_its_samples)
{
    static alignas(64) int16_t block[SL_JPEG_BLOCK];
    static alignas(64) uint16_t quantizers[SL_JPEG_BLOCK];
    for (unsigned size = 1; size <= 8; size *= 2) {
        uint8_t made[GUARD * 10];
        memset(made, 0xA5, sizeof(made));
        block[0] = 16;
        quantizers[0] = 8; /* (16 * 8) / 8 over the centre */
        sl_jpeg_blocks blocks = {block, SL_JPEG_BLOCK, 1, quantizers, made + GUARD, GUARD};
        sl_jpeg_idct_for(SL_SIMD_SCALAR, size)(&blocks);
        for (size_t i = 0; i < sizeof(made); i++) {
            bool inside = i >= GUARD && (i - GUARD) / GUARD < size && i % GUARD < size;
            assert_int_equal(made[i], inside ? 144 : 0xA5);
        }
    }
}

/* Size 1 uses the mean modulo 2^10, as libjpeg does on all machines. */
TEST(size_1_wraps)
{
    static const struct {
        int16_t coefficient;
        uint8_t sample;
    } cases[] = {{0, 128},    {8, 129},    {3, 128},         {4, 129},        {-4, 128},
                 {-5, 127},   {4088, 255}, {4096, 0},        {-4096, 0},      {-4104, 255},
                 {8192, 128}, {8200, 129}, {INT16_MAX, 128}, {INT16_MIN, 128}};
    static alignas(64) int16_t block[SL_JPEG_BLOCK];
    static alignas(64) uint16_t quantizers[SL_JPEG_BLOCK] = {1};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t made = 0;
        block[0] = cases[i].coefficient;
        sl_jpeg_blocks blocks = {block, SL_JPEG_BLOCK, 1, quantizers, &made, 1};
        sl_jpeg_idct_for(sl_simd_best(), 1)(&blocks);
        assert_int_equal(made, cases[i].sample);
    }
}
