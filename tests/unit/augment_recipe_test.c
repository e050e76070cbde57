/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters that a recipe gives for an image: combinations of steps, and results that no
 * version may change. augment_crops_test tests crops, augment_listing_test the functions'
 * errors. */
#include "operations.h"
#include "recipe.h"
#include "recipes.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <string.h>

static void assert_same_box(const sl_mapping *a, const sl_mapping *b)
{
    assert_memory_equal(&a->source, &b->source, sizeof(a->source));
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_int_equal(a->virtual_width, b->virtual_width);
    assert_int_equal(a->virtual_height, b->virtual_height);
    assert_int_equal(a->window_x, b->window_x);
    assert_int_equal(a->window_y, b->window_y);
    assert_int_equal(a->flip_x, b->flip_x);
    assert_int_equal(a->flip_y, b->flip_y);
    assert_int_equal(a->beyond_bilinear, b->beyond_bilinear);
}

/* For programs whose only geometry is a box. */
static void assert_same_draw(const sl_params *a, const sl_params *b)
{
    assert_memory_equal(&a->need, &b->need, sizeof(a->need));
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_int_equal(a->geometry_count, 1);
    assert_int_equal(b->geometry_count, 1);
    assert_false(a->geometries[0].warps || b->geometries[0].warps);
    assert_same_box(&a->geometries[0].box, &b->geometries[0].box);
    assert_int_equal(a->operation_count, b->operation_count);
    for (uint32_t i = 0; i < a->operation_count; i++) {
        assert_ptr_equal(a->operations[i].kind, b->operations[i].kind);
        assert_memory_equal(a->operations[i].values, b->operations[i].values,
                            sizeof(a->operations[i].values));
    }
}

/* Steps apply in the order of addition; the last one determines the size. */
TEST_WITH(several_geometry_steps, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    WHOLE_PARAMS(params);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 0}, 10, 10, &params, &error),
                     SLUICE_INVALID);
    assert_non_null(strstr(error.text, "no fixed output size"));
    assert_int_equal(sluice_augment_random_crop(r, 8, 6, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(r, 5, 4, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "resize", (const double[]){10, 16}, 2), SLUICE_OK);
    for (uint64_t i = 0; i < 100; i++) {
        params = recipe_draw(r, i, 10, 10);
        assert_int_equal(params.geometry_count, 1);
        assert_int_equal(params.operation_count, 0);
        assert_int_equal(params.geometries[0].box.source.width, 5);
        assert_int_equal(params.geometries[0].box.source.height, 4);
        assert_int_equal(params.geometries[0].box.virtual_width, 10);
        assert_int_equal(params.geometries[0].box.virtual_height, 16);
        assert_int_equal(params.width, 10);
        assert_int_equal(params.height, 16);
    }
    /* A crop of 9 x 9 does not fit into 8 x 6; for 20 x 20, no image is smaller than the crop. */
    assert_int_equal(sluice_augment_random_crop(r, 11, 9, 0), SLUICE_OK);
    assert_int_equal(r->width, 11);
    assert_int_equal(r->height, 9);
    assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 0}, 10, 10, &params, &error),
                     SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "10 x 16"));
    assert_int_equal(sluice_augment_get_error(r, NULL), SLUICE_OK);
}

/* Adding the same step again adds a second one with its own numbers; only normalize is replaced. */
TEST_WITH(steps_may_repeat, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    const float first[3] = {0.1F, 0.2F, 0.3F};
    const float second[3] = {0.4F, 0.5F, 0.6F};
    int seen[2][2] = {{0}};
    assert_int_equal(sluice_augment_normalize(r, first, first, 3), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(r, 8, 8, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(r, 0.5), SLUICE_OK);
    const sluice_augment once = *r;
    assert_int_equal(sluice_augment_random_flip(r, 0.5), SLUICE_OK);
    assert_int_equal(sluice_augment_normalize(r, second, second, 3), SLUICE_OK);
    assert_int_equal(r->count, 4);
    assert_string_equal(r->steps[3].kind->name, "normalize");
    assert_true((float)r->steps[3].arguments[1] == second[1]);
    assert_memory_equal(r->steps, once.steps, 2 * sizeof(r->steps[0]));
    for (uint64_t i = 0; i < 2000; i++) {
        const bool one = recipe_draw(&once, i, 8, 8).geometries[0].box.flip_x;
        const bool both = recipe_draw(r, i, 8, 8).geometries[0].box.flip_x;
        seen[one][one != both]++;
    }
    for (int i = 0; i < 4; i++) {
        assert_in_range(seen[i / 2][i % 2], 420, 580); /* 500, four deviations of 19.4 */
    }
}

/* Each operation has its own numbers: enabling one does not change the others. */
TEST(operations_are_independent)
{
    sluice_augment *plain = recipe_make();
    sluice_augment *rich = recipe_make();
    assert_int_equal(sluice_augment_random_resized_crop(plain, 8, 8, 0.1, 1, 0.5, 2), SLUICE_OK);
    assert_int_equal(sluice_augment_random_resized_crop(rich, 8, 8, 0.1, 1, 0.5, 2), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(rich, 0.5), SLUICE_OK);
    assert_int_equal(sluice_augment_color_jitter(rich, 0.4, 0, 0.4), SLUICE_OK);
    int differ = 0;
    for (uint64_t i = 0; i < 100; i++) {
        sl_params a = recipe_draw(plain, i, 500, 375);
        sl_params b = recipe_draw(rich, i, 500, 375);
        sl_params again = recipe_draw(rich, i, 500, 375);
        assert_memory_equal(&a.geometries[0].box.source, &b.geometries[0].box.source,
                            sizeof(a.geometries[0].box.source));
        assert_same_draw(&b, &again);
        WHOLE_PARAMS(other);
        assert_int_equal(sl_draw(rich, &(sl_draw_key){.seed = 11, .epoch = 4, .sample = i}, 500,
                                 375, &other, NULL),
                         SLUICE_OK);
        differ += memcmp(&other.geometries[0].box.source, &b.geometries[0].box.source,
                         sizeof(b.geometries[0].box.source)) != 0;
        assert_int_equal(sl_draw(rich, &(sl_draw_key){.seed = 12, .epoch = 3, .sample = i}, 500,
                                 375, &other, NULL),
                         SLUICE_OK);
        differ += memcmp(&other.geometries[0].box.source, &b.geometries[0].box.source,
                         sizeof(b.geometries[0].box.source)) != 0;
        assert_int_equal(sl_draw(rich,
                                 &(sl_draw_key){.seed = 11, .epoch = 3, .sample = i, .group = 1},
                                 500, 375, &other, NULL),
                         SLUICE_OK);
        differ += memcmp(&other.geometries[0].box.source, &b.geometries[0].box.source,
                         sizeof(b.geometries[0].box.source)) != 0;
    }
    assert_true(differ > 285);
    sluice_augment_destroy(plain);
    sluice_augment_destroy(rich);
}

/* 0: brightness, 1: contrast, 2: saturation */
static int kind_of(const sl_operation_kind *kind)
{
    return kind == &sl_operation_brightness ? 0 : kind == &sl_operation_contrast ? 1 : 2;
}

/* As often as requested, and independent of the other flip, which does not change. */
TEST_WITH(vertical_flips, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    sluice_augment *plain = recipe_make();
    enum { DRAWS = 20000 };
    int seen[2][2] = {{0}};
    assert_int_equal(sluice_augment_random_crop(r, 8, 8, 4), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(plain, 8, 8, 4), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(plain, 0.5), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(r, 0.5), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "random_vertical_flip", (const double[]){0.25}, 1),
                     SLUICE_OK);
    for (uint64_t i = 0; i < DRAWS; i++) {
        sl_params p = recipe_draw(r, i, 8, 8);
        sl_params q = recipe_draw(plain, i, 8, 8);
        seen[p.geometries[0].box.flip_x][p.geometries[0].box.flip_y]++;
        assert_false(q.geometries[0].box.flip_y);
        p.geometries[0].box.flip_y = false;
        assert_same_draw(&p, &q);
    }
    for (int x = 0; x < 2; x++) {
        assert_true(fabs(seen[x][0] / (double)DRAWS - 0.375) < 0.015);
        assert_true(fabs(seen[x][1] / (double)DRAWS - 0.125) < 0.01);
    }
    for (int certain = 0; certain < 2; certain++) {
        sluice_augment *sure = recipe_make();
        const double probability = certain;
        assert_int_equal(sluice_augment_random_crop(sure, 8, 8, 0), SLUICE_OK);
        for (int times = 1; times < 4; times++) {
            assert_int_equal(sluice_augment_add(sure, "random_vertical_flip", &probability, 1),
                             SLUICE_OK);
            assert_int_equal(recipe_draw(sure, 0, 8, 8).geometries[0].box.flip_y,
                             certain * times % 2);
        }
        sluice_augment_destroy(sure);
    }
    sluice_augment_destroy(plain);
}

/* Pinned as below. */
TEST_WITH(vertical_flips_are_the_same_for_ever, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    uint64_t bits = 0;
    assert_int_equal(sluice_augment_random_crop(r, 8, 8, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "random_vertical_flip", NULL, 0), SLUICE_OK);
    for (uint64_t i = 0; i < 64; i++) {
        bits |= (uint64_t)recipe_draw(r, i, 8, 8).geometries[0].box.flip_y << i;
    }
    assert_true(bits == 0x7CD363A180E2BB8FU);
}

TEST_WITH(jitter_factors_and_orders, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    assert_int_equal(sluice_augment_random_crop(r, 8, 8, 0), SLUICE_OK);
    assert_int_equal(recipe_draw(r, 0, 8, 8).operation_count, 0);
    assert_int_equal(sluice_augment_color_jitter(r, 0.4, 3.0, 0.1), SLUICE_OK);
    const double low[] = {0.6, 0, 0.9};
    const double high[] = {1.4, 4.0, 1.1};
    int orders[27] = {0};
    double sums[3] = {0};
    enum { DRAWS = 3000 };
    for (uint64_t i = 0; i < DRAWS; i++) {
        sl_params p = recipe_draw(r, i, 8, 8);
        int order = 0;
        assert_int_equal(p.operation_count, 3);
        for (int k = 0; k < 3; k++) {
            const int kind = kind_of(p.operations[k].kind);
            const float factor = (float)p.operations[k].values[0];
            assert_true(factor >= (float)low[kind] && factor <= (float)high[kind]);
            sums[kind] += (double)factor;
            order = order * 3 + kind;
        }
        orders[order]++;
    }
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(sums[k] / DRAWS - (low[k] + high[k]) / 2) < 0.1);
    }
    int kinds = 0;
    for (int i = 0; i < 27; i++) {
        kinds += orders[i] > DRAWS / 6 - 100 && orders[i] < DRAWS / 6 + 100;
    }
    assert_int_equal(kinds, 6); /* all orders, about equally often */
}

/* Disabling jitter removes it from the list. */
TEST(jitter_that_is_off)
{
    sluice_augment *one = recipe_make();
    assert_int_equal(sluice_augment_random_crop(one, 8, 8, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_color_jitter(one, 0, 0.5, 0), SLUICE_OK);
    sl_params p = recipe_draw(one, 5, 8, 8);
    assert_int_equal(p.operation_count, 1);
    assert_ptr_equal(p.operations[0].kind, &sl_operation_contrast);
    sluice_augment_destroy(one);
}

/* Pinned like the draws below: which stream each step draws from, and that no two kinds share one
 * (except two crops, which came first); in the order of the table. */
static const struct {
    const char *name;
    uint32_t stream;
} streams[] = {{"random_resized_crop", 1},
               {"resize_center_crop", 0},
               {"random_crop", 1},
               {"random_grid_crop", 46},
               {"center_crop", 0},
               {"resize", 0},
               {"resize_shorter", 0},
               {"random_resize", 5},
               {"pad", 0},
               {"random_shortest_size", 34},
               {"scale_jitter", 35},
               {"fixed_size_crop", 36},
               {"letter_box", 0},
               {"mosaic", 40},
               {"bucket_crop", 44},
               {"random_zoom_out", 37},
               {"random_iou_crop", 38},
               {"random_rotation", 6},
               {"random_affine", 7},
               {"random_perspective", 8},
               {"elastic_transform", 47},
               {"random_flip", 2},
               {"random_vertical_flip", 4},
               {"color_jitter", 3},
               {"color_jitter_ranges", 9},
               {"random_grayscale", 10},
               {"random_invert", 11},
               {"random_posterize", 12},
               {"random_solarize", 13},
               {"random_solarize_add", 14},
               {"random_autocontrast", 15},
               {"random_equalize", 16},
               {"random_channel_permutation", 17},
               {"random_hsv", 41},
               {"gaussian_blur", 18},
               {"pillow_blur", 19},
               {"random_sharpness", 20},
               {"jpeg", 21},
               {"mixup_partner", 42},
               {"copy_paste", 45},
               {"random_erasing", 22},
               {"rand_augment", 23},
               {"trivial_augment_wide", 24},
               {"auto_augment", 25},
               {"aug_mix", 26},
               {"timm_augment", 27},
               {"sequence", 0},
               {"shared", 0},
               {"random_apply", 28},
               {"random_choice", 29},
               {"random_order", 30},
               {"normalize", 0},
               {"mixup", 31},
               {"cutmix", 32},
               {"timm_mix", 33}};

TEST(streams_are_the_same_for_ever)
{
    assert_int_equal(sl_step_kind_count, sizeof(streams) / sizeof(streams[0]));
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        assert_int_equal(sl_step_find(streams[i].name)->stream, streams[i].stream);
    }
    for (uint32_t i = 0; i < sl_step_kind_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const sl_step_kind *a = sl_step_kinds[i];
            const sl_step_kind *b = sl_step_kinds[k];
            assert_string_not_equal(a->name, b->name);
            assert_true(a->stream == 0 || a->stream != b->stream || a->stream == 1);
        }
        assert_true(sl_step_kinds[i]->stream < SL_STREAMS - 1); /* the last one: steps_native.c */
    }
}

/* Pinned: a change here changes everybody's training runs. */
TEST_WITH(draws_are_the_same_for_ever, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    assert_int_equal(sluice_augment_random_resized_crop(r, 224, 224, 0.08, 1.0, 3.0 / 4, 4.0 / 3),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(r, 0.5), SLUICE_OK);
    static const struct {
        sl_rect source;
        bool flip;
    } expected[] = {
        {{113, 70, 270, 297}, true},   {{61, 37, 432, 332}, true},  {{211, 168, 145, 130}, true},
        {{158, 106, 330, 261}, false}, {{237, 47, 190, 245}, true}, {{95, 56, 238, 265}, false},
        {{67, 105, 348, 268}, false},  {{164, 28, 322, 326}, true},
    };
    for (uint64_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        WHOLE_PARAMS(p);
        assert_int_equal(
            sl_draw(r, &(sl_draw_key){.seed = 1, .epoch = 2, .sample = i}, 500, 375, &p, NULL),
            SLUICE_OK);
        assert_memory_equal(&p.geometries[0].box.source, &expected[i].source,
                            sizeof(p.geometries[0].box.source));
        assert_int_equal(p.geometries[0].box.flip_x, expected[i].flip);
    }
}

/* From their end epoch on, steps of two images draw nothing, which is not an error. */
TEST(steps_that_have_ended_are_drawn)
{
    static const char *const names[] = {"mixup_partner", "copy_paste"};
    static const double arguments[][3] = {{8, 1, 3}, {1, 0.5, 3}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sluice_augment *r = NULL;
        assert_int_equal(sluice_augment_create(&r), SLUICE_OK);
        assert_int_equal(sluice_augment_resize_center_crop(r, 32, 24, 24), SLUICE_OK);
        assert_int_equal(sluice_augment_add(r, names[i], arguments[i], 3), SLUICE_OK);
        for (uint64_t epoch = 3; epoch < 5; epoch++) {
            WHOLE_PARAMS(p);
            assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 1, .epoch = epoch, .sample = 7}, 64,
                                     48, &p, NULL),
                             SLUICE_OK);
        }
        sluice_augment_destroy(r);
    }
}
