/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest output sizes of recipes, compared with draws for random images. Covers sizes that
 * follow from the image's size exactly, limits for images of unknown size, and recipes without a
 * bound.
 */
#include "largest_size.h"
#include "philox.h"
#include "recipes.h"
#include "test.h"
#include "whole_params.h"

enum { STEPS = 4, IMAGES = 6, DRAWS = 300 };

/* A group opens with `begin`, and END closes it. */
typedef struct made_step {
    const char *name;
    bool begin;
    uint32_t count;
    double arguments[6];
} made_step;

#define END         \
    {               \
        .name = "/" \
    }

static sluice_augment *made_recipe(const made_step *steps)
{
    sluice_augment *r = recipe_make();
    for (; steps->name != NULL; steps++) {
        sluice_status status = SLUICE_OK;
        if (steps->name[0] == '/') {
            status = sluice_augment_end(r);
        } else if (steps->begin) {
            status = sluice_augment_begin(r, steps->name, steps->arguments, steps->count);
        } else {
            status = sluice_augment_add(r, steps->name, steps->arguments, steps->count);
        }
        assert_int_equal(status, SLUICE_OK);
    }
    assert_int_equal(sl_recipe_check_steps(r, NULL), SLUICE_OK);
    return r;
}

typedef struct sides {
    double width, height;
} sides;

/* Returns the largest width and height in a list. */
static sides sides_of(const sl_bounds *bounds)
{
    sides most = {0, 0};
    for (uint64_t i = 0; i < bounds->count; i++) {
        most.width = bounds->of[i].width > most.width ? bounds->of[i].width : most.width;
        most.height = bounds->of[i].height > most.height ? bounds->of[i].height : most.height;
    }
    return most;
}

/* Computes the bound for images of these sizes; none: any size. Returns the name of the step
 * without a bound, or NULL. */
static const char *bound_of(const sluice_augment *r, const uint32_t (*sizes)[2], uint32_t count,
                            sl_bounds *bounds)
{
    const sl_step_kind *open = NULL;
    *bounds = (sl_bounds){.is_any = count == 0};
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(sl_bounds_add(bounds, sl_bound_of_size(sizes[i][0], sizes[i][1]), NULL),
                         SLUICE_OK);
    }
    assert_int_equal(sl_recipe_largest(r, bounds, &open, NULL), SLUICE_OK);
    return open != NULL ? open->name : NULL;
}

static void expect_bound(const made_step *steps, const uint32_t (*sizes)[2], uint32_t count,
                         sides wanted)
{
    sl_bounds bounds;
    sluice_augment *r = made_recipe(steps);
    assert_null(bound_of(r, sizes, count, &bounds));
    const sides most = sides_of(&bounds);
    assert_true(bounds.is_any == (wanted.width == 0));
    assert_true(most.width == wanted.width && most.height == wanted.height);
    sl_bounds_close(&bounds);
    sluice_augment_destroy(r);
}

static const uint32_t two[][2] = {{64, 48}, {30, 70}}; /* width x height */

TEST(sizes_that_follow_from_the_image)
{
    const struct {
        made_step steps[STEPS + 1];
        sides wanted;
    } cases[] = {
        {{{.name = "random_flip"}}, {64, 70}},
        {{{"pad", false, 4, {1, 2, 3, 4}}}, {68, 76}},
        {{{"resize_shorter", false, 1, {24}}}, {32, 56}},
        {{{"resize_shorter", false, 2, {24, 50}}}, {32, 50}},
        {{{"random_resize", false, 2, {12, 25}}}, {32, 56}},
        {{{"random_shortest_size", false, 4, {50, 1, 24, 12}}}, {32, 50}},
        {{{"scale_jitter", false, 4, {60, 50, 0.5, 2}}}, {120, 100}},
        {{{"random_zoom_out", false, 2, {1, 3}}}, {192, 210}},
        {{{"random_crop", false, 2, {8, 9}}}, {8, 9}},
        {{{.name = "random_apply", .begin = true}, {"pad", false, 4, {1, 1, 1, 1}}, END}, {66, 72}},
        {{{.name = "random_apply", .begin = true}, {"resize_shorter", false, 1, {96}}, END},
         {128, 224}},
        {{{.name = "random_choice", .begin = true},
          {"resize_shorter", false, 1, {24}},
          {"pad", false, 1, {10}},
          END},
         {74, 70}},
        {{{.name = "random_order", .begin = true},
          {"pad", false, 4, {1, 1, 1, 1}},
          {.name = "random_flip"},
          END},
         {66, 72}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_bound(cases[i].steps, two, 2, cases[i].wanted);
    }
}

TEST(limits_bound_images_of_any_size)
{
    const struct {
        made_step steps[STEPS + 1];
        sides wanted; /* 0: any */
    } cases[] = {
        {{{.name = "random_flip"}}, {0, 0}},
        {{{"resize_shorter", false, 1, {24}}}, {0, 0}},
        {{{"resize_shorter", false, 2, {24, 50}}}, {50, 50}},
        {{{"random_shortest_size", false, 3, {50, 1, 24}}}, {50, 50}},
        {{{"random_shortest_size", false, 3, {0, 1, 24}}}, {0, 0}},
        {{{"random_zoom_out", false, 2, {1, 3}}}, {0, 0}},
        {{{.name = "random_iou_crop"}}, {0, 0}},
        {{{"scale_jitter", false, 4, {60, 50, 0.5, 2}}, {"pad", false, 1, {7}}}, {127, 100}},
        {{{.name = "random_apply", .begin = true}, {"resize_shorter", false, 2, {24, 50}}, END},
         {0, 0}},
        {{{"resize", false, 2, {5, 6}}}, {5, 6}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_bound(cases[i].steps, NULL, 0, cases[i].wanted);
    }
}

/* After a step that limits images of any size, the largest output comes from an image one pixel
 * high or wide: no smaller bound is right. */
TEST(bounds_of_images_of_any_size_are_attained)
{
    static const made_step recipes[][STEPS + 1] = {
        {{"scale_jitter", false, 4, {60, 60, 2, 2}}, {"resize_shorter", false, 1, {50}}},
        {{"scale_jitter", false, 4, {60, 40, 2, 2}}, {"random_resize", false, 2, {50, 51}}},
        {{"scale_jitter", false, 4, {60, 60, 2, 2}},
         {"pad", false, 1, {7}},
         {"resize_shorter", false, 1, {50}}},
        {{"resize_shorter", false, 2, {20, 90}}, {"resize_shorter", false, 1, {30}}},
    };
    STATIC_PARAMS(params);
    for (size_t k = 0; k < sizeof(recipes) / sizeof(recipes[0]); k++) {
        sl_bounds bounds;
        sides made = {0, 0};
        sluice_augment *r = made_recipe(recipes[k]);
        assert_null(bound_of(r, NULL, 0, &bounds));
        for (uint32_t n = 1; n <= 800; n++) {
            const uint32_t size[] = {n <= 400 ? n : 1, n <= 400 ? 1 : n - 400};
            const sl_draw_key key = {.seed = 3, .sample = n, .any_size = true};
            assert_int_equal(sl_draw(r, &key, size[0], size[1], &params, NULL), SLUICE_OK);
            made.width = params.width > made.width ? params.width : made.width;
            made.height = params.height > made.height ? params.height : made.height;
        }
        const sides most = sides_of(&bounds);
        assert_true(made.width == most.width && made.height == most.height);
        sl_bounds_close(&bounds);
        sluice_augment_destroy(r);
    }
}

TEST(steps_without_a_bound_are_named)
{
    sl_bounds bounds;
    const made_step any_order[] = {{.name = "random_order", .begin = true},
                                   {"pad", false, 1, {3}},
                                   {"resize_shorter", false, 1, {9}},
                                   END,
                                   {.name = NULL}};
    const made_step batch[] = {{.name = "bucket_crop"}, {.name = NULL}};
    sluice_augment *r = made_recipe(any_order);
    assert_string_equal(bound_of(r, two, 2, &bounds), "random_order");
    assert_true(bounds.is_any && bounds.count == 0);
    sl_bounds_close(&bounds);
    sluice_augment_destroy(r);
    r = made_recipe(batch);
    assert_string_equal(bound_of(r, two, 2, &bounds), "bucket_crop");
    sl_bounds_close(&bounds);
    sluice_augment_destroy(r);
}

/* Boxes for random_iou_crop. */
static const float boxes[][4] = {{2, 2, 20, 18}, {10, 5, 28, 29}};

static void expect_all_fit(const sluice_augment *r, const uint32_t (*sizes)[2],
                           const sl_bounds *bounds)
{
    STATIC_PARAMS(params);
    const sides most = sides_of(bounds);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_draw_key key = {
            .seed = 3, .sample = i, .boxes = boxes, .box_count = 2, .any_size = true};
        const uint32_t *size = sizes[i % IMAGES];
        assert_int_equal(sl_draw(r, &key, size[0], size[1], &params, NULL), SLUICE_OK);
        assert_true(params.width <= most.width && params.height <= most.height);
    }
}

TEST(no_draw_is_larger)
{
    static const made_step recipes[][STEPS + 1] = {
        {{"random_zoom_out", false, 2, {1, 2.5}}, {"resize_shorter", false, 1, {90}}},
        {{"random_zoom_out", false, 2, {1, 4}},
         {"random_shortest_size", false, 4, {80, 1, 20, 60}}},
        {{.name = "random_iou_crop"}, {"resize_shorter", false, 1, {50}}},
        {{"random_iou_crop", false, 4, {0.1, 1, 0.3, 1.7}},
         {"random_shortest_size", false, 3, {0, 1, 40}}},
        {{"random_resize", false, 2, {20, 60}}, {"pad", false, 4, {1, 2, 3, 4}}},
        {{"scale_jitter", false, 4, {60, 60, 0.5, 2}}, {.name = "random_flip"}},
        {{.name = "random_apply", .begin = true},
         {"pad", false, 4, {40, 0, 0, 0}},
         END,
         {"resize_shorter", false, 1, {30}}},
    };
    static const uint32_t sizes[IMAGES][2] = {{90, 40}, {48, 64}, {33, 51},
                                              {80, 80}, {70, 30}, {31, 97}};
    for (size_t k = 0; k < sizeof(recipes) / sizeof(recipes[0]); k++) {
        sl_bounds bounds;
        sluice_augment *r = made_recipe(recipes[k]);
        assert_null(bound_of(r, sizes, IMAGES, &bounds));
        expect_all_fit(r, sizes, &bounds);
        sl_bounds_close(&bounds);
        sluice_augment_destroy(r);
    }
}

/* ---- random recipes ---- */

enum { RECIPES = 3000, RECIPE_DRAWS = 40 };

static double random_from(sl_random *random, uint32_t least, uint32_t most)
{
    return least + sl_random_below(random, most - least + 1);
}

/* Draws a step whose result depends on the image, with small sides, where rounding matters. */
static made_step random_step(sl_random *random)
{
    const double a = random_from(random, 1, 60);
    const double b = random_from(random, 1, 60);
    switch (sl_random_below(random, 7)) {
    case 0:
        return (made_step){"pad", false, 4, {a, 0, 0, random_from(random, 0, 3)}};
    case 1:
        return (made_step){"resize_shorter", false, 1, {a}};
    case 2:
        return (made_step){"resize_shorter", false, 2, {a, a + b}};
    case 3:
        return (made_step){"random_resize", false, 2, {a, a + b}};
    case 4:
        return (made_step){
            "random_shortest_size", false, 4, {random_from(random, 0, 1) * (a + b), 1, a, b}};
    case 5:
        return (made_step){"scale_jitter", false, 4, {a, b, 0.5, 1.5}};
    default:
        return sl_random_below(random, 2) > 0
                   ? (made_step){"random_zoom_out", false, 3, {1, 1 + a / 20, 1}}
                   : (made_step){"random_iou_crop", false, 6, {0.3, 1, 0.5, 2, 40, 0}};
    }
}

/* The recipe may enlarge so much that a draw fails: then there is no result to bound. */
static void expect_draws_fit(const sluice_augment *r, const uint32_t size[2],
                             const sl_bounds *bounds, uint64_t seed)
{
    STATIC_PARAMS(params);
    const sides most = sides_of(bounds);
    const float box[4] = {0, 0, (float)size[0], (float)size[1]};
    for (uint64_t i = 0; i < RECIPE_DRAWS; i++) {
        const sl_draw_key key = {
            .seed = seed, .sample = i, .boxes = &box, .box_count = 1, .any_size = true};
        if (sl_draw(r, &key, size[0], size[1], &params, NULL) == SLUICE_OK) {
            assert_true(params.width <= most.width && params.height <= most.height);
        }
    }
}

/* Tests images of known size and, where the recipe has a limit, of unknown size. */
TEST(no_draw_of_a_random_recipe_is_larger)
{
    for (uint32_t k = 0; k < RECIPES; k++) {
        sl_random random = sl_random_for(7, 0, k, 0);
        made_step steps[STEPS] = {{.name = NULL}};
        const uint32_t count = 1 + sl_random_below(&random, STEPS - 1);
        for (uint32_t i = 0; i < count; i++) {
            steps[i] = random_step(&random);
        }
        const uint32_t size[1][2] = {
            {(uint32_t)random_from(&random, 1, 120), (uint32_t)random_from(&random, 1, 120)}};
        sl_bounds bounds;
        sluice_augment *r = made_recipe(steps);
        assert_null(bound_of(r, size, 1, &bounds));
        expect_draws_fit(r, size[0], &bounds, k);
        sl_bounds_close(&bounds);
        assert_null(bound_of(r, size, 0, &bounds));
        if (!bounds.is_any) {
            expect_draws_fit(r, size[0], &bounds, k);
        }
        sl_bounds_close(&bounds);
        sluice_augment_destroy(r);
    }
}

/* Otherwise batches of variable-size images would need an explicit size. */
TEST(each_step_has_a_bound)
{
    for (uint32_t i = 0; i < sl_step_kind_count; i++) {
        const sl_step_kind *kind = sl_step_kinds[i];
        assert_true(kind->size == NULL || kind->largest != NULL || sl_step_gives_size(kind));
    }
}

/* More different sizes than a list initially holds, each twice. */
TEST(a_list_has_a_size_once)
{
    const sl_step_kind *open = NULL;
    const made_step steps[] = {{.name = "random_flip"}, {.name = NULL}};
    sl_bounds bounds = {.count = 0};
    sluice_augment *r = made_recipe(steps);
    for (uint32_t i = 0; i < 400; i++) {
        assert_int_equal(sl_bounds_add(&bounds, sl_bound_of_size(1 + i % 200, 7), NULL), SLUICE_OK);
    }
    assert_int_equal(sl_recipe_largest(r, &bounds, &open, NULL), SLUICE_OK);
    assert_int_equal(bounds.count, 200);
    assert_true(sides_of(&bounds).width == 200 && sides_of(&bounds).height == 7);
    sl_bounds_close(&bounds);
    sluice_augment_destroy(r);
}
