/* SPDX-License-Identifier: Apache-2.0 */
/* Blurs of each instruction set against the scalar ones, and the scalar ones against plain sums. */
#include "blur.h"
#include "box_blur.h"
#include "canvas_make.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 300, EXACT_CASES = 60, SIDE_MAX = 90, CHANNELS = 3 };

static int open_scratch(void **state)
{
    sl_scratch *scratch = calloc(1, sizeof(*scratch));
    assert_non_null(scratch);
    assert_int_equal(sl_scratch_open(scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    *state = scratch;
    return 0;
}

static int close_scratch(void **state)
{
    sl_scratch_close(*state);
    free(*state);
    return 0;
}

static double random_sigma(sl_random *random)
{
    static const double extremes[] = {1e-6, 0.01, 0.1, 40.0, 1e9};
    const uint32_t kind = sl_random_below(random, 8);
    return kind < 5 ? extremes[kind] : sl_random_range(random, 0.1, 8.0);
}

static sl_gaussian random_gaussian(sl_random *random, uint32_t number)
{
    const uint32_t most = number % 10 == 0 ? SL_BLUR_KERNEL_MAX / 2 : 12;
    return (sl_gaussian){.kernel_x = 1 + 2 * sl_random_below(random, most + 1),
                         .kernel_y = 1 + 2 * sl_random_below(random, most + 1),
                         .sigma_x = random_sigma(random),
                         .sigma_y = random_sigma(random)};
}

static void blur_gaussian(sl_simd simd, const canvas *in, const sl_gaussian *blur, canvas *out,
                          sl_scratch *scratch)
{
    const size_t used = scratch->used;
    assert_int_equal(sl_blur_gaussian(simd, &in->view, blur, out->pixels, scratch, NULL),
                     SLUICE_OK);
    assert_int_equal(scratch->used, used);
}

static void blur_box(sl_simd simd, const canvas *in, const sl_boxes *boxes, canvas *out,
                     sl_scratch *scratch)
{
    const size_t used = scratch->used;
    assert_int_equal(sl_box_blur(simd, &in->view, boxes, out->pixels, scratch, NULL), SLUICE_OK);
    assert_int_equal(scratch->used, used);
}

TEST_WITH(gaussian_levels_are_equal, open_scratch, close_scratch)
{
    sl_random random = sl_random_for(21, 0, 0, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE_MAX);
        canvas reference = canvas_empty(&in);
        canvas out = canvas_empty(&in);
        const sl_gaussian blur = random_gaussian(&random, i);
        blur_gaussian(SL_SIMD_SCALAR, &in, &blur, &reference, *state);
        for (sl_simd level = canvas_next_level(SL_SIMD_SCALAR); level != SL_SIMD_SCALAR;
             level = canvas_next_level(level)) {
            blur_gaussian(level, &in, &blur, &out, *state);
            assert_memory_equal(out.pixels, reference.pixels, in.bytes);
        }
        canvas_free(&in);
        canvas_free(&reference);
        canvas_free(&out);
    }
}

/* Returns the position of pixel i, mirrored step by step. */
static uint32_t walk(int32_t i, int32_t size)
{
    while (size > 1 && (i < 0 || i >= size)) {
        i = i < 0 ? -i : 2 * (size - 1) - i;
    }
    return size == 1 ? 0 : (uint32_t)i;
}

static void exact_weights(uint32_t kernel, double sigma, double *weights)
{
    double all = 0.0;
    for (uint32_t k = 0; k < kernel; k++) {
        const double x = ((double)k - (double)(kernel - 1) / 2.0) / sigma;
        weights[k] = exp(-0.5 * x * x);
        all += weights[k];
    }
    for (uint32_t k = 0; k < kernel; k++) {
        weights[k] /= all;
    }
}

/* Computes one sample by the definition, in doubles. */
static double exact_sample(const canvas *in, const sl_gaussian *blur, uint32_t x, uint32_t y,
                           uint32_t c)
{
    double across[SL_BLUR_KERNEL_MAX];
    double down[SL_BLUR_KERNEL_MAX];
    double sum = 0.0;
    exact_weights(blur->kernel_x, blur->sigma_x, across);
    exact_weights(blur->kernel_y, blur->sigma_y, down);
    for (uint32_t j = 0; j < blur->kernel_y; j++) {
        const int32_t at_y = (int32_t)(y + j) - (int32_t)(blur->kernel_y / 2);
        const uint8_t *row =
            in->pixels + (size_t)walk(at_y, (int32_t)in->height) * in->width * CHANNELS;
        for (uint32_t k = 0; k < blur->kernel_x; k++) {
            const int32_t at_x = (int32_t)(x + k) - (int32_t)(blur->kernel_x / 2);
            sum += down[j] * across[k] * row[walk(at_x, (int32_t)in->width) * CHANNELS + c];
        }
    }
    return sum;
}

/* The bound of blur.h: 0.5 for rounding, plus its error of the weights. */
static double gaussian_bound(const sl_gaussian *blur)
{
    const double across = (double)blur->kernel_x / 2.0 * 255.0 / (1 << 17);
    const double down = (double)blur->kernel_y / 2.0 * 255.0 / (1 << 17);
    const double narrow = 0.06; /* sigmas below 1: few weights, of 14 bits */
    return 0.5 + across + down + 1.0 / 256.0 + narrow;
}

TEST_WITH(gaussian_is_near_the_definition, open_scratch, close_scratch)
{
    sl_random random = sl_random_for(22, 0, 0, 0);
    double worst = 0.0;
    for (uint32_t i = 0; i < EXACT_CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE_MAX);
        canvas out = canvas_empty(&in);
        const sl_gaussian blur = random_gaussian(&random, i);
        blur_gaussian(sl_simd_best(), &in, &blur, &out, *state);
        for (uint32_t n = 0; n < 40; n++) {
            const uint32_t x = sl_random_below(&random, in.width);
            const uint32_t y = sl_random_below(&random, in.height);
            const uint32_t c = n % CHANNELS;
            const double exact = exact_sample(&in, &blur, x, y, c);
            const double ours = out.pixels[((size_t)y * in.width + x) * CHANNELS + c];
            worst = fmax(worst, fabs(ours - exact));
            assert_true(fabs(ours - exact) < gaussian_bound(&blur));
        }
        canvas_free(&in);
        canvas_free(&out);
    }
    print_message("largest difference %.3f\n", worst);
}

TEST_WITH(gaussian_keeps_what_is_even, open_scratch, close_scratch)
{
    sl_random random = sl_random_for(23, 0, 0, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, 40);
        canvas out = canvas_empty(&in);
        sl_gaussian blur = random_gaussian(&random, i);
        memset(in.pixels, i % 3 == 0 ? 0 : i % 3 == 1 ? 255 : (int)(i % 256), in.bytes);
        blur_gaussian(sl_simd_best(), &in, &blur, &out, *state);
        assert_memory_equal(out.pixels, in.pixels, in.bytes);
        canvas_free(&in);
        in = canvas_of(&random, out.width, out.height, 0);
        blur.sigma_x = blur.sigma_y = 1e-3; /* no neighbour has weight */
        blur_gaussian(sl_simd_best(), &in, &blur, &out, *state);
        assert_memory_equal(out.pixels, in.pixels, in.bytes);
        canvas_free(&in);
        canvas_free(&out);
    }
}

/* Also tested in place. */
TEST_WITH(box_levels_are_equal, open_scratch, close_scratch)
{
    static const float radii[] = {0.0F,  0.3F,  1.0F,  1.7F,   5.5F, 62.9F,
                                  63.0F, 63.9F, 64.0F, 250.5F, 3e3F, SL_BOX_RADIUS_MAX};
    sl_random random = sl_random_for(24, 0, 0, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE_MAX);
        canvas reference = canvas_empty(&in);
        canvas out = canvas_empty(&in);
        const sl_boxes boxes = {radii[sl_random_below(&random, sizeof(radii) / sizeof(*radii))],
                                1 + sl_random_below(&random, 4)};
        blur_box(SL_SIMD_SCALAR, &in, &boxes, &reference, *state);
        for (sl_simd level = canvas_next_level(SL_SIMD_SCALAR); level != SL_SIMD_SCALAR;
             level = canvas_next_level(level)) {
            blur_box(level, &in, &boxes, &out, *state);
            assert_memory_equal(out.pixels, reference.pixels, in.bytes);
        }
        blur_box(sl_simd_best(), &in, &boxes, &in, *state);
        assert_memory_equal(in.pixels, reference.pixels, in.bytes);
        canvas_free(&in);
        canvas_free(&reference);
        canvas_free(&out);
    }
}

TEST(a_small_scratch_is_no_memory)
{
    sl_scratch scratch;
    sl_random random = sl_random_for(25, 0, 0, 0);
    canvas in = canvas_of(&random, 2000, 2, 0);
    canvas out = canvas_empty(&in);
    const sl_gaussian blur = {9, 9, 2.0, 2.0};
    const sl_boxes boxes = sl_boxes_gaussian(2.0F);
    sluice_error error;
    assert_int_equal(sl_scratch_open(&scratch, 4096, 4096, NULL), SLUICE_OK);
    assert_int_equal(
        sl_blur_gaussian(sl_simd_best(), &in.view, &blur, out.pixels, &scratch, &error),
        SLUICE_NOMEM);
    assert_int_equal(sl_box_blur(sl_simd_best(), &in.view, &boxes, out.pixels, &scratch, &error),
                     SLUICE_NOMEM);
    assert_int_equal(scratch.used, 0);
    sl_scratch_close(&scratch);
    canvas_free(&in);
    canvas_free(&out);
}
