/* SPDX-License-Identifier: Apache-2.0 */
/* Sharpness of each instruction set against a plain version in floats, like Pillow's code. */
#include "canvas_make.h"
#include "sharpness.h"
#include "test.h"

#include <string.h>

enum { CASES = 600, SIDE_MAX = 120 };

static float random_factor(sl_random *random)
{
    static const float extremes[] = {0.0F, 1.0F, 2.0F, -1.0F, 1e5F, 1e9F, -1e9F, 3e38F};
    const uint32_t kind = sl_random_below(random, 16);
    return kind < 8 ? extremes[kind] : (float)sl_random_range(random, -0.5, 3.0);
}

/* Weights of 1 / 13 and 5 / 13 as floats, summed one after the other. */
static uint8_t smoothed(const uint8_t *sample, size_t row)
{
    const float one = 1.0F / 13.0F;
    float sum = 0.5F;
    for (size_t y = 0; y < 3; y++) {
        const uint8_t *line = sample + row - y * row;
        const float middle = y == 1 ? 5.0F / 13.0F : one;
        sum += (float)line[-3] * one + (float)line[0] * middle + (float)line[3] * one;
    }
    return (uint8_t)sum;
}

static uint8_t blended(int32_t from, int32_t to, float factor)
{
    const float mixed = (float)from + factor * (float)(to - from);
    if (mixed <= 0.0F) {
        return 0;
    }
    return mixed >= 255.0F ? 255 : (uint8_t)mixed;
}

static void sharpen_plainly(const canvas *in, float factor, canvas *out)
{
    const size_t row = (size_t)in->width * 3;
    memcpy(out->pixels, in->pixels, in->bytes);
    for (uint32_t y = 1; y + 1 < in->height; y++) {
        for (size_t x = 3; x + 3 < row; x++) {
            const uint8_t *sample = in->pixels + y * row + x;
            out->pixels[y * row + x] = blended(smoothed(sample, row), *sample, factor);
        }
    }
}

TEST(all_levels_are_as_in_floats)
{
    sl_scratch scratch;
    sl_random random = sl_random_for(31, 0, 0, 0);
    assert_int_equal(sl_scratch_open(&scratch, 1 << 20, 1 << 20, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE_MAX);
        canvas reference = canvas_empty(&in);
        canvas out = canvas_empty(&in);
        const float factor = random_factor(&random);
        sharpen_plainly(&in, factor, &reference);
        sl_simd level = SL_SIMD_SCALAR;
        do {
            assert_int_equal(sl_sharpness(level, &in.view, factor, out.pixels, &scratch, NULL),
                             SLUICE_OK);
            assert_memory_equal(out.pixels, reference.pixels, in.bytes);
            level = canvas_next_level(level);
        } while (level != SL_SIMD_SCALAR);
        assert_int_equal(scratch.used, 0);
        canvas_free(&in);
        canvas_free(&reference);
        canvas_free(&out);
    }
    sl_scratch_close(&scratch);
}
