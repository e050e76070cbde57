/* SPDX-License-Identifier: Apache-2.0 */
/* The field against sums over the whole kernel, and pixels against torchvision's formula, both in
 * doubles. */
#include "canvas_make.h"
#include "elastic.h"
#include "philox.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 40, SIDE = 34, TAPS = 100 };

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

static sl_elastic random_elastic(sl_random *random, uint32_t number)
{
    sl_elastic elastic = {.key = sl_random_u32(random), .nearest = number % 2 == 0};
    for (int i = 0; i < 2; i++) {
        elastic.alpha[i] = sl_random_range(random, 0, 200);
        elastic.sigma[i] = number % 5 == 0 ? 0 : sl_random_range(random, 0.01, 6);
    }
    for (int c = 0; c < 3; c++) {
        elastic.fill[c] = (uint8_t)sl_random_below(random, 256);
    }
    return elastic;
}

static double noise_at(const sl_elastic *elastic, uint32_t axis, uint32_t x, uint32_t y)
{
    const sl_philox_block block = sl_philox(elastic->key, (uint64_t)y << 32 | x / 4, axis);
    return (block.v[x % 4] >> 8) / 8388608.0 - 1.0;
}

static uint32_t mirrored(int32_t i, int32_t size)
{
    while (size > 1 && (i < 0 || i >= size)) {
        i = i < 0 ? -i : 2 * (size - 1) - i;
    }
    return size == 1 ? 0 : (uint32_t)i;
}

/* Makes torchvision's kernel; returns the number of its taps. */
static int32_t make_kernel(double size_sigma, double sigma, double *weights)
{
    int32_t taps = size_sigma > 0 ? (int32_t)(8 * size_sigma + 1) : 1;
    double sum = 0;
    taps += taps % 2 == 0;
    assert_true(taps <= TAPS);
    for (int32_t k = 0; k < taps; k++) {
        const double x = k - (taps - 1) / 2.0;
        weights[k] = sigma > 0 ? exp(-0.5 * (x / sigma) * (x / sigma)) : 1;
        sum += weights[k];
    }
    for (int32_t k = 0; k < taps; k++) {
        weights[k] /= sum;
    }
    return taps;
}

/* In pixels. */
static double displacement_at(const sl_elastic *elastic, uint32_t axis, const canvas *in,
                              uint32_t x, uint32_t y)
{
    double across[TAPS] = {0};
    double down[TAPS] = {0};
    const int32_t taps = make_kernel(elastic->sigma[axis], elastic->sigma[0], across);
    (void)make_kernel(elastic->sigma[axis], elastic->sigma[1], down);
    double sum = 0;
    for (int32_t j = 0; j < taps; j++) {
        const uint32_t row = mirrored((int32_t)y + j - taps / 2, (int32_t)in->height);
        for (int32_t k = 0; k < taps; k++) {
            const uint32_t column = mirrored((int32_t)x + k - taps / 2, (int32_t)in->width);
            sum += down[j] * across[k] * noise_at(elastic, axis, column, row);
        }
    }
    return axis == 0 ? sum * elastic->alpha[0] / in->height * in->width / 2
                     : sum * elastic->alpha[1] / in->width * in->height / 2;
}

TEST_WITH(the_field_is_torchvisions, open_scratch, close_scratch)
{
    sl_random random = sl_random_for(61, 0, 0, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE);
        const sl_elastic elastic = random_elastic(&random, i);
        float *row = malloc(in.width * sizeof(*row));
        assert_non_null(row);
        for (uint32_t axis = 0; axis < 2; axis++) {
            const size_t mark = sl_scratch_mark(*state);
            sl_elastic_axis field;
            assert_true(sl_elastic_axis_open(&field, &elastic, axis, in.width, in.height, *state));
            for (uint32_t y = 0; y < in.height; y++) {
                const uint32_t x = sl_random_below(&random, in.width);
                const double bound = 1e-5 * (1 + fabs((double)field.scale));
                sl_elastic_axis_row(&field, y, row);
                assert_true(fabs((double)row[x] - displacement_at(&elastic, axis, &in, x, y)) <
                            bound);
            }
            sl_scratch_release(*state, mark);
        }
        free(row);
        canvas_free(&in);
    }
}

static double pixel_value(const canvas *in, double x, double y, int c, double *inside)
{
    const bool is_inside = x >= 0 && x < in->width && y >= 0 && y < in->height;
    *inside = is_inside ? 1 : 0;
    return is_inside ? in->pixels[((size_t)y * in->width + (size_t)x) * 3 + (size_t)c] : 0;
}

/* grid_sample with zeros outside, and torchvision's fill, before rounding. */
static double formula(const canvas *in, const sl_elastic *elastic, double x, double y, int c)
{
    double sum = 0;
    double weight = 0;
    double inside;
    if (elastic->nearest) {
        const double value = pixel_value(in, floor(x + 0.5), floor(y + 0.5), c, &inside);
        return inside > 0 ? value : elastic->fill[c];
    }
    for (int k = 0; k < 4; k++) {
        const double column = floor(x) + (k & 1);
        const double row = floor(y) + (k >> 1);
        const double share = (1 - fabs(x - column)) * (1 - fabs(y - row));
        sum += share * pixel_value(in, column, row, c, &inside);
        weight += share * inside;
    }
    return sum * weight + (1 - weight) * elastic->fill[c];
}

/* Takes the fields from the code: they have their own test. */
static void check_pixels(const canvas *in, const sl_elastic *elastic, sl_scratch *scratch)
{
    const size_t used = scratch->used;
    canvas out = canvas_empty(in);
    sl_elastic_axis fields[2];
    float *rows[2];
    assert_int_equal(sl_elastic_apply(&in->view, elastic, out.pixels, scratch, NULL), SLUICE_OK);
    assert_int_equal(scratch->used, used);
    for (uint32_t axis = 0; axis < 2; axis++) {
        assert_true(
            sl_elastic_axis_open(&fields[axis], elastic, axis, in->width, in->height, scratch));
        rows[axis] = malloc(in->width * sizeof(**rows));
        assert_non_null(rows[axis]);
    }
    for (size_t i = 0; i < in->bytes; i++) {
        const uint32_t pixel = (uint32_t)(i / 3);
        const uint32_t x = pixel % in->width;
        const uint32_t y = pixel / in->width;
        for (uint32_t axis = 0; axis < 2 && x == 0; axis++) {
            sl_elastic_axis_row(&fields[axis], y, rows[axis]);
        }
        /* added in binary32, as in the code */
        const double at_x = (double)((float)x + rows[0][x]);
        const double at_y = (double)((float)y + rows[1][x]);
        const double value = formula(in, elastic, at_x, at_y, (int)(i % 3));
        const bool on_edge = elastic->nearest && (fabs(at_x - floor(at_x) - 0.5) < 1e-4 ||
                                                  fabs(at_y - floor(at_y) - 0.5) < 1e-4);
        assert_true(on_edge || fabs(out.pixels[i] - value) < 0.51);
    }
    free(rows[0]);
    free(rows[1]);
    sl_scratch_release(scratch, used);
    canvas_free(&out);
}

TEST_WITH(pixels_are_torchvisions_of_the_field, open_scratch, close_scratch)
{
    sl_random random = sl_random_for(62, 0, 0, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE);
        const sl_elastic elastic = random_elastic(&random, i);
        check_pixels(&in, &elastic, *state);
        canvas_free(&in);
    }
}

TEST_WITH(no_strength_changes_nothing, open_scratch, close_scratch)
{
    sl_random random = sl_random_for(63, 0, 0, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE);
        canvas out = canvas_empty(&in);
        sl_elastic elastic = random_elastic(&random, i);
        elastic.alpha[0] = elastic.alpha[1] = 0;
        assert_int_equal(sl_elastic_apply(&in.view, &elastic, out.pixels, *state, NULL), SLUICE_OK);
        assert_memory_equal(out.pixels, in.pixels, in.bytes);
        canvas_free(&in);
        canvas_free(&out);
    }
}

TEST_WITH(no_memory_is_an_error, open_scratch, close_scratch)
{
    (void)state;
    sl_random random = sl_random_for(64, 0, 0, 0);
    canvas in = canvas_of(&random, 34, 34, 0);
    canvas out = canvas_empty(&in);
    const sl_elastic elastic = {.alpha = {50, 50}, .sigma = {5, 5}};
    sl_scratch small = {.limit = 0};
    assert_int_equal(sl_scratch_open(&small, 4096, 4096, NULL), SLUICE_OK);
    assert_int_equal(sl_elastic_apply(&in.view, &elastic, out.pixels, &small, NULL), SLUICE_NOMEM);
    sl_scratch_close(&small);
    canvas_free(&in);
    canvas_free(&out);
}
