/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every instruction set against the scalar reference, on chosen inputs: one colour with one
 * differing sample at each position of a vector; edges of 0 and 255; weights and factors whose
 * results are near integers; all sizes around a vector's.
 */
#include "aug_mix.h"
#include "blur.h"
#include "box_blur.h"
#include "canvas_make.h"
#include "converter.h"
#include "fence.h"
#include "mix_rows.h"
#include "pixels.h"
#include "resample.h"
#include "sharpness.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 134, BYTES = PIXELS * 3 };

/* ---- images ---- */

enum { FLAT_KINDS = 8, KINDS = FLAT_KINDS + 4 };

/* `place`: position of the differing sample. */
static void directed_bytes(uint8_t *bytes, size_t count, uint32_t kind, size_t place)
{
    static const uint8_t flat[FLAT_KINDS][2] = {{0, 255}, {255, 0},   {0, 1},     {255, 254},
                                                {1, 0},   {254, 255}, {128, 127}, {160, 159}};
    for (size_t i = 0; i < count; i++) {
        const uint8_t values[] = {(uint8_t)(i % 2 == 0 ? 0 : 255),
                                  (uint8_t)(i / 3 % 2 == 0 ? 255 : 0), (uint8_t)i,
                                  (uint8_t)(i / 3 < count / 6 ? 0 : 255)};
        bytes[i] = kind < FLAT_KINDS ? flat[kind][0] : values[kind - FLAT_KINDS];
    }
    if (kind < FLAT_KINDS && count > 0) {
        bytes[place % count] = flat[kind][1];
    }
}

/* ---- pixels in place ---- */

static const float factors[] = {0,       1,        0.5F,   2,        1 - 0x1p-24F, 1 + 0x1p-23F,
                                -1,      0x1p-20F, 1e-30F, 1e5F,     1e30F,        -1e30F,
                                FLT_MAX, -FLT_MAX, -0.0F,  1.0F / 3, 254.0F / 255};
enum { FACTORS = sizeof(factors) / sizeof(factors[0]) };

static uint64_t run_pixels(const sl_pixel_kernels *k, uint32_t operation, uint32_t number,
                           uint8_t *pixels, size_t count)
{
    static uint8_t tables[3][SL_LUT_SIZE];
    static const uint8_t orders[3][3] = {{0, 2, 1}, {1, 2, 0}, {2, 1, 0}};
    const sl_hsv_change change = {.saturation = sl_hsv_factor(number % 5 / 2.0),
                                  .value = sl_hsv_factor(number / 5 % 5 / 2.0),
                                  .hue = (uint8_t)(number * 59 % 180)};
    switch (operation) {
    case 0:
        k->grey(pixels, count);
        return 0;
    case 1:
        return k->sum_grey(pixels, count);
    case 2:
        k->blend_grey(pixels, count, factors[number % FACTORS]);
        return 0;
    case 3:
        k->hue(pixels, count, (uint8_t)(number * 85));
        return 0;
    case 4:
        k->hsv(pixels, count, &change);
        return 0;
    case 5:
        k->permute(pixels, count, orders[number % 3]);
        return 0;
    default:
        for (size_t i = 0; i < sizeof(tables); i++) {
            tables[i / SL_LUT_SIZE][i % SL_LUT_SIZE] = (uint8_t)(i * 7 + i / SL_LUT_SIZE);
        }
        if (operation == 6) {
            k->look_up(pixels, count, tables);
        } else {
            k->look_up_one(pixels, count, tables[0]);
        }
        return 0;
    }
}

TEST(pixels_in_place)
{
    static uint8_t expected[BYTES];
    fence f = fence_open(BYTES);
    for (uint32_t round = 0; round < PIXELS * KINDS * TEST_AMOUNT(2, 1); round++) {
        const size_t count = round % PIXELS;
        const uint32_t kind = round / PIXELS % KINDS;
        for (uint32_t operation = 0; operation < 8; operation++) {
            directed_bytes(expected, count * 3, kind, (size_t)round * 31);
            const uint64_t sum =
                run_pixels(&sl_pixels_scalar, operation, round / 7, expected, count);
            for (sl_simd level = canvas_next_level(SL_SIMD_SCALAR); level != SL_SIMD_SCALAR;
                 level = canvas_next_level(level)) {
                uint8_t *pixels = fence_place(&f, count * 3, round % 2 == 0);
                directed_bytes(pixels, count * 3, kind, (size_t)round * 31);
                assert_int_equal(
                    run_pixels(sl_pixel_kernels_for(level), operation, round / 7, pixels, count),
                    sum);
                assert_memory_equal(pixels, expected, count * 3);
            }
        }
    }
    fence_close(&f);
}

/* ---- AugMix ---- */

/* Weights whose sums are integers, or as close as binary32 allows. */
TEST(blends_about_integers)
{
    static const float weights[] = {0,        1,     0.5F,         0.25F,     1.0F / 3,
                                    2.0F / 3, 0.1F,  1 - 0x1p-24F, 0x1p-24F,  0.2F,
                                    1e-38F,   0.75F, 1 - 0x1p-12F, 0.3333333F};
    enum { WEIGHTS = sizeof(weights) / sizeof(weights[0]), CHAINS = 3 };
    static uint8_t inputs[CHAINS + 1][BYTES];
    static uint8_t expected[BYTES];
    static uint8_t made[BYTES];
    const uint8_t *chains[SL_POLICY_WIDTH_MAX] = {inputs[1], inputs[2], inputs[3]};
    for (uint32_t round = 0; round < WEIGHTS * WEIGHTS * 3 * KINDS; round++) {
        const size_t bytes = 1 + round % (BYTES - 1);
        sl_aug_mixing mixing = {.rule = (sl_mix_rule)(round % 3),
                                .original = weights[round / 3 % WEIGHTS],
                                .blend = weights[round / 5 % WEIGHTS],
                                .width = 1 + round % CHAINS};
        for (uint32_t i = 0; i <= CHAINS; i++) {
            directed_bytes(inputs[i], bytes, (round / 11 + i * (round % 4)) % KINDS, round + i);
            if (i < CHAINS) {
                mixing.weights[i] = weights[(round / 3 / WEIGHTS + i) % WEIGHTS];
            }
        }
        sl_aug_mix_scalar(&mixing, inputs[0], chains, bytes, expected);
        for (sl_simd level = canvas_next_level(SL_SIMD_SCALAR); level != SL_SIMD_SCALAR;
             level = canvas_next_level(level)) {
            memset(made, 77, sizeof(made));
            sl_mix_for(level)(&mixing, inputs[0], chains, bytes, made);
            assert_memory_equal(made, expected, bytes);
        }
    }
}

/* ---- rows of a batch, and the conversion ---- */

static sl_converter directed_converter(uint32_t width, sluice_dtype dtype, sluice_layout layout,
                                       uint32_t number)
{
    static const float means[] = {0, 0.5F, 0.485F, 1, 3e38F};
    static const float deviations[] = {1, 0.25F, 1.0F / 255, 1e-7F, 1e-40F, 1e20F, 3e38F};
    const float mean[] = {means[number % 5], means[number / 5 % 5], 0};
    const float deviation[] = {deviations[number % 7], deviations[number / 7 % 7], 1};
    sl_converter converter;
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(recipe, width, 2, 0), SLUICE_OK);
    if (dtype != SLUICE_U8) {
        assert_int_equal(sluice_augment_normalize(recipe, mean, deviation, 3), SLUICE_OK);
    }
    assert_int_equal(sl_converter_make(&converter, recipe, dtype, layout, NULL), SLUICE_OK);
    sluice_augment_destroy(recipe);
    return converter;
}

static void mix_both(sl_converter *converter, sl_simd level, uint8_t *samples[2], float weight,
                     uint8_t *rows[2])
{
    sl_mix_side sides[2];
    converter->tools.simd = level;
    for (int k = 0; k < 2; k++) {
        sides[k] = (sl_mix_side){
            .samples = samples[k],
            .row = rows[k],
            .how = {.partner = 1 - (uint32_t)k, .weight = k == 0 ? weight : 1 - weight}};
    }
    sl_mix_rows(converter, &sides[0], &sides[1]);
}

TEST(rows_that_are_mixed)
{
    static const float weights[] = {0, 1, 0.5F, 0.25F, 1 - 0x1p-24F, 0x1p-24F, 1.0F / 3, 0.9F};
    enum { WEIGHTS = sizeof(weights) / sizeof(weights[0]), WIDTH = 60, ROW = WIDTH * 2 * 3 * 4 };
    static uint8_t pixels[2][WIDTH * 2 * 3];
    static uint8_t expected[2][ROW];
    static uint8_t made[2][ROW];
    for (uint32_t round = 0; round < 4 * 2 * WEIGHTS * WIDTH; round++) {
        const uint32_t width = 1 + round / (8 * WEIGHTS);
        sl_converter converter = directed_converter(width, (sluice_dtype)(round % 4),
                                                    (sluice_layout)(round / 4 % 2), round / 8);
        const size_t bytes = sl_converter_row_bytes(&converter);
        for (uint32_t k = 0; k < 2; k++) {
            directed_bytes(pixels[k], (size_t)width * 6, (round + k * (round / 3)) % KINDS, round);
        }
        mix_both(&converter, SL_SIMD_SCALAR, (uint8_t *[]){pixels[0], pixels[1]},
                 weights[round / 8 % WEIGHTS], (uint8_t *[]){expected[0], expected[1]});
        for (sl_simd level = canvas_next_level(SL_SIMD_SCALAR); level != SL_SIMD_SCALAR;
             level = canvas_next_level(level)) {
            memset(made, 77, sizeof(made));
            mix_both(&converter, level, (uint8_t *[]){pixels[0], pixels[1]},
                     weights[round / 8 % WEIGHTS], (uint8_t *[]){made[0], made[1]});
            assert_memory_equal(made[0], expected[0], bytes);
            assert_memory_equal(made[1], expected[1], bytes);
        }
    }
}

/* ---- filters ---- */

enum { SIDE = 70 };

typedef struct picture {
    uint32_t width, height;
    uint8_t pixels[SIDE * SIDE * 3];
} picture;

static sl_image view_of(const picture *p)
{
    return (sl_image){.pixels = p->pixels,
                      .width = p->width,
                      .height = p->height,
                      .channels = 3,
                      .stride_bytes = (size_t)p->width * 3,
                      .picture_width = p->width,
                      .picture_height = p->height,
                      .denominator = 1};
}

static void directed_picture(picture *p, uint32_t round)
{
    static const uint32_t heights[] = {1, 2, 3, 5, 17, 33};
    p->width = 1 + round % SIDE;
    p->height = heights[round / 3 % 6];
    directed_bytes(p->pixels, (size_t)p->width * p->height * 3, round % KINDS, (size_t)round * 97);
}

static uint8_t filtered[2][SIDE * SIDE * 3];

static void run_filter(uint32_t filter, sl_simd level, const picture *p, uint32_t round,
                       sl_scratch *scratch, uint8_t *out)
{
    static const double sigmas[] = {1e-6, 0.1, 0.5, 1, 2, 8, 1e9};
    const sl_image view = view_of(p);
    const sl_gaussian gaussian = {1 + round % 6 * 2, 1 + round % 5 * 2, sigmas[round % 7],
                                  sigmas[round / 7 % 7]};
    static const float radii[] = {0, 0.5F, 1, 1.5F, 2.999999F, 3, 62.9999F, 63, 63.00001F, 1e4F};
    const sl_boxes boxes = {radii[round % 10], 1 + round % 3};
    const sluice_status status =
        filter == 0   ? sl_blur_gaussian(level, &view, &gaussian, out, scratch, NULL)
        : filter == 1 ? sl_box_blur(level, &view, &boxes, out, scratch, NULL)
                      : sl_sharpness(level, &view, factors[round % FACTORS], out, scratch, NULL);
    assert_int_equal(status, SLUICE_OK);
}

TEST(filters)
{
    static picture p;
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 4 << 20, 4 << 20, NULL), SLUICE_OK);
    for (uint32_t round = 0; round < SIDE * TEST_AMOUNT(12, 4); round++) {
        directed_picture(&p, round);
        const size_t bytes = (size_t)p.width * p.height * 3;
        for (uint32_t filter = 0; filter < 3; filter++) {
            run_filter(filter, SL_SIMD_SCALAR, &p, round, &scratch, filtered[0]);
            for (sl_simd level = canvas_next_level(SL_SIMD_SCALAR); level != SL_SIMD_SCALAR;
                 level = canvas_next_level(level)) {
                memset(filtered[1], 77, bytes);
                run_filter(filter, level, &p, round, &scratch, filtered[1]);
                assert_memory_equal(filtered[1], filtered[0], bytes);
            }
        }
    }
    sl_scratch_close(&scratch);
}

/* Up, down and by simple fractions, so that weights are equal, 0, or all on one pixel. */
TEST(resizes)
{
    static const uint32_t sides[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
    enum { SIDES = sizeof(sides) / sizeof(sides[0]) };
    static picture p;
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 4 << 20, 4 << 20, NULL), SLUICE_OK);
    for (uint32_t round = 0; round < SIDE * TEST_AMOUNT(30, 8); round++) {
        directed_picture(&p, round);
        sl_mapping mapping = {.source = {0, 0, p.width, p.height},
                              .width = sides[round / 4 % SIDES],
                              .height = sides[round / 5 % SIDES],
                              .flip_x = round % 3 == 0};
        mapping.virtual_width = mapping.width;
        mapping.virtual_height = mapping.height;
        sl_mapping_interpolate(&mapping, (sl_interpolation)(round % 4));
        const sl_image view = view_of(&p);
        const size_t bytes = (size_t)mapping.width * mapping.height * 3;
        assert_int_equal(sl_resample(SL_SIMD_SCALAR, &view, &mapping, filtered[0], &scratch, NULL),
                         SLUICE_OK);
        for (sl_simd level = canvas_next_level(SL_SIMD_SCALAR); level != SL_SIMD_SCALAR;
             level = canvas_next_level(level)) {
            memset(filtered[1], 77, bytes);
            assert_int_equal(sl_resample(level, &view, &mapping, filtered[1], &scratch, NULL),
                             SLUICE_OK);
            assert_memory_equal(filtered[1], filtered[0], bytes);
        }
    }
    sl_scratch_close(&scratch);
}
