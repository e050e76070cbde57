/* SPDX-License-Identifier: Apache-2.0 */
/* Whole images decoded by our kernels, compared with libjpeg, and every level with the scalar
 * one. */
#include "jpeg_kernels.h"
#include "jpeg_rows.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { AROUND = 63, SPILL = 64, GUARD = 32, WIDTH_MAX = 300, ROUNDS = 6000 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static void compare_size(uint32_t width, uint32_t height, uint32_t seed)
{
    static const jpeg_options kinds[] = {
        {.colour = JPEG_GREY},          {.h_factor = 1, .v_factor = 1},
        {.h_factor = 2, .v_factor = 1}, {.h_factor = 1, .v_factor = 2},
        {.h_factor = 2, .v_factor = 2},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        jpeg_file file = jpeg_make_pattern(width, height, seed, &kinds[i]);
        jpeg_kernels_compare(&file);
        jpeg_free(&file);
    }
}

TEST(small_pictures_equal_libjpeg)
{
    for (uint32_t width = 1; width <= 20; width++) {
        for (uint32_t height = 1; height <= 20; height += width % 3 + 1) {
            compare_size(width, height, width * 100 + height);
        }
    }
}

TEST(pictures_equal_libjpeg)
{
    static const uint32_t sizes[][2] = {{17, 33},  {33, 17},  {63, 40},   {64, 48},  {65, 31},
                                        {127, 20}, {128, 16}, {129, 130}, {191, 64}, {500, 77}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        compare_size(sizes[i][0], sizes[i][1], (uint32_t)i);
    }
}

/* Exactly the samples that a row may read, in separate memory: sanitizers see reads beyond. */
typedef struct strip {
    uint8_t *memory;
    const uint8_t *column0;
} strip;

static strip strip_make(uint32_t begin, uint32_t end, uint32_t *random)
{
    strip made;
    size_t size = (size_t)(end - begin) + 2 * (size_t)AROUND;
    made.memory = malloc(size);
    assert_non_null(made.memory);
    bool hard = next_random(random) % 2 == 0; /* only extremes */
    for (size_t i = 0; i < size; i++) {
        uint32_t value = next_random(random);
        made.memory[i] = (uint8_t)(hard ? (value % 2 == 0 ? 0 : UINT8_MAX) : value);
    }
    made.column0 = made.memory + AROUND - begin;
    return made;
}

typedef struct row_strips {
    strip luma, chroma[4];
} row_strips;

/* Makes part of a row of an image whose luma is `width` wide. */
static row_strips strips_make(sl_jpeg_row *row, sl_jpeg_sampling sampling, uint32_t width,
                              uint32_t *random)
{
    bool halved =
        sampling == SL_JPEG_422 || sampling == SL_JPEG_420 || sampling == SL_JPEG_422_PLAIN;
    uint32_t scale = halved ? 2 : 1;
    row->chroma_width = (width + scale - 1) / scale;
    uint32_t first = row->begin / scale;
    uint32_t last = (row->end - 1) / scale;
    first -= first > 0;
    last += last + 1 < row->chroma_width;
    row_strips strips = {.luma = strip_make(row->begin, row->end, random)};
    for (size_t i = 0; i < 4; i++) {
        strips.chroma[i] = strip_make(first, last + 1, random);
    }
    row->luma = strips.luma.column0;
    row->cb = strips.chroma[0].column0;
    row->cb_far = strips.chroma[1].column0;
    row->cr = strips.chroma[2].column0;
    row->cr_far = strips.chroma[3].column0;
    row->lower = next_random(random) % 2 == 0;
    return strips;
}

static void strips_free(row_strips *strips)
{
    free(strips->luma.memory);
    for (size_t i = 0; i < 4; i++) {
        free(strips->chroma[i].memory);
    }
}

/* Makes the row at one level, into memory of exact size. */
static void check_level(sl_simd simd, sl_jpeg_sampling sampling, sl_jpeg_row *row,
                        const uint8_t *wanted)
{
    size_t bytes = (size_t)3 * (row->end - row->begin);
    uint8_t *made = malloc(GUARD + bytes + SPILL);
    assert_non_null(made);
    memset(made, 0xA5, GUARD + bytes + SPILL);
    row->rgb = made + GUARD;
    sl_jpeg_row_for(simd, sampling)(row);
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(made[i], 0xA5);
    }
    assert_memory_equal(row->rgb, wanted, bytes);
    free(made);
}

TEST(levels_equal_scalar)
{
    uint32_t random = 77;
    for (int round = 0; round < ROUNDS; round++) {
        sl_jpeg_sampling sampling = (sl_jpeg_sampling)(round % SL_JPEG_SAMPLING_COUNT);
        uint32_t width = 1 + next_random(&random) % WIDTH_MAX;
        sl_jpeg_row row = {.begin =
                               next_random(&random) % 3 == 0 ? 0 : next_random(&random) % width};
        row.end = row.begin + 1 + next_random(&random) % (width - row.begin);
        if (next_random(&random) % 3 == 0) {
            row.end = width;
        }
        uint8_t wanted[3 * WIDTH_MAX];
        row_strips strips = strips_make(&row, sampling, width, &random);
        row.rgb = wanted;
        sl_jpeg_row_for(SL_SIMD_SCALAR, sampling)(&row);
        for (int simd = SL_SIMD_SCALAR + 1; simd < SL_SIMD_COUNT; simd++) {
            if (jpeg_kernels_has_level(simd)) {
                check_level((sl_simd)simd, sampling, &row, wanted);
            }
        }
        strips_free(&strips);
    }
}

enum { VALUES = 256 };

static void compare_colours(sl_jpeg_row *row)
{
    static uint8_t wanted[3 * (size_t)VALUES + SPILL];
    static uint8_t made[3 * (size_t)VALUES + SPILL];
    row->rgb = wanted;
    sl_jpeg_row_for(SL_SIMD_SCALAR, SL_JPEG_444)(row);
    for (int simd = SL_SIMD_SCALAR + 1; simd < SL_SIMD_COUNT; simd++) {
        if (jpeg_kernels_has_level(simd)) {
            row->rgb = made;
            sl_jpeg_row_for((sl_simd)simd, SL_JPEG_444)(row);
            assert_memory_equal(made, wanted, 3 * (size_t)VALUES);
        }
    }
}

/* Every pair of chroma samples: the twins' constants differ from those of the scalar version. */
TEST(colours_equal_scalar)
{
    enum { STEP = 51 };
    static uint8_t luma[VALUES + 2 * AROUND];
    static uint8_t cb[VALUES + 2 * AROUND];
    static uint8_t cr[VALUES + 2 * AROUND];
    sl_jpeg_row row = {.luma = luma + AROUND,
                       .cb = cb + AROUND,
                       .cr = cr + AROUND,
                       .end = VALUES,
                       .chroma_width = VALUES};
    for (size_t i = 0; i < VALUES; i++) {
        cr[AROUND + i] = (uint8_t)i;
    }
    for (int blue = 0; blue < VALUES; blue++) {
        memset(cb, blue, sizeof(cb));
        for (int level = 0; level < VALUES; level += STEP) {
            memset(luma, level, sizeof(luma));
            compare_colours(&row);
        }
    }
}
