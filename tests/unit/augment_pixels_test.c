/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on pixels: every instruction set against the scalar one, between inaccessible pages;
 * hue of all colours against Pillow's arithmetic; erasing.
 */
#include "erase.h"
#include "fence.h"
#include "philox.h"
#include "pixels.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_TO = 200, LARGE = 40, LARGE_MAX = 3000, MARGIN = 70, SHADES = 65536 };

/* Arguments of an operation. */
typedef struct arguments {
    uint8_t tables[3][SL_LUT_SIZE];
    uint8_t order[3];
    float factor;
    uint8_t shift;
    sl_hsv_change hsv;
} arguments;

typedef uint64_t operation(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                           arguments *with);

static uint64_t do_look_up(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                           arguments *with)
{
    kernels->look_up(pixels, count, with->tables);
    return 0;
}

static uint64_t do_look_up_one(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                               arguments *with)
{
    kernels->look_up_one(pixels, count, with->tables[1]);
    return 0;
}

static uint64_t do_sum_grey(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                            arguments *with)
{
    return kernels->sum_grey(pixels, count);
}

static uint64_t do_grey(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                        arguments *with)
{
    kernels->grey(pixels, count);
    return 0;
}

static uint64_t do_blend_grey(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                              arguments *with)
{
    kernels->blend_grey(pixels, count, with->factor);
    return 0;
}

static uint64_t do_hue(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                       arguments *with)
{
    kernels->hue(pixels, count, with->shift);
    return 0;
}

static uint64_t do_hsv(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                       arguments *with)
{
    kernels->hsv(pixels, count, &with->hsv);
    return 0;
}

static uint64_t do_permute(const sl_pixel_kernels *kernels, uint8_t *pixels, size_t count,
                           arguments *with)
{
    kernels->permute(pixels, count, with->order);
    return 0;
}

static operation *const operations[] = {do_look_up,    do_look_up_one, do_sum_grey, do_grey,
                                        do_blend_grey, do_hue,         do_hsv,      do_permute};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static arguments random_arguments(sl_random *random)
{
    static const float factors[] = {0.0F, 1.0F,    2.5F,     1000.0F, 65536.0F,
                                    1e9F, 3.4e38F, -3.4e38F, -1.0F};
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    arguments with;
    for (size_t i = 0; i < sizeof(with.tables); i++) {
        with.tables[i / SL_LUT_SIZE][i % SL_LUT_SIZE] = (uint8_t)sl_random_below(random, 256);
    }
    memcpy(with.order, orders[sl_random_below(random, 6)], 3);
    const uint32_t chosen = sl_random_below(random, 20);
    with.factor = chosen < sizeof(factors) / sizeof(factors[0])
                      ? factors[chosen]
                      : (float)sl_random_range(random, -1.0, 4.0);
    with.shift = (uint8_t)sl_random_below(random, 256);
    with.hsv = (sl_hsv_change){.hue = (uint8_t)sl_random_below(random, 180),
                               .saturation = (float)sl_random_range(random, 0.0, 2.0),
                               .value = (float)sl_random_range(random, 0.0, 2.0)};
    return with;
}

/* Noise, few colours, or an image of one colour. */
static void random_pixels(sl_random *random, uint8_t *pixels, size_t count)
{
    const uint32_t kind = sl_random_below(random, 4);
    const uint32_t first = sl_random_below(random, 254);
    for (size_t i = 0; i < count * 3; i++) {
        pixels[i] = kind < 2    ? (uint8_t)sl_random_below(random, 256)
                    : kind == 2 ? (uint8_t)(first + sl_random_below(random, 3))
                                : (uint8_t)(i < 3 ? sl_random_below(random, 256) : pixels[i - 3]);
    }
}

typedef struct fixture {
    sl_random random;
    fence ours;
    uint8_t given[LARGE_MAX * 3], expected[LARGE_MAX * 3];
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->random = sl_random_for(11, 0, 0, 0);
    f->ours = fence_open((size_t)LARGE_MAX * 3 + MARGIN);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    fence_close(&f->ours);
    free(f);
    return 0;
}

/* Runs all operations on `count` pixels that begin or end at an inaccessible page, or `aside` bytes
 * from it; those bytes must not change. */
static void check_levels(fixture *f, size_t count, bool end, size_t aside)
{
    for (size_t k = 0; k < OPERATIONS; k++) {
        arguments with = random_arguments(&f->random);
        random_pixels(&f->random, f->given, count);
        memcpy(f->expected, f->given, count * 3);
        const uint64_t expected = operations[k](&sl_pixels_scalar, f->expected, count, &with);
        for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
            uint8_t *block = fence_place(&f->ours, count * 3 + aside, end);
            uint8_t *pixels = block + (end ? 0 : aside);
            uint8_t *margin = block + (end ? count * 3 : 0);
            memset(block, 77, count * 3 + aside);
            memcpy(pixels, f->given, count * 3);
            const sl_pixel_kernels *kernels = sl_pixel_kernels_for((sl_simd)level);
            assert_int_equal(operations[k](kernels, pixels, count, &with), expected);
            assert_memory_equal(pixels, f->expected, count * 3);
            for (size_t i = 0; i < aside; i++) {
                assert_int_equal(margin[i], 77);
            }
        }
    }
}

TEST_WITH(all_levels_are_equal, setup, teardown)
{
    fixture *f = *state;
    for (size_t count = 0; count < SIZES_TO; count++) {
        for (size_t aside = 0; aside < 4; aside++) {
            check_levels(f, count, true, aside);
            check_levels(f, count, false, aside);
        }
        check_levels(f, count, count % 2 == 0, sl_random_below(&f->random, MARGIN));
    }
    for (int i = 0; i < LARGE; i++) {
        const size_t count = sl_random_below(&f->random, LARGE_MAX);
        check_levels(f, count, i % 2 == 0, sl_random_below(&f->random, MARGIN));
    }
}

/* 2^28: more than narrow sums hold. */
TEST(sums_of_greys_are_whole)
{
    enum { MANY = 1 << 20 };
    uint8_t *white = malloc((size_t)MANY * 3);
    assert_non_null(white);
    memset(white, 255, (size_t)MANY * 3);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        const sl_pixel_kernels *kernels = sl_pixel_kernels_for((sl_simd)level);
        assert_int_equal(kernels->sum_grey(white, MANY), (uint64_t)MANY * 255);
    }
    free(white);
}

TEST_WITH(histograms_count_and_add, setup, teardown)
{
    fixture *f = *state;
    for (size_t count = 0; count < SIZES_TO; count++) {
        uint32_t expected[3][SL_LUT_SIZE] = {{0}};
        uint32_t ours[3][SL_LUT_SIZE] = {{0}};
        for (uint32_t turn = 1; turn <= 2; turn++) {
            random_pixels(&f->random, f->given, count);
            for (size_t i = 0; i < count * 3; i++) {
                expected[i % 3][f->given[i]]++;
            }
            uint8_t *pixels = fence_place(&f->ours, count * 3, turn == 1);
            memcpy(pixels, f->given, count * 3);
            sl_pixel_kernels_for(sl_simd_best())->histogram(pixels, count, ours);
            assert_memory_equal(ours, expected, sizeof(ours));
        }
    }
}

static uint8_t cut(double value)
{
    return value <= 0.0 ? 0 : value < 256.0 ? (uint8_t)value : 255;
}

/* Computes H, S, V with binary32 and binary64 where Pillow 9.4 uses them. */
static void pillows_hsv(const uint8_t rgb[3], uint8_t hsv[3])
{
    const uint8_t most =
        rgb[0] > rgb[1] ? (rgb[0] > rgb[2] ? rgb[0] : rgb[2]) : (rgb[1] > rgb[2] ? rgb[1] : rgb[2]);
    const uint8_t least =
        rgb[0] < rgb[1] ? (rgb[0] < rgb[2] ? rgb[0] : rgb[2]) : (rgb[1] < rgb[2] ? rgb[1] : rgb[2]);
    memset(hsv, 0, 2);
    hsv[2] = most;
    if (most == least) {
        return;
    }
    const float chroma = (float)(most - least);
    const float saturation = chroma / (float)most;
    const float red = (float)(most - rgb[0]) / chroma;
    const float green = (float)(most - rgb[1]) / chroma;
    const float blue = (float)(most - rgb[2]) / chroma;
    float hue = blue - green;
    if (rgb[0] != most) {
        hue = rgb[1] == most ? (float)(2.0 + (double)red - (double)blue)
                             : (float)(4.0 + (double)green - (double)red);
    }
    hue = (float)fmod((double)hue / 6.0 + 1.0, 1.0);
    hsv[0] = cut((double)hue * 255.0);
    hsv[1] = cut((double)saturation * 255.0);
}

static void pillows_rgb(const uint8_t hsv[3], uint8_t rgb[3])
{
    static const uint8_t orders[6][3] = {{3, 2, 0}, {1, 3, 0}, {0, 3, 2},
                                         {0, 1, 3}, {2, 0, 3}, {3, 0, 1}};
    const double turns = (double)hsv[0] * 6.0 / 255.0;
    const int sextant = (int)floor(turns);
    const float part = (float)(turns - (double)(float)sextant);
    const float saturation = (float)((double)hsv[1] / 255.0);
    const double value = (double)hsv[2];
    const float rising = saturation * part;
    const uint8_t values[4] = {
        cut(round(value * (1.0 - (double)saturation))), cut(round(value * (1.0 - (double)rising))),
        cut(round(value * (1.0 - (double)saturation * (1.0 - (double)part)))), hsv[2]};
    for (int c = 0; c < 3; c++) {
        rgb[c] = hsv[1] == 0 ? hsv[2] : values[orders[sextant % 6][c]];
    }
}

/* Converts every colour to H, S and V, and (since shifts differ) nearly every H, S and V back. */
TEST(hue_is_pillows_for_all_colours)
{
    static uint8_t shade[SHADES * 3];
    static uint8_t expected[SHADES * 3];
    static uint8_t ours[SHADES * 3];
    for (uint32_t red = 0; red < 256; red += TEST_AMOUNT(1, 17)) {
        const uint8_t shift = (uint8_t)(red * 7);
        for (uint32_t i = 0; i < SHADES; i++) {
            const uint8_t rgb[3] = {(uint8_t)red, (uint8_t)(i >> 8), (uint8_t)i};
            uint8_t hsv[3];
            memcpy(shade + (size_t)i * 3, rgb, 3);
            pillows_hsv(rgb, hsv);
            hsv[0] = (uint8_t)(hsv[0] + shift);
            pillows_rgb(hsv, expected + (size_t)i * 3);
        }
        for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
            memcpy(ours, shade, sizeof(ours));
            sl_pixel_kernels_for((sl_simd)level)->hue(ours, SHADES, shift);
            assert_memory_equal(ours, expected, sizeof(ours));
        }
    }
}

/* For all colours, each level gives the scalar result, which augment_hsv_opencv_test checks. */
TEST(hsv_of_all_colours_is_the_same_at_all_levels)
{
    static uint8_t shade[SHADES * 3];
    static uint8_t expected[SHADES * 3];
    static uint8_t ours[SHADES * 3];
    sl_random random = sl_random_for(13, 0, 0, 0);
    for (uint32_t red = 0; red < 256; red += TEST_AMOUNT(1, 17)) {
        const sl_hsv_change change = random_arguments(&random).hsv;
        for (uint32_t i = 0; i < SHADES; i++) {
            const uint8_t rgb[3] = {(uint8_t)red, (uint8_t)(i >> 8), (uint8_t)i};
            memcpy(shade + (size_t)i * 3, rgb, 3);
        }
        memcpy(expected, shade, sizeof(expected));
        sl_pixels_scalar.hsv(expected, SHADES, &change);
        for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
            memcpy(ours, shade, sizeof(ours));
            sl_pixel_kernels_for((sl_simd)level)->hsv(ours, SHADES, &change);
            assert_memory_equal(ours, expected, sizeof(ours));
        }
    }
}

/* Compares with the table that the factor stands for, as numpy computes it. */
static void check_hsv_factor(double factor)
{
    const float ours = sl_hsv_factor(factor);
    for (int x = 0; x < 256; x++) {
        assert_int_equal((int)fminf((float)x * ours, 255.0F), (int)fmin(x * factor, 255.0));
    }
}

TEST(hsv_factors_make_the_tables)
{
    static const double ends[] = {0.0, 1.0, 2.0, 0.5, 1.5, 0.75, 1e-9, 1.0 / 3, 0.3, 1.7};
    sl_random random = sl_random_for(14, 0, 0, 0);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        check_hsv_factor(ends[i]);
    }
    for (int i = 0; i < 100000; i++) {
        check_hsv_factor(sl_random_range(&random, 0.0, 2.0));
    }
}

TEST(hue_shifts_are_torchvisions)
{
    assert_int_equal(sl_hue_shift(0.0), 0);
    assert_int_equal(sl_hue_shift(0.5), 127);
    assert_int_equal(sl_hue_shift(-0.5), 129);
    assert_int_equal(sl_hue_shift(0.1), 25);
    assert_int_equal(sl_hue_shift(-0.1), 231);
    assert_int_equal(sl_hue_shift(-0.003), 0);
}

static const sl_noise noise = {.key = 5,
                               .mean = {124.0F, 0.0F, 255.0F},
                               .stddev = {30.0F, 255.0F, 0.0F}};

TEST(noise_is_a_function_of_the_pixel)
{
    enum { COUNT = 1000 };
    uint8_t whole[COUNT * 3];
    uint8_t parts[COUNT * 3];
    sl_fill_noise(whole, COUNT, &noise, 3);
    sl_random random = sl_random_for(12, 0, 0, 0);
    for (size_t done = 0; done < COUNT;) {
        const size_t left = COUNT - done;
        const size_t part = sl_random_below(&random, 9);
        const size_t count = part < left ? part : left;
        sl_fill_noise(parts + done * 3, count, &noise, 3 + done);
        done += count;
    }
    assert_memory_equal(whole, parts, sizeof(whole));
    /* These bytes must stay the same forever, on every machine. */
    static const uint8_t known[12] = {126, 255, 255, 162, 0, 255, 128, 255, 255, 115, 0, 255};
    sl_fill_noise(whole, 4, &noise, 0);
    assert_memory_equal(whole, known, sizeof(known));
}

/* Moments of a million values; the mean's error is at most 0.03, the deviation's 0.02. */
TEST(noise_is_normal)
{
    enum { COUNT = 1 << 20 };
    uint8_t *pixels = malloc((size_t)COUNT * 3);
    assert_non_null(pixels);
    sl_fill_noise(pixels, COUNT, &noise, 0);
    double moments[5] = {0};
    double within = 0;
    size_t black = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const double value = (double)pixels[i * 3] - 124.0;
        double power = 1.0;
        for (int k = 1; k <= 4; k++) {
            power *= value / 30.0;
            moments[k] += power / COUNT;
        }
        within += fabs(value) <= 30.0;
        black += pixels[i * 3 + 1] == 0;
        assert_int_equal(pixels[i * 3 + 2], 255);
    }
    assert_float_equal(moments[1], 0.0, 0.005);
    assert_float_equal(moments[2], 1.0, 0.01);
    assert_float_equal(moments[3], 0.0, 0.02);
    assert_float_equal(moments[4], 3.0, 0.06);
    assert_float_equal(within / COUNT, 0.6907, 0.005); /* 61 values of [-30.5, 30.5] */
    assert_float_equal((double)black / COUNT, 0.5, 0.005);
    free(pixels);
}

TEST(erasing_stays_in_the_rectangle)
{
    enum { WIDTH = 19, HEIGHT = 13 };
    static const uint8_t colour[3] = {1, 2, 3};
    static const sl_rect parts[] = {
        {0, 0, WIDTH, HEIGHT}, {3, 4, 7, 5}, {18, 12, 1, 1}, {5, 5, 0, 3}, {2, 0, 17, 13}};
    uint8_t strip[WIDTH * HEIGHT * 3];
    sl_fill_noise(strip, (size_t)WIDTH * HEIGHT, &noise, 0);
    for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        const sl_rect *part = &parts[k];
        uint8_t plain[WIDTH * HEIGHT * 3];
        uint8_t noisy[WIDTH * HEIGHT * 3];
        memset(plain, 99, sizeof(plain));
        memset(noisy, 99, sizeof(noisy));
        for (uint32_t y = part->y; y < part->y + part->height; y++) {
            const size_t first = (size_t)y * WIDTH + part->x;
            sl_fill_colour(plain + first * 3, part->width, colour);
            sl_fill_noise(noisy + first * 3, part->width, &noise, first);
        }
        for (uint32_t i = 0; i < WIDTH * HEIGHT * 3; i++) {
            const uint32_t x = i / 3 % WIDTH;
            const uint32_t y = i / 3 / WIDTH;
            const bool inside = x >= part->x && x < part->x + part->width && y >= part->y &&
                                y < part->y + part->height;
            assert_int_equal(plain[i], inside ? colour[i % 3] : 99);
            assert_int_equal(noisy[i], inside ? strip[i] : 99);
        }
    }
}
