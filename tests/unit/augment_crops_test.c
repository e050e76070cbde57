/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes that crops draw: their position, size and shape, and the part of the image they need. */
#include "recipe.h"
#include "recipes.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <string.h>

static void assert_inside(const sl_rect *inner, uint32_t width, uint32_t height)
{
    assert_true(inner->width > 0 && inner->height > 0);
    assert_true(inner->x < width && inner->width <= width - inner->x);
    assert_true(inner->y < height && inner->height <= height - inner->y);
}

TEST(crops_lie_in_any_picture)
{
    static const uint32_t sides[] = {1, 2, 3, 10, 100, 375, 500, 4000, 65500};
    enum { SIDES = sizeof(sides) / sizeof(sides[0]) };
    const double ratios[][2] = {{0.75, 4.0 / 3}, {3, 3}, {0.01, 0.02}, {1, 100}};
    for (size_t k = 0; k < sizeof(ratios) / sizeof(ratios[0]); k++) {
        sluice_augment *r = recipe_make();
        assert_int_equal(
            sluice_augment_random_resized_crop(r, 32, 24, 0.08, 1, ratios[k][0], ratios[k][1]),
            SLUICE_OK);
        for (uint32_t i = 0; i < 100 * SIDES * SIDES; i++) {
            uint32_t width = sides[i % SIDES];
            uint32_t height = sides[i / SIDES % SIDES];
            sl_params p = recipe_draw(r, i, width, height);
            assert_inside(&p.geometries[0].box.source, width, height);
            assert_inside(&p.need, width, height);
            assert_int_equal(p.geometries[0].box.virtual_width, 32);
            assert_int_equal(p.geometries[0].box.virtual_height, 24);
            assert_true(p.need.x >= p.geometries[0].box.source.x &&
                        p.need.y >= p.geometries[0].box.source.y);
            assert_true(p.need.x + p.need.width <=
                        p.geometries[0].box.source.x + p.geometries[0].box.source.width);
            assert_true(p.need.y + p.need.height <=
                        p.geometries[0].box.source.y + p.geometries[0].box.source.height);
        }
        sluice_augment_destroy(r);
    }
}

/* Area uniform, ratio log-uniform, position uniform: first moments over many draws. */
TEST_WITH(crops_have_the_right_distribution, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    enum { DRAWS = 20000, SIDE = 10000 };
    assert_int_equal(sluice_augment_random_resized_crop(r, 8, 8, 0.1, 0.3, 0.5, 2), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(r, 0.25), SLUICE_OK);
    double area = 0;
    double area_squared = 0;
    double ratio = 0;
    double ratio_squared = 0;
    double place = 0;
    int flips = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        sl_params p = recipe_draw(r, i, SIDE, SIDE);
        double part = (double)p.geometries[0].box.source.width * p.geometries[0].box.source.height /
                      SIDE / SIDE;
        double logarithm =
            log((double)p.geometries[0].box.source.width / p.geometries[0].box.source.height) /
            log(2);
        area += part;
        area_squared += part * part;
        ratio += logarithm;
        ratio_squared += logarithm * logarithm;
        place += (double)p.geometries[0].box.source.x / (SIDE - p.geometries[0].box.source.width);
        flips += p.geometries[0].box.flip_x;
    }
    assert_true(fabs(area / DRAWS - 0.2) < 0.002);
    assert_true(fabs(area_squared / DRAWS - 0.04 - 0.04 / 12) < 0.001);
    assert_true(fabs(ratio / DRAWS) < 0.02);
    assert_true(fabs(ratio_squared / DRAWS - 1.0 / 3) < 0.01);
    assert_true(fabs(place / DRAWS - 0.5) < 0.01);
    assert_true(fabs(flips / (double)DRAWS - 0.25) < 0.015);
}

/* Ten tries that cannot fit: the central part of torchvision's fallback, computed by hand. */
TEST(crops_that_cannot_fit_are_central)
{
    sluice_augment *wide = recipe_make();
    assert_int_equal(sluice_augment_random_resized_crop(wide, 8, 8, 1, 1, 2, 2), SLUICE_OK);
    sl_params p = recipe_draw(wide, 1, 100, 301);
    assert_int_equal(p.geometries[0].box.source.width, 100);
    assert_int_equal(p.geometries[0].box.source.height, 50);
    assert_int_equal(p.geometries[0].box.source.x, 0);
    assert_int_equal(p.geometries[0].box.source.y, 125); /* (301 - 50) // 2 */
    p = recipe_draw(wide, 1, 1, 1);
    assert_int_equal(p.geometries[0].box.source.width, 1);
    assert_int_equal(p.geometries[0].box.source.height, 1); /* round(0.5) would be 0 */
    sluice_augment_destroy(wide);
    sluice_augment *tall = recipe_make();
    assert_int_equal(sluice_augment_random_resized_crop(tall, 8, 8, 1, 1, 0.5, 0.5), SLUICE_OK);
    p = recipe_draw(tall, 1, 300, 101);
    assert_int_equal(p.geometries[0].box.source.width, 50); /* round(50.5): half to even */
    assert_int_equal(p.geometries[0].box.source.height, 101);
    assert_int_equal(p.geometries[0].box.source.x, 125);
    sluice_augment_destroy(tall);
    sluice_augment *whole = recipe_make();
    assert_int_equal(sluice_augment_random_resized_crop(whole, 8, 8, 1, 1, 1, 1), SLUICE_OK);
    p = recipe_draw(whole, 1, 64, 64);
    assert_int_equal(p.geometries[0].box.source.width, 64);
    assert_int_equal(p.geometries[0].box.source.height, 64);
    sluice_augment_destroy(whole);
}

/* torchvision: int(size * long / short) and int(round((a - b) / 2.0)), computed in Python. */
TEST(center_crops_match_torchvision)
{
    static const struct {
        uint32_t shorter, width, height, picture_width, picture_height;
        uint32_t virtual_width, virtual_height;
        int32_t x, y;
    } cases[] = {
        {256, 224, 224, 500, 375, 341, 256, 58, 16},
        {256, 224, 224, 375, 500, 256, 341, 16, 58},
        {256, 224, 224, 256, 256, 256, 256, 16, 16},
        {255, 224, 224, 333, 500, 255, 382, 16, 79},
        {8, 8, 5, 1, 1, 8, 8, 0, 2},
        {8, 8, 7, 3, 1000, 8, 2666, 0, 1330},
        {9, 8, 8, 9, 9, 9, 9, 0, 0},      /* 0.5: half to even */
        {11, 8, 8, 11, 11, 11, 11, 2, 2}, /* 1.5 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_augment *r = recipe_make();
        assert_int_equal(
            sluice_augment_resize_center_crop(r, cases[i].shorter, cases[i].width, cases[i].height),
            SLUICE_OK);
        sl_params p = recipe_draw(r, i, cases[i].picture_width, cases[i].picture_height);
        const sl_mapping *box = &p.geometries[0].box;
        const bool resized = cases[i].virtual_width != cases[i].picture_width;
        assert_int_equal(box->width, cases[i].width);
        assert_int_equal(box->height, cases[i].height);
        if (resized) {
            assert_int_equal(box->virtual_width, cases[i].virtual_width);
            assert_int_equal(box->virtual_height, cases[i].virtual_height);
            assert_int_equal(box->window_x, cases[i].x);
            assert_int_equal(box->window_y, cases[i].y);
            assert_int_equal(box->source.width, cases[i].picture_width);
            assert_int_equal(box->source.height, cases[i].picture_height);
        } else { /* a part of the image at original size */
            assert_int_equal(box->virtual_width, cases[i].width);
            assert_int_equal(box->virtual_height, cases[i].height);
            assert_int_equal(box->window_x, 0);
            assert_int_equal(box->window_y, 0);
            assert_int_equal(box->source.x, cases[i].x);
            assert_int_equal(box->source.y, cases[i].y);
            assert_int_equal(box->source.width, cases[i].width);
            assert_int_equal(box->source.height, cases[i].height);
        }
        assert_inside(&p.need, cases[i].picture_width, cases[i].picture_height);
        assert_false(p.geometries[0].box.flip_x);
        sluice_augment_destroy(r);
    }
    sluice_augment *r = recipe_make();
    assert_int_equal(sluice_augment_resize_center_crop(r, 16384, 8, 8), SLUICE_OK);
    WHOLE_PARAMS(p);
    assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 0}, 1, 65535 * 3, &p, NULL),
                     SLUICE_UNSUPPORTED);
    sluice_augment_destroy(r);
}

/* The centre needs less than the whole image: rows below it need not be decoded. */
TEST_WITH(need_is_less_than_the_picture, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    assert_int_equal(sluice_augment_resize_center_crop(r, 256, 224, 224), SLUICE_OK);
    sl_params p = recipe_draw(r, 0, 512, 512);
    /* outputs 16..239 at scale 2, two pixels of reach */
    assert_int_equal(p.need.x, 31);
    assert_int_equal(p.need.y, 31);
    assert_int_equal(p.need.width, 450);
    assert_int_equal(p.need.height, 450);
}

TEST_WITH(random_crops_with_padding, recipe_setup, recipe_teardown)
{
    sluice_augment *r = *state;
    assert_int_equal(sluice_augment_random_crop(r, 32, 32, 4), SLUICE_OK);
    int seen[2][9] = {{0}};
    for (uint64_t i = 0; i < 500; i++) {
        sl_params p = recipe_draw(r, i, 32, 32);
        assert_int_equal(p.geometries[0].box.virtual_width, 32);
        assert_in_range(p.geometries[0].box.window_x + 4, 0, 8);
        assert_in_range(p.geometries[0].box.window_y + 4, 0, 8);
        seen[0][p.geometries[0].box.window_x + 4]++;
        seen[1][p.geometries[0].box.window_y + 4]++;
        assert_inside(&p.need, 32, 32);
    }
    for (int i = 0; i < 9; i++) {
        assert_true(seen[0][i] > 0 && seen[1][i] > 0);
    }
    WHOLE_PARAMS(p);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 0}, 23, 40, &p, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "23 x 40"));
    assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 0}, 24, 24, &p, NULL), SLUICE_OK);
    /* a window with only padding still refers to a pixel */
    sluice_augment *wide = recipe_make();
    assert_int_equal(sluice_augment_random_crop(wide, 2, 2, 50), SLUICE_OK);
    for (uint64_t i = 0; i < 200; i++) {
        p = recipe_draw(wide, i, 3, 3);
        assert_inside(&p.need, 3, 3);
    }
    sluice_augment_destroy(wide);
}

/* The shorter side when the size is known. */
TEST(shorter_sides_of_known_sizes)
{
    static const struct {
        double size[2], shorter[2];
        uint32_t width, height;
    } cases[] = {{{30, 20}, {10, 0}, 15, 10},
                 {{20, 31}, {10, 0}, 10, 15},
                 {{30, 10}, {8, 20}, 20, 6},
                 {{7, 7}, {9, 0}, 9, 9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        STATIC_PARAMS(params);
        sluice_augment *r = recipe_make();
        assert_int_equal(sluice_augment_add(r, "center_crop", cases[i].size, 2), SLUICE_OK);
        assert_int_equal(sluice_augment_add(r, "resize_shorter", cases[i].shorter, 2), SLUICE_OK);
        assert_int_equal(r->width, cases[i].width);
        assert_int_equal(r->height, cases[i].height);
        assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 1}, 50, 50, &params, NULL), SLUICE_OK);
        assert_true(params.width == r->width && params.height == r->height);
        sluice_augment_destroy(r);
    }
}
