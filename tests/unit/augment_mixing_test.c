/* SPDX-License-Identifier: Apache-2.0 */
/* Batch steps: their position in a recipe, their draws, and the pixels at every SIMD level, in
 * place and not, against one element at a time. */
#include "converter.h"
#include "mix_rows.h"
#include "recipe.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- recipes ---- */

static sluice_augment *new_recipe(void)
{
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    return recipe;
}

static sluice_status add(sluice_augment *recipe, const char *name, const double *arguments,
                         uint32_t count)
{
    return sluice_augment_add(recipe, name, arguments, count);
}

static void expect_order(const sluice_augment *recipe, const char *const *names, uint32_t count)
{
    assert_int_equal(recipe->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(recipe->steps[i].kind->name, names[i]);
    }
}

TEST(steps_over_a_batch_come_last)
{
    static const char *const mixed_first[] = {"center_crop", "random_apply", "random_flip",
                                              "random_flip", "mixup",        "normalize"};
    static const char *const mixed_last[] = {"center_crop", "random_apply", "random_flip",
                                             "random_flip", "normalize",    "mixup"};
    const double size[] = {8, 8};
    const double half[] = {0.5, 0.5, 0.5, 0.2, 0.2, 0.2};
    for (int order = 0; order < 2; order++) {
        sluice_augment *recipe = new_recipe();
        for (int i = 0; i < 2; i++) {
            const bool mixes = (i == 0) == (order == 0);
            assert_int_equal(add(recipe, mixes ? "mixup" : "normalize", half, mixes ? 0 : 6), 0);
        }
        assert_int_equal(add(recipe, "center_crop", size, 2), 0);
        assert_int_equal(sluice_augment_begin(recipe, "random_apply", NULL, 0), 0);
        assert_int_equal(add(recipe, "random_flip", NULL, 0), 0);
        assert_int_equal(sluice_augment_end(recipe), 0);
        assert_int_equal(add(recipe, "random_flip", NULL, 0), 0);
        expect_order(recipe, order == 0 ? mixed_first : mixed_last, 6);
        assert_int_equal(recipe->steps[1].inside, 1);
        assert_int_equal(sl_recipe_check(recipe, NULL), SLUICE_OK);
        sluice_augment_destroy(recipe);
    }
}

TEST(again_is_other_numbers)
{
    const double alpha = 0.3;
    sl_mixing mixing;
    sluice_augment *recipe = new_recipe();
    assert_false(sl_recipe_mixing(recipe, &mixing));
    assert_int_equal(add(recipe, "mixup", NULL, 0), SLUICE_OK);
    assert_int_equal(add(recipe, "mixup", &alpha, 1), SLUICE_OK);
    assert_int_equal(recipe->count, 1);
    assert_true(sl_recipe_mixing(recipe, &mixing));
    assert_true(mixing.mixup_alpha == alpha && mixing.cutmix_alpha == 0);
    assert_true(mixing.probability == 1 && mixing.partner == SL_PARTNER_REVERSED);
    assert_int_equal(add(recipe, "cutmix", NULL, 0), SLUICE_STATE);
    assert_non_null(strstr(recipe->error.text, "already has a step over the batch"));
    sluice_augment_destroy(recipe);
}

static void refuse(const char *name, const double *arguments, uint32_t count, const char *words)
{
    sluice_augment *recipe = new_recipe();
    assert_int_equal(add(recipe, name, arguments, count), SLUICE_INVALID);
    if (strstr(recipe->error.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, recipe->error.text);
    }
    sluice_augment_destroy(recipe);
}

TEST(what_is_refused)
{
    refuse("mixup", (double[]){0}, 1, "alpha must be above 0");
    refuse("mixup", (double[]){-1}, 1, "alpha must be above 0");
    refuse("cutmix", (double[]){(double)NAN}, 1, "alpha must be above 0");
    refuse("cutmix", (double[]){(double)INFINITY}, 1, "alpha must be above 0");
    refuse("mixup", (double[]){1, 1.5}, 2, "probability must be");
    refuse("mixup", (double[]){1, (double)NAN}, 2, "probability must be");
    refuse("mixup", (double[]){1, 1, 2}, 3, "partner must be");
    refuse("timm_mix", (double[]){0, 0}, 2, "must be above 0");
    refuse("timm_mix", (double[]){-0.1, 1}, 2, "mixup_alpha must be");
    refuse("timm_mix", (double[]){1, 0, 0.5, 0.4}, 4, "cutmix_min must be at most");
    refuse("timm_mix", (double[]){1, 0, 0.5}, 3, "cutmix_min must be at most");
    refuse("timm_mix", (double[]){1, 0, 0, 0, 1, 2}, 6, "switch_probability must be");
    refuse("timm_mix", (double[]){1, 0, 0, 0, 1, 0.5, 1, 1, 1}, 9, "mode pair needs");
    sluice_augment *recipe = new_recipe();
    assert_int_equal(sluice_augment_begin(recipe, "sequence", NULL, 0), SLUICE_OK);
    assert_int_equal(add(recipe, "mixup", NULL, 0), SLUICE_INVALID);
    assert_non_null(strstr(recipe->error.text, "cannot be in a group"));
    sluice_augment_destroy(recipe);
}

/* Boxes and devices have 16 bits for a coordinate. */
TEST(sides_that_are_too_long)
{
    const double narrow[] = {8, 4};
    const double border[] = {16384, 0, 16384};
    sl_mixing mixing;
    sluice_augment *recipe = new_recipe();
    assert_int_equal(add(recipe, "cutmix", NULL, 0), SLUICE_OK);
    assert_int_equal(add(recipe, "resize", narrow, 2), SLUICE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(add(recipe, "pad", border, 3), SLUICE_OK);
    }
    assert_true(sl_recipe_mixing(recipe, &mixing));
    assert_int_equal(mixing.width, 65544);
    assert_non_null(strstr(sl_mixing_mismatch(&mixing), "above 65535"));
    mixing.width = 65535;
    assert_null(sl_mixing_mismatch(&mixing));
    sluice_augment_destroy(recipe);
}

/* ---- draws ---- */

static sl_mixing mixing_of(const char *name, const double *arguments, uint32_t count)
{
    sl_mixing mixing;
    const double size[] = {30, 20};
    sluice_augment *recipe = new_recipe();
    assert_int_equal(add(recipe, name, arguments, count), SLUICE_OK);
    assert_int_equal(add(recipe, "center_crop", size, 2), SLUICE_OK);
    assert_true(sl_recipe_mixing(recipe, &mixing));
    sluice_augment_destroy(recipe);
    return mixing;
}

static const sl_mixing_batch batch = {.seed = 5, .epoch = 2, .first = 1000, .group = 1, .rows = 9};

static bool same(const sl_mixing_row *a, const sl_mixing_row *b)
{
    return a->weight == b->weight && a->left == b->left && a->right == b->right &&
           a->top == b->top && a->bottom == b->bottom;
}

TEST(partners)
{
    const sl_mixing reversed = {.partner = SL_PARTNER_REVERSED};
    const sl_mixing previous = {.partner = SL_PARTNER_PREVIOUS};
    for (uint32_t rows = 1; rows < 9; rows++) {
        for (uint32_t row = 0; row < rows; row++) {
            assert_int_equal(sl_mixing_partner_of(&reversed, rows, row), rows - 1 - row);
            assert_int_equal(sl_mixing_partner_of(&previous, rows, row), (row + rows - 1) % rows);
            for (int i = 0; i < 2; i++) {
                const sl_mixing *mixing = i == 0 ? &reversed : &previous;
                assert_int_equal(
                    sl_mixing_user_of(mixing, rows, sl_mixing_partner_of(mixing, rows, row)), row);
            }
        }
    }
}

/* Depending on the mode, all rows, the two of a pair, or no rows share a draw. */
TEST(what_has_a_draw_of_its_own)
{
    for (int mode = 0; mode < 3; mode++) {
        const sl_mixing mixing = mixing_of("timm_mix", (double[]){1, 0, 0, 0, 1, 0.5, mode}, 7);
        sl_mixing_row rows[9];
        for (uint32_t i = 0; i < 9; i++) {
            rows[i] = sl_mixing_draw(&mixing, &batch, i);
            assert_int_equal(rows[i].partner, 8 - i);
            const sl_mixing_row again = sl_mixing_draw(&mixing, &batch, i);
            assert_true(same(&rows[i], &again));
        }
        assert_true(rows[4].weight == 1);
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(rows[i].weight < 1);
            assert_true(same(&rows[i], &rows[8 - i]) == (mode != SL_MIX_ELEM));
            assert_true(i == 0 || same(&rows[i], &rows[0]) == (mode == SL_MIX_BATCH));
        }
    }
}

/* Each of these changes the draw. */
TEST(what_a_draw_depends_on)
{
    const sl_mixing mixing = mixing_of("mixup", NULL, 0);
    const sl_mixing_row drawn = sl_mixing_draw(&mixing, &batch, 0);
    for (int i = 0; i < 4; i++) {
        sl_mixing_batch other = batch;
        other.seed += i == 0;
        other.epoch += i == 1;
        other.first += i == 2 ? 9 : 0;
        other.group += i == 3;
        const sl_mixing_row changed = sl_mixing_draw(&mixing, &other, 0);
        assert_false(same(&drawn, &changed));
    }
}

static void check_box(const sl_mixing *mixing, const sl_mixing_row *row)
{
    const double area = (double)(row->right - row->left) * (row->bottom - row->top);
    assert_true(row->right <= mixing->width && row->bottom <= mixing->height);
    if (!mixing->keeps_lambda) {
        assert_true(row->weight == (float)(1 - area / (30.0 * 20.0)));
        return;
    }
    /* minimum sides before clipping */
    const double ratio = 0.5 * sqrt(1 - (double)row->weight);
    assert_true(row->right - row->left <= 2 * floor(ratio * 30 + 1e-4) + 1);
    assert_true(row->bottom - row->top <= 2 * floor(ratio * 20 + 1e-4));
}

TEST(boxes)
{
    uint32_t none = 0;
    uint32_t empty = 0;
    for (int keeps = 0; keeps < 2; keeps++) {
        const sl_mixing mixing =
            mixing_of("timm_mix", (double[]){0, 0.5, 0, 0, 0.9, 0.5, 2, !keeps}, 8);
        for (uint32_t i = 0; i < 2000; i++) {
            sl_mixing_batch at = batch;
            at.first = i * UINT64_C(9);
            const sl_mixing_row row = sl_mixing_draw(&mixing, &at, i % 4);
            if (row.partner == i % 4) {
                assert_true(row.weight == 1 && !sl_mixing_has_box(&row));
                none++;
                continue;
            }
            assert_true(sl_mixing_has_box(&row));
            empty += row.bottom == row.top;
            check_box(&mixing, &row);
        }
    }
    assert_true(none > 300 && none < 1000);
    assert_true(empty > 0);
}

/* timm's minmax: sides are uniform whole pixels, from the least fraction up to below the
 * largest. */
TEST(boxes_by_their_sides)
{
    const sl_mixing mixing = mixing_of("timm_mix", (double[]){0, 0, 0.2, 0.55, 1, 0.5, 2}, 7);
    uint32_t seen[31] = {0};
    for (uint32_t i = 0; i < 4000; i++) {
        sl_mixing_batch at = batch;
        at.first = i * UINT64_C(9);
        const sl_mixing_row row = sl_mixing_draw(&mixing, &at, 0);
        check_box(&mixing, &row);
        seen[row.right - row.left]++;
        assert_in_range(row.bottom - row.top, 4, 10);
    }
    for (uint32_t width = 0; width <= 30; width++) {
        const bool possible = width >= 6 && width < 16;
        assert_true(possible ? seen[width] > 300 && seen[width] < 500 : seen[width] == 0);
    }
    static const double sides[][2] = {{0.54, 0.55}, {0, 0.04}, {0.01, 0.01}};
    assert_null(sl_mixing_mismatch(&mixing));
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        sl_mixing narrow = mixing;
        memcpy(narrow.sides, sides[i], sizeof(sides[i]));
        assert_non_null(sl_mixing_mismatch(&narrow));
    }
}

TEST(boxes_of_one_size)
{
    for (int i = 0; i < 2; i++) {
        const double part = i == 0 ? 0.5 : 1;
        const sl_mixing mixing = mixing_of("timm_mix", (double[]){0, 0, part, part}, 4);
        assert_null(sl_mixing_mismatch(&mixing));
        const sl_mixing_row row = sl_mixing_draw(&mixing, &batch, 0);
        assert_int_equal(row.right - row.left, i == 0 ? 15 : 30);
        assert_int_equal(row.bottom - row.top, i == 0 ? 10 : 20);
        assert_true(row.weight == (i == 0 ? 0.75F : 0));
    }
}

TEST(probabilities)
{
    const sl_mixing mixing = mixing_of("timm_mix", (double[]){1, 1, 0, 0, 0.6, 0.3, 2}, 7);
    uint32_t cut = 0;
    uint32_t shares = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        sl_mixing_batch at = batch;
        at.first = i * UINT64_C(9);
        const sl_mixing_row row = sl_mixing_draw(&mixing, &at, 1);
        cut += sl_mixing_has_box(&row);
        shares += row.partner != 1 && !sl_mixing_has_box(&row);
    }
    assert_in_range(shares, 4000, 4400); /* 0.42 */
    assert_in_range(cut, 1600, 1950);    /* 0.18, minus the empty ones */
}

/* ---- pixels ---- */

static float plain_value(const sl_converter *converter, size_t c, uint8_t sample)
{
    float scale;
    float bias;
    sl_converter_factors(converter, c, &scale, &bias);
    return converter->dtype == SLUICE_U8 ? (float)sample : fmaf((float)sample, scale, bias);
}

static size_t put_value(const sl_converter *converter, uint8_t *to, float value)
{
    const uint16_t half =
        converter->dtype == SLUICE_F16 ? sl_half_from_float(value) : sl_bfloat16_from_float(value);
    switch (converter->dtype) {
    case SLUICE_U8:
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): memory was asserted
        *to = (uint8_t)nearbyintf(value);
        return 1;
    case SLUICE_F32:
        // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): memory was asserted
        memcpy(to, &value, 4);
        return 4;
    default:
        // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): memory was asserted
        memcpy(to, &half, 2);
        return 2;
    }
}

/* Computes the result straight from the contract. */
static void expect_side(const sl_converter *converter, const sl_mix_side *side,
                        const uint8_t *other, uint8_t *to)
{
    const size_t pixels = (size_t)converter->width * converter->height;
    for (size_t i = 0; i < 3 * pixels; i++) {
        const bool planes = converter->layout == SLUICE_NCHW;
        const size_t c = planes ? i / pixels : i % 3;
        const size_t x = (planes ? i % pixels : i / 3) % converter->width;
        const size_t y = (planes ? i % pixels : i / 3) / converter->width;
        const sl_mixing_row *how = &side->how;
        const bool inside = x >= how->left && x < how->right && y >= how->top && y < how->bottom;
        float value = plain_value(converter, c, side->samples[i]);
        if (other != NULL && how->right > how->left) {
            value = inside ? plain_value(converter, c, other[i]) : value;
        } else if (other != NULL && how->weight < 1) {
            const float rest = 1.0F - how->weight;
            const float second = rest * plain_value(converter, c, other[i]);
            value = fmaf(how->weight, value, second);
        }
        to += put_value(converter, to, value);
    }
}

static sl_mixing_row random_row(sl_random *random, uint32_t width, uint32_t height)
{
    sl_mixing_row row = {.partner = 1, .weight = (float)sl_random_unit(random)};
    if (sl_random_below(random, 2) == 0) {
        row.left = (uint16_t)sl_random_below(random, width);
        row.right = (uint16_t)(row.left + 1 + sl_random_below(random, width - row.left));
        row.top = (uint16_t)sl_random_below(random, height);
        row.bottom = (uint16_t)(row.top + sl_random_below(random, height - row.top + 1));
    }
    return row;
}

/* Allocates a row in memory of its exact size, with the samples at its end. */
static uint8_t *row_with(const sl_converter *converter, const uint8_t *samples, size_t count)
{
    const size_t bytes = sl_converter_row_bytes(converter);
    uint8_t *row = malloc(bytes);
    assert_non_null(row);
    memset(row, 0x5A, bytes);
    memcpy(row + bytes - count, samples, count);
    return row;
}

static void check_pair(const sl_converter *converter, sl_random *random, int absent)
{
    const size_t count = (size_t)converter->width * converter->height * 3;
    const size_t bytes = sl_converter_row_bytes(converter);
    uint8_t *samples[2];
    uint8_t *rows[2];
    sl_mix_side sides[2];
    uint8_t *expected = malloc(bytes);
    for (int k = 0; k < 2; k++) {
        samples[k] = malloc(count);
        assert_true(samples[k] != NULL && expected != NULL);
        for (size_t i = 0; i < count; i++) {
            samples[k][i] = (uint8_t)sl_random_u32(random);
        }
        rows[k] = row_with(converter, samples[k], count);
        sides[k] = (sl_mix_side){.samples = absent == k ? NULL : rows[k] + bytes - count,
                                 .row = absent == k ? NULL : rows[k],
                                 .how = random_row(random, converter->width, converter->height)};
    }
    sl_mix_rows(converter, &sides[0], &sides[1]);
    for (int k = 0; k < 2; k++) {
        sides[k].samples = samples[k];
        if (absent != k) {
            expect_side(converter, &sides[k], absent < 0 ? samples[1 - k] : NULL, expected);
            assert_memory_equal(rows[k], expected, bytes);
        }
    }
    for (int k = 0; k < 2; k++) {
        free(samples[k]);
        free(rows[k]);
    }
    free(expected);
}

static sl_converter converter_of(uint32_t width, uint32_t height, sluice_dtype dtype,
                                 sluice_layout layout, float deviation)
{
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float deviations[] = {deviation, 0.224F, 0.225F};
    const double size[] = {width, height};
    sl_converter converter;
    sluice_augment *recipe = new_recipe();
    assert_int_equal(add(recipe, "center_crop", size, 2), SLUICE_OK);
    if (dtype != SLUICE_U8) {
        assert_int_equal(sluice_augment_normalize(recipe, mean, deviations, 3), SLUICE_OK);
    }
    assert_int_equal(sl_converter_make(&converter, recipe, dtype, layout, NULL), SLUICE_OK);
    sluice_augment_destroy(recipe);
    return converter;
}

TEST(pixels_on_every_level)
{
    static const uint32_t sizes[][2] = {{1, 1},   {1, 5},   {5, 1},   {3, 7},  {16, 16}, {17, 9},
                                        {31, 33}, {48, 32}, {64, 64}, {97, 5}, {224, 4}};
    sl_random random = sl_random_for(1, 2, 3, 4);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * 8; i++) {
        for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
            sl_converter converter =
                converter_of(sizes[i / 8][0], sizes[i / 8][1], (sluice_dtype)(i % 4),
                             (sluice_layout)(i / 4 % 2), 0.229F);
            converter.tools.simd = (sl_simd)level;
            for (int k = 0; k < 4; k++) {
                check_pair(&converter, &random, -1);
            }
            check_pair(&converter, &random, 0);
            check_pair(&converter, &random, 1);
        }
    }
}

/* Results beyond the largest number, of the dtype only or also of binary32: not by vectors. */
TEST(infinite_results)
{
    sl_random random = sl_random_for(1, 2, 3, 5);
    for (int dtype = SLUICE_F32; dtype <= SLUICE_BF16; dtype++) {
        const sl_converter large = converter_of(20, 10, (sluice_dtype)dtype, SLUICE_NCHW, 1e-7F);
        check_pair(&large, &random, -1);
        const sl_converter infinite =
            converter_of(20, 10, (sluice_dtype)dtype, SLUICE_NHWC, 1e-40F);
        assert_false(infinite.finite);
        check_pair(&infinite, &random, 0);
    }
}

/* Each byte with each, in fractions that give halves, which round to even. */
TEST(bytes_are_rounded_to_even)
{
    sl_converter converter = converter_of(256, 256, SLUICE_U8, SLUICE_NHWC, 1);
    const size_t bytes = sl_converter_row_bytes(&converter);
    uint8_t *own = malloc(bytes);
    uint8_t *other = malloc(bytes);
    uint8_t *made = malloc(bytes);
    assert_true(own != NULL && other != NULL && made != NULL);
    for (size_t i = 0; i < bytes; i++) {
        own[i] = (uint8_t)(i / 3);
        other[i] = (uint8_t)(i / 3 / 256);
    }
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        converter.tools.simd = (sl_simd)level;
        const sl_mix_side a = {.samples = own, .row = made, .how = {.partner = 1, .weight = 0.25F}};
        const sl_mix_side b = {.samples = other};
        sl_mix_rows(&converter, &a, &b);
        for (size_t i = 0; i < bytes; i++) {
            const int quarters = own[i] + 3 * other[i];
            int rounded = (quarters + 2) / 4;
            rounded -= quarters % 4 == 2 && rounded % 2 == 1;
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): memory was asserted
            assert_int_equal(made[i], rounded);
        }
    }
    free(own);
    free(other);
    free(made);
}
