/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit rounding against doubles, jitter and conversion against the written formulas. */
#include "converter.h"
#include "jpeg_make.h"
#include "philox.h"
#include "programs.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 19 };

/* A 16-bit float format: value of its bits, exactly. */
typedef struct format {
    int exponent_bits, mantissa_bits;
    uint16_t (*round)(float value);
} format;

static const format half = {5, 10, sl_half_from_float};
static const format bfloat = {8, 7, sl_bfloat16_from_float};

static double value_of(const format *f, uint32_t bits)
{
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    uint32_t mantissa = bits & ((1U << f->mantissa_bits) - 1);
    int exponent = (int)(bits >> f->mantissa_bits & ((1U << f->exponent_bits) - 1));
    double magnitude = exponent == 0 ? ldexp(mantissa, 1 - bias - f->mantissa_bits)
                                     : ldexp(mantissa + (1U << f->mantissa_bits),
                                             exponent - bias - f->mantissa_bits);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/*
 * Rounding is monotonic between two neighbours. It is therefore right everywhere if it is right at
 * each value of the format, at half-way to the next, and one binary32 step on each side of
 * half-way.
 */
static void check_every_boundary(const format *f)
{
    uint32_t infinity = ((1U << f->exponent_bits) - 1) << f->mantissa_bits;
    for (uint32_t bits = 0; bits < infinity; bits++) {
        double here = value_of(f, bits);
        /* after the largest number, the next step would be the place of infinity */
        double next = value_of(f, bits + 1);
        float middle = (float)((here + next) / 2);
        assert_true((double)middle == (here + next) / 2);
        uint32_t even = bits % 2 == 0 ? bits : bits + 1;
        for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
            float direction = sign != 0 ? -1.0F : 1.0F;
            assert_int_equal(f->round(direction * (float)here), sign | bits);
            assert_int_equal(f->round(direction * middle), sign | even);
            assert_int_equal(f->round(direction * nextafterf(middle, 0.0F)), sign | bits);
            assert_int_equal(f->round(direction * nextafterf(middle, INFINITY)), sign | (bits + 1));
        }
    }
    assert_int_equal(f->round(INFINITY), infinity);
    assert_int_equal(f->round(-INFINITY), 0x8000 | infinity);
    assert_int_equal(f->round(float_of(0x7F7FFFFF)), infinity);
}

static bool is_nan16(const format *f, uint16_t bits)
{
    uint32_t infinity = ((1U << f->exponent_bits) - 1) << f->mantissa_bits;
    return (bits & 0x7FFFU) > infinity;
}

TEST(sixteen_bits_round_to_even)
{
    check_every_boundary(&half);
    check_every_boundary(&bfloat);
    /* binary32's own subnormals, and NaNs */
    assert_int_equal(sl_half_from_float(float_of(1)), 0);
    assert_int_equal(sl_half_from_float(float_of(0x80000001)), 0x8000);
    assert_int_equal(sl_bfloat16_from_float(float_of(0x00008001)), 1);
    for (uint32_t payload = 1; payload < 1U << 23; payload += 977) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            float nan = float_of(sign << 31 | 0x7F800000 | payload);
            assert_true(is_nan16(&half, sl_half_from_float(nan)));
            assert_true(is_nan16(&bfloat, sl_bfloat16_from_float(nan)));
        }
    }
    assert_true(is_nan16(&bfloat, sl_bfloat16_from_float(float_of(0xFFFFFFFF))));
}

/* Every float gets the nearest value: tests samples of all floats by distance. */
TEST(sixteen_bits_are_the_nearest)
{
    for (uint64_t bits = 0; bits < 0x47000000; bits += 65521) { /* up to 32768 */
        float value = float_of((uint32_t)bits);
        uint16_t rounded = sl_half_from_float(value);
        double distance = fabs(value_of(&half, rounded) - (double)value);
        assert_true(distance <= fabs(value_of(&half, rounded + 1U) - (double)value));
        assert_true(rounded == 0 ||
                    distance <= fabs(value_of(&half, rounded - 1U) - (double)value));
    }
}

static void fill(uint8_t *pixels, size_t bytes, uint64_t seed)
{
    sl_random random = sl_random_for(seed, 0, 0, 0);
    for (size_t i = 0; i < bytes; i++) {
        pixels[i] = (uint8_t)sl_random_below(&random, 256);
    }
}

static uint8_t clip(double value)
{
    return (uint8_t)fmin(fmax(value, 0.0), 255.0);
}

enum { BRIGHTNESS, CONTRAST, SATURATION, KINDS };

static const sl_operation_kind *const operations[KINDS] = {
    &sl_operation_brightness, &sl_operation_contrast, &sl_operation_saturation};

/* One step by the formulas, in doubles; off by one where binary32 rounds across an integer. */
static void jitter_step(uint8_t *pixels, size_t count, int kind, double factor)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = pixels + i * 3;
        sum += floor((p[0] * 19595.0 + p[1] * 38470.0 + p[2] * 7471.0 + 32768.0) / 65536.0);
    }
    double mean = floor(sum / (double)count + 0.5);
    for (size_t i = 0; i < count; i++) {
        uint8_t *p = pixels + i * 3;
        double grey = floor((p[0] * 19595.0 + p[1] * 38470.0 + p[2] * 7471.0 + 32768.0) / 65536.0);
        for (int c = 0; c < 3; c++) {
            double base = kind == SATURATION ? grey : 0;
            base = kind == CONTRAST ? mean : base;
            p[c] = clip(base + factor * (p[c] - base));
        }
    }
}

TEST(jitter_follows_the_formulas)
{
    static const float factors[] = {0.0F, 0.3F, 1.0F, 1.7F, 30.0F};
    uint8_t ours[SIDE * SIDE * 3];
    uint8_t expected[sizeof(ours)];
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t k = 0; k < sizeof(factors) / sizeof(factors[0]); k++) {
            fill(ours, sizeof(ours), k);
            memcpy(expected, ours, sizeof(ours));
            program_operate(operations[kind], (double)factors[k], ours, SIDE, SIDE);
            jitter_step(expected, (size_t)SIDE * SIDE, kind, (double)factors[k]);
            for (size_t i = 0; i < sizeof(ours); i++) {
                assert_true(abs(ours[i] - expected[i]) <= 1);
            }
            if (factors[k] == 1.0F) {
                fill(expected, sizeof(expected), k);
                assert_memory_equal(ours, expected, sizeof(ours));
            }
        }
    }
}

/* Makes a recipe with a crop of side x side, and normalize if a mean is given. */
static sluice_augment *make_recipe(uint32_t side, const float *means, const float *deviations)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    if (side > 0) {
        assert_int_equal(sluice_augment_random_crop(recipe, side, side, 0), SLUICE_OK);
    }
    if (means != NULL) {
        assert_int_equal(sluice_augment_normalize(recipe, means, deviations, 3), SLUICE_OK);
    }
    return recipe;
}

TEST(jitter_keeps_the_order)
{
    static const struct {
        int kind;
        double factor;
    } steps[] = {{SATURATION, 0.2}, {CONTRAST, 2.5}, {BRIGHTNESS, 1.4}};
    STATIC_PARAMS(params);
    uint8_t pixels[SIDE * SIDE * 3];
    uint8_t ours[sizeof(pixels)];
    sl_drawing drawing;
    fill(pixels, sizeof(pixels), 1);
    sl_drawing_begin(&drawing, &params, SIDE, SIDE, false, NULL);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        sl_draw_operation(&drawing, operations[steps[i].kind])->values[0] = steps[i].factor;
    }
    sl_drawing_end(&drawing);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        program_bytes(&params, (sl_simd)level, pixels, SIDE, SIDE, ours);
        uint8_t expected[sizeof(pixels)];
        memcpy(expected, pixels, sizeof(expected));
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
            program_operate(operations[steps[i].kind], steps[i].factor, expected, SIDE, SIDE);
        }
        assert_memory_equal(ours, expected, sizeof(ours));
    }
}

static uint32_t element(const void *row, sluice_dtype dtype, size_t index)
{
    uint32_t bits = 0;
    size_t bytes = sluice_dtype_bytes(dtype);
    memcpy(&bits, (const uint8_t *)row + index * bytes, bytes);
    return bits;
}

static uint32_t expected_bits(sluice_dtype dtype, uint8_t value, float scale, float bias)
{
    if (dtype == SLUICE_U8) {
        return value;
    }
    /* product of 8 and 24 bits plus one addition: nearly exact in binary64, exact in fmaf */
    float result = fmaf(value, scale, bias);
    uint32_t bits = 0;
    memcpy(&bits, &result, sizeof(bits));
    return dtype == SLUICE_F32   ? bits
           : dtype == SLUICE_F16 ? sl_half_from_float(result)
                                 : sl_bfloat16_from_float(result);
}

static const float mean[3] = {0.485F, 0.456F, 0.406F};
static const float deviation[3] = {0.229F, 0.224F, 0.225F};

static void check_elements(const sl_converter *converter, const uint8_t *pixels, const void *row,
                           bool normalize)
{
    sluice_dtype dtype = converter->dtype;
    size_t count = (size_t)SIDE * SIDE;
    for (size_t i = 0; i < count * 3; i++) {
        size_t c = i % 3;
        float scale = normalize ? 1.0F / (255.0F * deviation[c]) : 1.0F / 255.0F;
        float bias = normalize ? -mean[c] / deviation[c] : 0.0F;
        size_t index = converter->layout == SLUICE_NHWC ? i : c * count + i / 3;
        assert_int_equal(element(row, dtype, index), expected_bits(dtype, pixels[i], scale, bias));
        double exact = pixels[i] / 255.0;
        exact = normalize ? (exact - (double)mean[c]) / (double)deviation[c] : exact;
        assert_true(dtype != SLUICE_F32 ||
                    fabs((double)float_of(element(row, dtype, index)) - exact) < 1e-6);
    }
}

static void check_conversion(sluice_dtype dtype, sluice_layout layout, bool normalize)
{
    sluice_augment *recipe = make_recipe(SIDE, normalize ? mean : NULL, deviation);
    sl_converter converter;
    assert_int_equal(sl_converter_make(&converter, recipe, dtype, layout, NULL), SLUICE_OK);
    size_t bytes = sl_converter_row_bytes(&converter);
    assert_int_equal(bytes, (size_t)SIDE * SIDE * 3 * sluice_dtype_bytes(dtype));
    uint8_t pixels[SIDE * SIDE * 3];
    fill(pixels, sizeof(pixels), 4);
    sl_image view = {pixels, SIDE, SIDE, 3, (size_t)SIDE * 3, 0, 0, SIDE, SIDE, 1};
    STATIC_PARAMS(params);
    assert_int_equal(sl_draw(recipe, &(sl_draw_key){.seed = 0}, SIDE, SIDE, &params, NULL),
                     SLUICE_OK);
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 1 << 20, 1 << 20, NULL), SLUICE_OK);
    const sl_apply_work work = {.scratch = &scratch};
    void *row = malloc(bytes); /* exact size, so that ASan sees a write past the end */
    assert_non_null(row);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        converter.tools.simd = (sl_simd)level;
        memset(row, 99, bytes);
        assert_int_equal(sl_augment_apply(&converter, &view, &params, &work, row, NULL), SLUICE_OK);
        check_elements(&converter, pixels, row, normalize);
    }
    free(row);
    sl_scratch_close(&scratch);
    sluice_augment_destroy(recipe);
}

TEST(every_dtype_and_layout)
{
    for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            check_conversion((sluice_dtype)dtype, (sluice_layout)layout, false);
            if (dtype != SLUICE_U8) {
                check_conversion((sluice_dtype)dtype, (sluice_layout)layout, true);
            }
        }
    }
}

TEST(refused_converters)
{
    sluice_augment *recipe = make_recipe(8, mean, deviation);
    sluice_augment *nowhere = make_recipe(0, mean, deviation);
    sl_converter converter;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_converter_make(&converter, recipe, SLUICE_U8, SLUICE_NHWC, &error),
                     SLUICE_INVALID);
    assert_non_null(strstr(error.text, "normalize"));
    assert_int_equal(sl_converter_make(&converter, recipe, SLUICE_I64, SLUICE_NHWC, NULL),
                     SLUICE_INVALID);
    assert_int_equal(sl_converter_make(&converter, nowhere, SLUICE_F32, SLUICE_NHWC, NULL),
                     SLUICE_INVALID);
    sluice_augment_destroy(recipe);
    sluice_augment_destroy(nowhere);
}
