/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pixel labels: all pixel widths give the same result, checked by the positions that pixels of
 * another width report; maps between pixels by hand. python/tests/test_follow.py compares the
 * positions with Pillow's.
 */
#include "labels.h"
#include "philox.h"
#include "recipe.h"
#include "recipes.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 37, HEIGHT = 23, OUT_WIDTH = 29, OUT_HEIGHT = 31, OUT = OUT_WIDTH * OUT_HEIGHT };
enum { BYTES_MAX = 512, PICTURE = WIDTH * HEIGHT, FILL = 0xEE, DRAWS = 60 };

static int setup(void **state)
{
    sl_scratch *scratch = calloc(1, sizeof(*scratch));
    assert_non_null(scratch);
    assert_int_equal(sl_scratch_open(scratch, 1 << 20, 1 << 20, NULL), SLUICE_OK);
    *state = scratch;
    return 0;
}

static int teardown(void **state)
{
    sl_scratch_close(*state);
    free(*state);
    return 0;
}

/* Boxes, warps, borders and several passes. */
static sluice_augment *some_recipe(uint32_t number)
{
    static const double crop[] = {25, 25, 0.1, 1};
    sluice_augment *r = recipe_make();
    if (number % 4 == 1) {
        sluice_augment_add(r, "random_rotation", (const double[]){-80, 80}, 2);
    } else if (number % 4 == 2) {
        sluice_augment_add(r, "pad", (const double[]){3, 4, 5, 6, number % 8 < 4 ? 0 : 2}, 5);
        sluice_augment_add(r, "random_perspective", (const double[]){0.5, 1}, 2);
    } else if (number % 4 == 3) {
        sluice_augment_add(r, "random_resized_crop", crop, 4);
        sluice_augment_add(r, "random_rotation", (const double[]){-30, 30}, 2);
    }
    sluice_augment_add(r, "random_flip", (const double[]){0.5}, 1);
    sluice_augment_add(r, "random_resized_crop", (const double[]){OUT_WIDTH, OUT_HEIGHT, 0.2, 1},
                       4);
    return r;
}

/* Allocates params, followed by memory for any recipe. */
static sl_params *params_make(void)
{
    sl_params *params = calloc(1, sizeof(*params) + sl_params_bytes(SL_OPERATIONS_MAX));
    assert_non_null(params);
    sl_params_place(params, SL_OPERATIONS_MAX, params + 1);
    return params;
}

static void draw(const sluice_augment *recipe, uint64_t sample, bool exact, bool labels,
                 sl_params *params)
{
    static const uint8_t any[3];
    const sl_draw_key key = {
        .seed = 5, .sample = sample, .exact = exact, .label_fill = labels ? any : NULL};
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_draw(recipe, &key, WIDTH, HEIGHT, params, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
}

/* Returns byte k of the pixel at (x, y). */
static uint8_t byte_of(uint32_t x, uint32_t y, uint32_t k)
{
    return (uint8_t)((x * 2654435761U ^ y * 40503U ^ k * 97U) >> 7);
}

static uint8_t fill_of(uint32_t k)
{
    return (uint8_t)(FILL ^ k);
}

/* Returns only the needed rows, in a block of exact size: a sanitizer sees other reads. */
static uint8_t *needed_rows(const sl_rect *need, uint32_t pixel)
{
    uint8_t *rows = malloc((size_t)need->height * WIDTH * pixel);
    assert_non_null(rows);
    for (uint32_t y = 0; y < need->height; y++) {
        for (uint32_t x = 0; x < WIDTH; x++) {
            for (uint32_t k = 0; k < pixel; k++) {
                rows[((size_t)y * WIDTH + x) * pixel + k] = byte_of(x, need->y + y, k);
            }
        }
    }
    return rows;
}

static void follow(sl_params *params, const uint8_t *rows, uint32_t pixel, uint8_t *out,
                   sl_scratch *scratch)
{
    uint8_t fill[BYTES_MAX];
    const sl_labels labels = {.rows = rows, .first_row = params->need.y, .pixel_bytes = pixel};
    const size_t mark = sl_scratch_mark(scratch);
    for (uint32_t k = 0; k < pixel; k++) {
        fill[k] = fill_of(k);
    }
    assert_int_equal(sl_labels_nearest(&labels, params, fill, out, scratch, NULL), SLUICE_OK);
    assert_int_equal(sl_scratch_mark(scratch), mark);
}

/* Finds the source of each output pixel: x, y, or the fill. */
static void find_places(sl_params *params, uint8_t *places, sl_scratch *scratch)
{
    uint8_t *rows = malloc((size_t)params->need.height * WIDTH * 2);
    assert_non_null(rows);
    for (uint32_t i = 0; i < params->need.height * WIDTH; i++) {
        rows[(size_t)2 * i] = (uint8_t)(i % WIDTH);
        rows[(size_t)2 * i + 1] = (uint8_t)(params->need.y + i / WIDTH);
    }
    follow(params, rows, 2, places, scratch);
    free(rows);
}

static void expect_pixels(const uint8_t *out, const uint8_t *places, uint32_t pixel)
{
    if (places == NULL) {
        fail();
        return;
    }
    for (uint32_t i = 0; i < OUT; i++) {
        const uint8_t *at = &places[2 * (size_t)i];
        const bool outside = at[0] == fill_of(0) && at[1] == fill_of(1);
        for (uint32_t k = 0; k < pixel; k++) {
            assert_int_equal(out[(size_t)i * pixel + k],
                             outside ? fill_of(k) : byte_of(at[0], at[1], k));
        }
    }
}

TEST_WITH(pixels_of_every_width, setup, teardown)
{
    static const uint32_t widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 64, BYTES_MAX};
    sl_params *params = params_make();
    uint8_t *places = malloc((size_t)OUT * 2);
    assert_non_null(places);
    for (uint32_t i = 0; i < DRAWS; i++) {
        sluice_augment *recipe = some_recipe(i);
        const uint32_t pixel = widths[i % (sizeof(widths) / sizeof(*widths))];
        uint8_t *out = malloc((size_t)OUT * pixel);
        assert_non_null(out);
        draw(recipe, i, i % 3 == 0, true, params);
        find_places(params, places, *state);
        uint8_t *rows = needed_rows(&params->need, pixel);
        follow(params, rows, pixel, out, *state);
        expect_pixels(out, places, pixel);
        free(rows);
        free(out);
        sluice_augment_destroy(recipe);
    }
    free(places);
    free(params);
}

TEST_WITH(memory_that_is_not_there, setup, teardown)
{
    sl_scratch small;
    sl_params *params = params_make();
    sluice_augment *recipe = some_recipe(0);
    uint8_t *out = malloc((size_t)OUT);
    assert_non_null(out);
    assert_int_equal(sl_scratch_open(&small, 256, 256, NULL), SLUICE_OK);
    draw(recipe, 1, false, true, params);
    uint8_t *rows = needed_rows(&params->need, 1);
    const sl_labels labels = {.rows = rows, .first_row = params->need.y, .pixel_bytes = 1};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_labels_nearest(&labels, params, (uint8_t[]){0}, out, &small, &error),
                     SLUICE_NOMEM);
    assert_non_null(strstr(error.text, "no scratch memory for a mask"));
    sl_scratch_close(&small);
    free(rows);
    free(out);
    free(params);
    sluice_augment_destroy(recipe);
}

/* ---- between pixels ---- */

/* Values are copied as stored; no neighbour mixes in, even if it is NaN. */
TEST(maps_as_they_are)
{
    static const double size[] = {WIDTH, HEIGHT};
    sl_params *params = params_make();
    sluice_augment *recipe = recipe_make();
    float map[PICTURE];
    float out[PICTURE];
    sluice_augment_add(recipe, "center_crop", size, 2);
    for (uint32_t i = 0; i < PICTURE; i++) {
        map[i] = i % 5 == 0 ? NAN : i % 7 == 0 ? INFINITY : (float)i / 3;
    }
    draw(recipe, 1, false, false, params);
    const sl_labels labels = {.rows = (const uint8_t *)map};
    sl_labels_bilinear(&labels, params, 1, -1, out);
    assert_memory_equal(out, map, sizeof(map));
    sluice_augment_destroy(recipe);
    free(params);
}

/* Expects output pixel k of a map of positions; returns whether the trail shows it. */
static bool expect_place(const sl_params *params, const double back[9], uint32_t k,
                         const float value[2])
{
    const uint32_t line = k / OUT_WIDTH;
    const double at[2] = {k % OUT_WIDTH + 0.5, line + 0.5};
    if (!sl_trail_shows(&params->trail, at)) {
        assert_true(value[0] == -1 && value[1] == -1);
        return false;
    }
    const double w = back[6] * at[0] + back[7] * at[1] + back[8];
    const double x = (back[0] * at[0] + back[1] * at[1] + back[2]) / w;
    const double y = (back[3] * at[0] + back[4] * at[1] + back[5]) / w;
    assert_true(fabs(value[0] - fmin(fmax(x, 0.5), WIDTH - 0.5)) < 1e-4);
    assert_true(fabs(value[1] - fmin(fmax(y, 0.5), HEIGHT - 0.5)) < 1e-4);
    return true;
}

/* A ramp has its value at the position given by the trail; otherwise the fill. */
TEST(maps_of_what_is_linear)
{
    static float map[PICTURE][2];
    static float out[OUT][2];
    sl_params *params = params_make();
    for (uint32_t i = 0; i < PICTURE; i++) {
        map[i][0] = (float)(i % WIDTH) + 0.5F;
        const uint32_t line = i / WIDTH;
        map[i][1] = (float)line + 0.5F;
    }
    const sl_labels labels = {.rows = (const uint8_t *)map};
    uint32_t shown = 0;
    uint32_t hidden = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        sluice_augment *recipe = some_recipe(i);
        double back[9];
        draw(recipe, i, false, false, params);
        sl_labels_bilinear(&labels, params, 2, -1, &out[0][0]);
        assert_true(sl_trail_inverse(&params->trail, back));
        for (uint32_t k = 0; k < OUT; k++) {
            *(expect_place(params, back, k, out[k]) ? &shown : &hidden) += 1;
        }
        sluice_augment_destroy(recipe);
    }
    assert_true(shown > OUT && hidden > OUT);
    free(params);
}

/* A map that cannot be inverted is all fill. */
TEST(maps_of_what_is_folded)
{
    sl_params *params = params_make();
    float map[4] = {1, 2, 3, 4};
    float out[9];
    params->width = params->height = 3;
    sl_trail_begin(&params->trail, 2, 2);
    sl_trail_warp(&params->trail, (const double[9]){0}, 3, 3);
    const sl_labels labels = {.rows = (const uint8_t *)map};
    sl_labels_bilinear(&labels, params, 1, 7, out);
    for (size_t i = 0; i < 9; i++) {
        assert_true(out[i] == 7);
    }
    free(params);
}

/* Mixes colours, erasing and chains of copies, which do not affect labels, with geometry steps. */
static sluice_augment *mixed_recipe(uint32_t number)
{
    sluice_augment *r = recipe_make();
    sluice_augment_add(r, "random_rotation", (const double[]){-30, 30}, 2);
    sluice_augment_add(r, number % 2 == 0 ? "aug_mix" : "rand_augment", NULL, 0);
    sluice_augment_add(r, "random_vertical_flip", (const double[]){0.5}, 1);
    sluice_augment_add(r, "color_jitter", (const double[]){0.4, 0.4, 0.4, 0.1}, 4);
    sluice_augment_add(r, "random_resized_crop", (const double[]){OUT_WIDTH, OUT_HEIGHT, 0.2, 1},
                       4);
    sluice_augment_add(r, "random_perspective", (const double[]){0.3, 0.5}, 2);
    return r;
}

/* Both programs of one draw, against each drawn separately. */
TEST_WITH(one_draw_of_image_and_labels, setup, teardown)
{
    sl_params *programs[4];
    for (size_t i = 0; i < 4; i++) {
        programs[i] = params_make();
    }
    for (uint32_t i = 0; i < DRAWS; i++) {
        sluice_augment *recipe = i % 3 == 0 ? some_recipe(i) : mixed_recipe(i);
        const sl_draw_key key = {.seed = 5, .sample = i, .exact = i % 5 == 0};
        uint8_t out[2][OUT];
        draw(recipe, i, key.exact, false, programs[0]);
        draw(recipe, i, key.exact, true, programs[1]);
        assert_int_equal(sl_draw_both(recipe, &key, WIDTH, HEIGHT, &programs[2], NULL), SLUICE_OK);
        for (size_t k = 0; k < 2; k++) {
            const sl_params *alone = programs[k];
            const sl_params *both = programs[2 + k];
            assert_memory_equal(&alone->need, &both->need, sizeof(both->need));
            assert_int_equal(alone->geometry_count, both->geometry_count);
            assert_int_equal(alone->operation_count, both->operation_count);
            assert_memory_equal(alone->trail.matrix, both->trail.matrix,
                                sizeof(both->trail.matrix));
            if (k == 1) {
                uint8_t *rows = needed_rows(&alone->need, 1);
                follow(programs[1], rows, 1, out[0], *state);
                follow(programs[3], rows, 1, out[1], *state);
                assert_memory_equal(out[0], out[1], OUT);
                free(rows);
            }
        }
        sluice_augment_destroy(recipe);
    }
    for (size_t i = 0; i < 4; i++) {
        free(programs[i]);
    }
}
