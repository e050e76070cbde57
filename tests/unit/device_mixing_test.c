/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mixing kernels without a GPU: their body, compiled for the host, runs for every thread of the
 * library's launches. The results are compared with the same rows made on the host.
 */
#include "convert_emulation.h"
#include "converter.h"
#include "mix_rows.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 6 };
#define GUARD ((size_t)256)

typedef struct mixed_batch {
    sl_converter converter;
    sl_conversion conversion;
    size_t samples, bytes; /* samples and bytes of a row */
    uint8_t *from, *to;
    uint8_t flags[ROWS];
    _Alignas(16) sl_conversion_mixing mixing[ROWS];
} mixed_batch;

static sl_converter converter_of(uint32_t width, uint32_t height, sluice_dtype dtype,
                                 sluice_layout layout)
{
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float deviations[] = {0.229F, 0.224F, 0.225F};
    const double size[] = {width, height};
    sl_converter converter;
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "center_crop", size, 2), SLUICE_OK);
    if (dtype != SLUICE_U8) {
        assert_int_equal(sluice_augment_normalize(recipe, mean, deviations, 3), SLUICE_OK);
    }
    assert_int_equal(sl_converter_make(&converter, recipe, dtype, layout, NULL), SLUICE_OK);
    sluice_augment_destroy(recipe);
    return converter;
}

static sl_conversion_mixing random_mixing(sl_random *random, uint32_t row, const sl_conversion *c)
{
    sl_conversion_mixing m = {.partner = row, .weight = 1};
    const uint32_t kind = sl_random_below(random, 5);
    if (kind == 0 || row == 2) {
        return m;
    }
    do { /* not the zero row */
        m.partner = sl_random_below(random, ROWS);
    } while (m.partner == 2 || m.partner == row);
    m.weight = (float)sl_random_unit(random);
    if (kind < 3) {
        m.left = (uint16_t)sl_random_below(random, c->width);
        m.right = (uint16_t)(m.left + 1 + sl_random_below(random, c->width - m.left));
        m.top = (uint16_t)sl_random_below(random, c->height);
        m.bottom = (uint16_t)(m.top + sl_random_below(random, c->height - m.top + 1));
    }
    return m;
}

static void make_batch(mixed_batch *b, uint32_t width, uint32_t height, sluice_dtype dtype,
                       sluice_layout layout)
{
    sl_random random = sl_random_for(width, height, dtype, (uint32_t)layout);
    b->converter = converter_of(width, height, dtype, layout);
    b->conversion =
        (sl_conversion){.dtype = dtype, .layout = layout, .width = width, .height = height};
    for (size_t c = 0; c < 3; c++) {
        sl_converter_factors(&b->converter, c, &b->conversion.scale[c], &b->conversion.bias[c]);
    }
    b->samples = (size_t)width * height * 3;
    b->bytes = sl_conversion_row_bytes(&b->conversion);
    void *from = NULL;
    assert_int_equal(posix_memalign(&from, 256, b->samples * ROWS), 0);
    b->from = from;
    b->to = aligned_alloc(256, (b->bytes * ROWS + 2 * GUARD + 255) / 256 * 256);
    assert_non_null(b->to);
    for (size_t i = 0; i < b->samples * ROWS; i++) {
        b->from[i] = (uint8_t)sl_random_u32(&random);
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        b->flags[row] = row == 2 ? SL_ROW_ZERO : (uint8_t)sl_random_below(&random, 2);
        b->mixing[row] = random_mixing(&random, row, &b->conversion);
    }
}

/* Arranges samples in the layout of the batch, mirrored. */
static void arrange(const mixed_batch *b, uint32_t row, uint8_t *to)
{
    sl_conversion bytes = b->conversion;
    bytes.dtype = SLUICE_U8;
    convert_plainly(&bytes, b->flags[row], b->from + row * b->samples, to);
}

static void expect_row(const mixed_batch *b, uint32_t row, uint8_t *expected)
{
    const sl_conversion_mixing *m = &b->mixing[row];
    uint8_t *own = malloc(b->samples);
    uint8_t *other = malloc(b->samples);
    assert_true(own != NULL && other != NULL);
    arrange(b, row, own);
    arrange(b, m->partner, other);
    const sl_mix_side sides[2] = {
        {.samples = own,
         .row = expected,
         .how = {m->partner, m->weight, m->left, m->top, m->right, m->bottom}},
        {.samples = m->partner == row ? NULL : other}};
    sl_mix_rows(&b->converter, &sides[0], &sides[1]);
    if (b->flags[row] & SL_ROW_ZERO) {
        memset(expected, 0, b->bytes);
    }
    free(own);
    free(other);
}

static void check_size(uint32_t width, uint32_t height, sluice_dtype dtype, sluice_layout layout)
{
    mixed_batch b;
    make_batch(&b, width, height, dtype, layout);
    uint8_t *expected = malloc(b.bytes);
    assert_non_null(expected);
    memset(b.to, 0x5A, b.bytes * ROWS + 2 * GUARD);
    const sl_conversion_rows rows = {
        .from = b.from, .flags = b.flags, .mixing = b.mixing, .to = b.to + GUARD, .rows = ROWS};
    convert_emulate_rows(&b.conversion, &rows);
    for (uint32_t row = 0; row < ROWS; row++) {
        expect_row(&b, row, expected);
        assert_memory_equal(b.to + GUARD + row * b.bytes, expected, b.bytes);
    }
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(b.to[i], 0x5A);
        assert_int_equal(b.to[GUARD + ROWS * b.bytes + i], 0x5A);
    }
    free(expected);
    free(b.from);
    free(b.to);
}

static void check_all(uint32_t width, uint32_t height)
{
    for (int i = 0; i < 8; i++) {
        check_size(width, height, (sluice_dtype)(i % 4), (sluice_layout)(i / 4));
    }
}

TEST(every_size_dtype_and_layout)
{
    static const uint32_t sizes[][2] = {{1, 1},   {1, 4},   {4, 1},   {3, 3},    {5, 7},   {7, 4},
                                        {15, 17}, {16, 16}, {33, 2},  {257, 1},  {64, 31}, {31, 64},
                                        {45, 91}, {5, 205}, {224, 3}, {1028, 4}, {1025, 3}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_all(sizes[i][0], sizes[i][1]);
    }
    for (uint32_t width = 1; width <= 36; width++) {
        for (uint32_t height = 1; height <= 16; height *= 2) {
            check_all(width, height);
        }
    }
}

TEST(kernels_that_mix_are_further_on)
{
    const sl_conversion_mixing none = {.partner = 0};
    const sl_conversion c = {.dtype = SLUICE_F16, .layout = SLUICE_NCHW};
    sl_conversion_rows rows = {.rows = 1};
    const uint32_t plain = sl_conversion_kernel_for(&c, &rows);
    assert_string_equal(sl_conversion_kernel_name(plain), "sl_conversion_f16_nchw");
    rows.mixing = &none;
    const uint32_t mixing = sl_conversion_kernel_for(&c, &rows);
    assert_int_equal(mixing, plain + SL_CONVERSION_MIXING);
    assert_string_equal(sl_conversion_kernel_name(mixing), "sl_conversion_mixing_f16_nchw");
}
