/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of recipes for detection: rejected arguments, distributions of draws, and boxes that
 * accompany a draw. augment_detection_model.py checks sizes and positions from the numbers drawn.
 */
#include "distributions.h"
#include "geometry.h"
#include "recipe.h"
#include "recipes.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 20000, WIDTH = RECIPE_WIDTH, HEIGHT = RECIPE_HEIGHT, SIDE = 40 };
#define NUMBERS(...) \
    (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double)

/* ---- errors ---- */

static void expect_refused(const char *name, const double *arguments, size_t count,
                           const char *words)
{
    sluice_augment *r = recipe_make();
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_augment_add(r, name, arguments, (uint32_t)count), SLUICE_INVALID);
    sluice_augment_get_error(r, &error);
    if (strstr(error.text, name) == NULL || strstr(error.text, words) == NULL) {
        fail_msg("%s: \"%s\" has not \"%s\"", name, error.text, words);
    }
    sluice_augment_destroy(r);
}

TEST(bad_arguments_are_named)
{
    expect_refused("random_shortest_size", NULL, 0, "max_size must be given");
    expect_refused("random_shortest_size", NUMBERS(0), "min_sizes must be given");
    expect_refused("random_shortest_size", NUMBERS(0, 1, 0),
                   "each of min_sizes must be a whole number");
    expect_refused("random_shortest_size", NUMBERS(0, 1, NAN), "min_sizes");
    expect_refused("random_shortest_size", NUMBERS(20000, 1, 8), "max_size must be a whole number");
    expect_refused("random_shortest_size", NUMBERS(0, 1, 8, 8.5), "min_sizes");
    expect_refused("random_shortest_size", NUMBERS(0, 96, 144), "interpolation must be nearest");
    expect_refused("random_shortest_size",
                   NUMBERS(0, 1, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8),
                   "too many arguments: 17, at most 16");
    expect_refused("scale_jitter", NUMBERS(8, 8, 2, 1), "scale_min must be at most scale_max");
    expect_refused("scale_jitter", NUMBERS(8, 8, 0), "scale_min must be above 0");
    expect_refused("scale_jitter", NUMBERS(8, 8, NAN), "scale_min");
    expect_refused("scale_jitter", NUMBERS(8, 8, 1, 1001), "scale_max must be above 0 and at most");
    expect_refused("scale_jitter", NUMBERS(8, 0), "height must be a whole number");
    expect_refused("fixed_size_crop", NUMBERS(8), "height must be given");
    expect_refused("fixed_size_crop", NUMBERS(8, 8, 4), "padding_mode must be constant, edge");
    expect_refused("fixed_size_crop", NUMBERS(8, 8, 0, 256), "fill_r");
    expect_refused("letter_box", NUMBERS(8, 20000), "height must be a whole number from 1");
    expect_refused("letter_box", NUMBERS(8, 8, 114, -1, -1, 2), "enlarge");
    expect_refused("letter_box", NUMBERS(8, 8, 114, -1, -1, 1, 2), "center or top-left");
    expect_refused("random_zoom_out", NUMBERS(0.5), "side_min must be from 1");
    expect_refused("random_zoom_out", NUMBERS(3, 2), "side_min must be at most side_max");
    expect_refused("random_zoom_out", NUMBERS(1, INFINITY), "side_max");
    expect_refused("random_zoom_out", NUMBERS(1, 2, 1.5), "probability");
    expect_refused("random_iou_crop", NUMBERS(0.5, 0.4), "scale_min must be at most scale_max");
    expect_refused("random_iou_crop", NUMBERS(0.5, 1.5), "scale_max");
    expect_refused("random_iou_crop", NUMBERS(0.3, 1, 2, 1), "ratio_min must be at most ratio_max");
    expect_refused("random_iou_crop", NUMBERS(0.3, 1, 0.5, 2, 0), "trials");
    expect_refused("random_iou_crop", NUMBERS(0.3, 1, 0.5, 2, 501), "trials");
    expect_refused("random_iou_crop", NUMBERS(0.3, 1, 0.5, 2, 40, -1),
                   "each of options must be from 0 to 1");
    expect_refused("random_iou_crop", NUMBERS(0.3, 1, 0.5, 2, 40, 0.5, NAN), "options");
}

/* The error names steps that leave the size open and what to add. */
TEST(open_sizes_are_refused_when_drawn)
{
    static const char *const names[] = {"random_shortest_size", "scale_jitter",   "random_zoom_out",
                                        "random_iou_crop",      "resize_shorter", "random_resize"};
    STATIC_PARAMS(params);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sluice_augment *r = recipe_make();
        sluice_error error = SLUICE_ERROR_INIT;
        const double sides[2] = {SIDE, SIDE};
        const double shortest[3] = {SIDE, SL_BILINEAR, SIDE};
        char behind[64];
        const bool sized = strstr(names[i], "zoom") == NULL && strstr(names[i], "iou") == NULL;
        const uint32_t count = strcmp(names[i], "resize_shorter") == 0 ? 1 : sized ? 2 : 0;
        assert_int_equal(i == 0 ? sluice_augment_add(r, names[i], shortest, 3)
                                : sluice_augment_add(r, names[i], sides, count),
                         SLUICE_OK);
        assert_int_equal(sluice_augment_add(r, "random_flip", NULL, 0), SLUICE_OK);
        assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 1}, 30, 20, &params, &error),
                         SLUICE_INVALID);
        snprintf(behind, sizeof(behind), "letter_box, mosaic or bucket_crop behind %s", names[i]);
        assert_non_null(strstr(error.text, behind));
        assert_int_equal(sluice_augment_add(r, "fixed_size_crop", sides, 2), SLUICE_OK);
        assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 1}, 30, 20, &params, NULL), SLUICE_OK);
        assert_true(params.width == SIDE && params.height == SIDE);
        sluice_augment_destroy(r);
    }
}

/* An image that a step makes too large is a bad sample, not an overflow. */
TEST(pictures_that_become_too_large)
{
    static const struct {
        const char *name;
        double arguments[5];
        uint32_t count;
    } cases[] = {{"random_shortest_size", {0, 1, 16384}, 3},
                 {"random_zoom_out", {1000, 1000, 1}, 3}};
    STATIC_PARAMS(params);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_augment *r = recipe_make();
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sluice_augment_add(r, cases[i].name, cases[i].arguments, cases[i].count),
                         SLUICE_OK);
        assert_int_equal(sluice_augment_add(r, "center_crop", NUMBERS(8, 8)), SLUICE_OK);
        assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 1}, INT32_MAX, 1, &params, &error),
                         SLUICE_UNSUPPORTED);
        assert_non_null(strstr(error.text, cases[i].name));
        assert_non_null(strstr(error.text, "2147483647 x 1"));
        sluice_augment_destroy(r);
    }
}

/* ---- distributions ---- */

TEST(each_size_as_often)
{
    uint32_t seen[3] = {0};
    sluice_augment *r = recipe_of_step("random_shortest_size", NUMBERS(0, 1, 20, 30, 50));
    assert_int_equal(sluice_augment_add(r, "center_crop", NUMBERS(8, 8)), SLUICE_OK);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint32_t side = recipe_draw_step(r, i)->geometries[0].box.virtual_height;
        seen[side == 20 ? 0 : side == 30 ? 1 : 2]++;
    }
    distribution_expect(seen, NULL, 3, "sizes");
    sluice_augment_destroy(r);
}

/* Sides are cut to whole pixels; a side of 4096 shows the scale. */
TEST(scales_are_uniform)
{
    uniform scale = {.name = "scale", .least = 0.1, .most = 2};
    sluice_augment *r = recipe_of_step("scale_jitter", NUMBERS(4096, 4096));
    assert_int_equal(sluice_augment_add(r, "center_crop", NUMBERS(8, 8)), SLUICE_OK);
    for (uint64_t i = 0; i < DRAWS; i++) {
        uniform_note(&scale,
                     (recipe_draw_step(r, i)->geometries[0].box.virtual_width + 0.5) / 4096);
    }
    uniform_expect(&scale);
    sluice_augment_destroy(r);
}

/* Both axes use one number below 1: the last position is never taken. */
TEST(windows_of_fixed_size)
{
    uint32_t across[WIDTH - SIDE] = {0};
    sluice_augment *r = recipe_of_step("fixed_size_crop", NUMBERS(SIDE, SIDE));
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_rect *source = &recipe_draw_step(r, i)->geometries[0].box.source;
        const uint32_t at = source->x - 100; /* start of the centre 300 x 200 */
        const uint32_t y = source->y - 70;
        assert_true(at < WIDTH - SIDE && y < HEIGHT - SIDE);
        assert_true(abs((int)y * (WIDTH - SIDE) - (int)at * (HEIGHT - SIDE)) <= WIDTH - SIDE);
        across[at]++;
    }
    distribution_expect(across, NULL, WIDTH - SIDE, "places");
    sluice_augment_destroy(r);
}

TEST(zoomed_out_as_often_as_asked)
{
    uniform side = {.name = "side", .least = 1, .most = 4};
    uniform place = {.name = "place", .least = 0, .most = 1};
    uint32_t happened = 0;
    /* on the largest possible canvas, so that cutting to pixels does not matter */
    STATIC_PARAMS(params);
    sl_drawing d;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_draw_key key = {.seed = 3, .sample = i};
        const sl_step_kind *kind = sl_step_find("random_zoom_out");
        sl_drawing_begin(&d, &params, 100000, 50000, false, NULL);
        d.random = sl_recipe_random(&key, kind->stream);
        assert_int_equal(kind->draw((const double[]){1, 4, 0.3, 9, -1, -1}, &d), SLUICE_OK);
        if (d.width > 100000) {
            happened++;
            uniform_note(&side, d.width / 100000.0);
            uniform_note(&place, -params.geometries[0].box.window_x / (double)(d.width - 100000));
            assert_int_equal(params.geometries[0].fill[2], 9);
        }
    }
    distribution_expect_share(happened, DRAWS, 0.3);
    uniform_expect(&side);
    uniform_expect(&place);
}

/* ---- boxes ---- */

static sl_rect cropped(const sluice_augment *r, uint64_t sample, const float (*boxes)[4],
                       uint32_t count)
{
    STATIC_PARAMS(params);
    const sl_draw_key key = {.seed = 4, .sample = sample, .boxes = boxes, .box_count = count};
    assert_int_equal(sl_draw(r, &key, 400, 300, &params, NULL), SLUICE_OK);
    return params.geometries[0].box.source;
}

static bool is_whole(const sl_rect *part)
{
    return part->x == 0 && part->y == 0 && part->width == 400 && part->height == 300;
}

static sluice_augment *recipe_of_iou(const double *arguments, uint32_t count)
{
    sluice_augment *r = recipe_make();
    assert_int_equal(sluice_augment_add(r, "random_iou_crop", arguments, count), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "resize", NUMBERS(30, 30)), SLUICE_OK);
    return r;
}

/* One of seven options keeps the image unchanged, if windows for all others can be found. */
TEST(pictures_with_boxes_are_cropped)
{
    static const float boxes[2][4] = {{20, 30, 380, 280}, {100, 100, 110, 120}};
    uint32_t whole = 0;
    sluice_augment *r = recipe_of_iou(NULL, 0);
    for (uint64_t i = 0; i < DRAWS / 10; i++) {
        const sl_rect part = cropped(r, i, boxes, 2);
        assert_true(part.width >= 120 && part.height >= 90);
        assert_true(part.width <= 2 * part.height && part.height <= 2 * part.width);
        whole += is_whole(&part);
    }
    distribution_expect_share(whole, DRAWS / 10, 1.0 / 7);
    for (uint64_t i = 0; i < 50; i++) {
        const sl_rect none = cropped(r, i, NULL, 0);
        const sl_rect count_only = cropped(r, i, NULL, 5);
        const sl_rect empty = cropped(r, i, boxes, 0);
        assert_true(is_whole(&none) && is_whole(&count_only) && is_whole(&empty));
    }
    sluice_augment_destroy(r);
}

/* Where torchvision would search forever, the step ends and keeps the image unchanged. */
TEST(windows_that_cannot_be_found)
{
    static float many[300000][4];
    static const float odd[4][4] = {
        {NAN, 0, 10, 10}, {10, 10, 5, 20}, {-50, -50, -10, -10}, {-INFINITY, 0, INFINITY, NAN}};
    static const float corner[1][4] = {{0, 0, 2, 2}};
    sluice_augment *r = recipe_of_iou(NUMBERS(0.3, 1, 0.5, 2, 500, 0.9));
    for (uint32_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
        many[i][2] = many[i][3] = 1;
    }
    for (uint64_t i = 0; i < 5; i++) {
        const sl_rect of_odd = cropped(r, i, odd, 4);
        const sl_rect of_corner = cropped(r, i, corner, 1);
        const sl_rect of_many = cropped(r, i, (const float(*)[4])many, 1000);
        const sl_rect of_more = cropped(r, i, (const float(*)[4])many, 300000);
        assert_true(is_whole(&of_odd) && is_whole(&of_corner));
        assert_true(is_whole(&of_many) && is_whole(&of_more));
    }
    sluice_augment_destroy(r);
}

/* The step sees only the part of a box that an earlier crop has left: of a box on the left, nothing
 * remains. */
TEST(boxes_are_looked_at_where_they_are)
{
    static const float left[1][4] = {{0, 0, 90, 300}};
    static const float right[1][4] = {{210, 10, 390, 290}};
    STATIC_PARAMS(params);
    sluice_augment *r = recipe_make();
    uint32_t cut = 0;
    assert_int_equal(sluice_augment_add(r, "center_crop", NUMBERS(200, 300)), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "pad", NUMBERS(0, 0, 200, 0)), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "random_flip", NUMBERS(1)), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "random_iou_crop", NUMBERS(0.3, 1, 0.5, 2, 40, 0.5)),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "resize", NUMBERS(30, 30)), SLUICE_OK);
    for (uint64_t i = 0; i < 100; i++) {
        for (uint32_t side = 0; side < 2; side++) {
            const sl_draw_key key = {
                .seed = 4, .sample = i, .boxes = side == 0 ? left : right, .box_count = 1};
            assert_int_equal(sl_draw(r, &key, 400, 300, &params, NULL), SLUICE_OK);
            const sl_mapping *box = &params.geometries[0].box;
            const bool whole = box->width == 400 || params.geometry_count == 1;
            assert_true(side == 1 || box->width == 400);
            cut += side == 1 && !whole && box->width < 400;
        }
    }
    assert_true(cut > 90);
    sluice_augment_destroy(r);
}

/* Chains of an AugMix rotate and move images that are then mixed with others: a box stays. */
TEST(boxes_behind_a_mix)
{
    static const float box[4] = {3, 4, 30, 20};
    STATIC_PARAMS(params);
    uint32_t moved = 0;
    for (uint64_t i = 0; i < 50; i++) {
        sl_drawing d;
        float at[4];
        const double arguments[] = {10, 3, 3, 1, 0, SL_BILINEAR, 0, -1, -1};
        const sl_draw_key key = {.seed = 6, .sample = i};
        const sl_step_kind *kind = sl_step_find("aug_mix");
        sl_drawing_begin(&d, &params, 60, 40, i % 2 == 1, NULL);
        d.random = sl_recipe_random(&key, kind->stream);
        assert_int_equal(kind->draw(arguments, &d), SLUICE_OK);
        moved += params.geometry_count > 1;
        assert_true(sl_drawing_box(&d, box, at));
        assert_memory_equal(at, box, sizeof(box));
        assert_int_equal(sl_draw_flip(&d, false), SLUICE_OK);
        assert_true(sl_drawing_box(&d, box, at));
        assert_true(at[0] == 30 && at[1] == 4 && at[2] == 57 && at[3] == 20);
    }
    assert_true(moved > 40);
}

/* A step's draws depend neither on other steps nor on boxes that it ignores. */
TEST(other_steps_draw_the_same_with_boxes)
{
    static const float boxes[1][4] = {{0, 0, 400, 300}};
    sluice_augment *r = recipe_make();
    assert_int_equal(sluice_augment_add(r, "random_resized_crop", NUMBERS(30, 30)), SLUICE_OK);
    for (uint64_t i = 0; i < 50; i++) {
        const sl_rect with = cropped(r, i, boxes, 1);
        const sl_rect without = cropped(r, i, NULL, 0);
        assert_memory_equal(&with, &without, sizeof(with));
    }
    sluice_augment_destroy(r);
}

/* Pinned, like the first ones in augment_recipe_test. */
TEST(detection_draws_are_the_same_for_ever)
{
    static const float boxes[2][4] = {{20, 30, 380, 280}, {100, 100, 110, 120}};
    sluice_augment *r = recipe_of_iou(NULL, 0);
    uint32_t sum = 0;
    for (uint64_t i = 0; i < 64; i++) {
        const sl_rect part = cropped(r, i, boxes, 2);
        sum = sum * 31 + part.x * 7 + part.y * 5 + part.width * 3 + part.height;
    }
    assert_true(sum == 0xD5C33098U);
    sluice_augment_destroy(r);
}
