/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact drawings: a recipe gives the same bytes as its steps one by one, each as its own recipe on
 * the previous result. Also, steps that are one pass in any drawing.
 */
#include "converter.h"
#include "recipe.h"
#include "test.h"
#include "whole_params.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 300, STEPS = 5, SIDE = 40, SCRATCH = 1 << 20 };

typedef struct raster {
    uint32_t width, height;
    uint8_t *pixels;
} raster;

typedef struct link {
    const char *name;
    double arguments[6];
    uint32_t count;
} link;

static uint32_t below(sl_random *random, uint32_t end)
{
    return sl_random_below(random, end);
}

/* Links without random draws, so that each alone gives the same as among others. */
static link random_link(sl_random *random, bool warps)
{
    const double width = 1 + below(random, SIDE);
    const double height = 1 + below(random, SIDE);
    const double interpolation = below(random, 2);
    const double degrees = 90 * below(random, 4) + below(random, 3) * 7.25;
    switch (below(random, warps ? 6 : 4)) {
    case 0:
        return (link){"random_flip", {1}, 1};
    case 1:
        return (link){"random_vertical_flip", {1}, 1};
    case 2:
        return (link){"resize", {width, height, interpolation}, 3};
    case 3:
        return (link){"center_crop", {width, height}, 2};
    default:
        return (link){"random_rotation", {degrees, degrees, interpolation, 90}, 4};
    }
}

static raster apply(const sluice_augment *r, const raster *from, bool exact)
{
    STATIC_PARAMS(params);
    sl_converter converter;
    sl_scratch scratch;
    const sl_draw_key key = {.seed = 1, .exact = exact};
    assert_int_equal(sl_draw(r, &key, from->width, from->height, &params, NULL), SLUICE_OK);
    assert_int_equal(sl_converter_make(&converter, r, SLUICE_U8, SLUICE_NHWC, NULL), SLUICE_OK);
    assert_int_equal(sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL), SLUICE_OK);
    const sl_image view = {.pixels = from->pixels,
                           .width = from->width,
                           .height = from->height,
                           .channels = 3,
                           .stride_bytes = (size_t)from->width * 3,
                           .picture_width = from->width,
                           .picture_height = from->height,
                           .denominator = 1};
    const sl_apply_work work = {.scratch = &scratch};
    raster to = {params.width, params.height, malloc((size_t)params.width * params.height * 3)};
    assert_non_null(to.pixels);
    assert_int_equal(sl_augment_apply(&converter, &view, &params, &work, to.pixels, NULL),
                     SLUICE_OK);
    sl_scratch_close(&scratch);
    return to;
}

static sluice_augment *recipe_from(const raster *picture)
{
    sluice_augment *r = NULL;
    const double size[] = {picture->width, picture->height};
    assert_int_equal(sluice_augment_create(&r), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "center_crop", size, 2), SLUICE_OK);
    return r;
}

static void add(sluice_augment *r, const link *step)
{
    assert_int_equal(sluice_augment_add(r, step->name, step->arguments, step->count), SLUICE_OK);
}

static raster random_picture(sl_random *random)
{
    raster p = {1 + below(random, SIDE), 1 + below(random, SIDE), NULL};
    p.pixels = malloc((size_t)p.width * p.height * 3);
    assert_non_null(p.pixels);
    for (size_t i = 0; i < (size_t)p.width * p.height * 3; i++) {
        p.pixels[i] = (uint8_t)below(random, 256);
    }
    return p;
}

static void check_round(uint64_t round, bool warps, bool exact)
{
    sl_random random = sl_random_for(9, round, warps, exact);
    raster picture = random_picture(&random);
    sluice_augment *all = recipe_from(&picture);
    raster by_one = {picture.width, picture.height, NULL};
    for (uint32_t i = 0; i < STEPS; i++) {
        const raster *from = i == 0 ? &picture : &by_one;
        const link step = random_link(&random, warps);
        sluice_augment *one = recipe_from(from);
        add(all, &step);
        add(one, &step);
        const raster next = apply(one, from, true);
        free(by_one.pixels);
        by_one = next;
        sluice_augment_destroy(one);
    }
    const raster at_once = apply(all, &picture, exact);
    assert_int_equal(at_once.width, by_one.width);
    assert_int_equal(at_once.height, by_one.height);
    assert_memory_equal(at_once.pixels, by_one.pixels, (size_t)by_one.width * by_one.height * 3);
    free(at_once.pixels);
    free(by_one.pixels);
    free(picture.pixels);
    sluice_augment_destroy(all);
}

TEST(exact_is_one_by_one)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        check_round(round, true, true);
    }
}

TEST(boxes_are_one_by_one)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        check_round(round, false, false);
    }
}
