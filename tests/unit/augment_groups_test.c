/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of steps: which are drawn, how often and in which order, and which calls fail. */
#include "distributions.h"
#include "operations.h"
#include "recipe.h"
#include "recipes.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 6000 };

static sluice_augment *make_recipe(void)
{
    sluice_augment *recipe = recipe_make();
    assert_int_equal(sluice_augment_random_crop(recipe, 8, 8, 0), SLUICE_OK);
    return recipe;
}

static void add(sluice_augment *r, const char *name, double argument)
{
    assert_int_equal(sluice_augment_add(r, name, &argument, 1), SLUICE_OK);
}

static void begin(sluice_augment *r, const char *name, const double *arguments, uint32_t count)
{
    assert_int_equal(sluice_augment_begin(r, name, arguments, count), SLUICE_OK);
}

static void end(sluice_augment *r)
{
    assert_int_equal(sluice_augment_end(r), SLUICE_OK);
}

/* Adds a step that is one operation, whose kind identifies it: 0, 1 or 2. */
static void add_mark(sluice_augment *r, uint32_t number)
{
    static const char *const names[] = {"random_invert", "random_autocontrast", "random_grayscale"};
    add(r, names[number], 1);
}

static uint32_t mark_of(const sl_operation *operation)
{
    return operation->kind == &sl_operation_invert         ? 0
           : operation->kind == &sl_operation_autocontrast ? 1
           : operation->kind == &sl_operation_grey         ? 2
                                                           : 3;
}

static void draw_marks(const sluice_augment *r, uint64_t sample, sl_params *params)
{
    assert_int_equal(sl_draw(r, &(sl_draw_key){.seed = 5, .sample = sample}, 16, 12, params, NULL),
                     SLUICE_OK);
    assert_int_equal(params->width, r->width);
    assert_int_equal(params->height, r->height);
}

TEST(random_apply_is_all_or_nothing)
{
    static const double probabilities[] = {0, 0.2, 0.8, 1};
    for (size_t k = 0; k < sizeof(probabilities) / sizeof(probabilities[0]); k++) {
        const double parts[2] = {1 - probabilities[k], probabilities[k]};
        STATIC_PARAMS(params);
        uint32_t seen[2] = {0, 0};
        sluice_augment *r = make_recipe();
        begin(r, "random_apply", &probabilities[k], 1);
        add_mark(r, 0);
        add_mark(r, 1);
        end(r);
        add_mark(r, 2);
        for (uint64_t i = 0; i < DRAWS; i++) {
            draw_marks(r, i, &params);
            const uint32_t count = params.operation_count;
            assert_true(count == 1 || count == 3);
            assert_int_equal(mark_of(&params.operations[count - 1]), 2);
            assert_true(count == 1 || (mark_of(&params.operations[0]) == 0 &&
                                       mark_of(&params.operations[1]) == 1));
            seen[count == 3]++;
        }
        distribution_expect(seen, parts, 2, "random_apply");
        sluice_augment_destroy(r);
    }
}

TEST(random_choice_is_by_weights)
{
    static const double weights[][3] = {
        {1, 1, 1}, {0, 3, 1}, {1, 0, 0}, {0.5, 0, 1e-12}, {1e9, 1e9, 0}};
    for (size_t k = 0; k < sizeof(weights) / sizeof(weights[0]); k++) {
        const double sum = weights[k][0] + weights[k][1] + weights[k][2];
        double parts[3];
        STATIC_PARAMS(params);
        uint32_t seen[4] = {0}; /* counted by mark_of */
        sluice_augment *r = make_recipe();
        begin(r, "random_choice", weights[k], 3);
        for (uint32_t i = 0; i < 3; i++) {
            parts[i] = weights[k][i] / sum < 1e-6 ? 0 : weights[k][i] / sum;
            if (i == 1) { /* one of them is itself a group */
                begin(r, "sequence", NULL, 0);
                add_mark(r, i);
                add_mark(r, i);
                end(r);
            } else {
                add_mark(r, i);
            }
        }
        end(r);
        for (uint64_t i = 0; i < DRAWS; i++) {
            draw_marks(r, i, &params);
            const uint32_t mark = mark_of(&params.operations[0]);
            assert_int_equal(params.operation_count, mark == 1 ? 2 : 1);
            seen[mark]++;
        }
        assert_int_equal(seen[3], 0);
        distribution_expect(seen, parts, 3, "random_choice");
        sluice_augment_destroy(r);
    }
}

/* All orders are equally likely; a nested group stays together. */
TEST(random_order_is_any_order)
{
    STATIC_PARAMS(params);
    uint32_t orders[27] = {0};
    uint32_t seen[6];
    uint32_t kinds = 0;
    sluice_augment *r = make_recipe();
    begin(r, "random_order", NULL, 0);
    add_mark(r, 0);
    begin(r, "sequence", NULL, 0);
    add_mark(r, 1);
    add(r, "random_solarize", 100); /* with its probability of 0.5 */
    end(r);
    add_mark(r, 2);
    end(r);
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint32_t order = 0;
        draw_marks(r, i, &params);
        for (uint32_t k = 0; k < params.operation_count; k++) {
            const uint32_t mark = mark_of(&params.operations[k]);
            assert_true(mark < 3 || (k > 0 && mark_of(&params.operations[k - 1]) == 1));
            order = mark < 3 ? order * 3 + mark : order;
        }
        orders[order]++;
    }
    for (uint32_t i = 0; i < 27; i++) {
        if (orders[i] > 0) {
            assert_true(kinds < 6);
            seen[kinds++] = orders[i];
        }
    }
    assert_int_equal(kinds, 6);
    distribution_expect(seen, NULL, 6, "random_order");
    sluice_augment_destroy(r);
}

/* ---- sizes ---- */

static void add_resize(sluice_augment *r, double side)
{
    assert_int_equal(sluice_augment_add(r, "resize", (const double[]){side, side}, 2), SLUICE_OK);
}

static void expect_refusal(sluice_augment *r, sluice_status status, const char *text)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_augment_get_error(r, &error), status);
    assert_non_null(strstr(error.text, text));
    assert_int_equal(sl_recipe_check(r, NULL), status);
    sluice_augment_destroy(r);
}

/* Expects that the open group cannot end in its present state. */
static void expect_no_end(sluice_augment *r, const char *text)
{
    assert_int_equal(sluice_augment_end(r), SLUICE_INVALID);
    expect_refusal(r, SLUICE_INVALID, text);
}

static const char *const depends = "would depend on the random draw";

/* A group must give one size in every draw. */
TEST(sizes_that_depend_on_the_draw)
{
    sluice_augment *r = make_recipe(); /* 8 x 8 or 9 x 9 */
    begin(r, "random_apply", NULL, 0);
    add_resize(r, 9);
    expect_no_end(r, depends);

    r = make_recipe();
    begin(r, "random_choice", NULL, 0);
    add_resize(r, 9);
    add_resize(r, 10);
    expect_no_end(r, depends);

    r = make_recipe(); /* 10 x 10 if in the order given, else 9 x 9 */
    begin(r, "random_order", NULL, 0);
    add_resize(r, 9);
    add_resize(r, 10);
    expect_no_end(r, depends);

    r = make_recipe(); /* 8 x 8 in the order given, else 9 x 9 */
    begin(r, "random_order", NULL, 0);
    add_resize(r, 9);
    add_resize(r, 8);
    expect_no_end(r, depends);

    r = make_recipe(); /* a depth of two: the amount also matters */
    begin(r, "sequence", NULL, 0);
    begin(r, "random_apply", NULL, 0);
    assert_int_equal(sluice_augment_add(r, "pad", (const double[]){1}, 1), SLUICE_OK);
    end(r);
    expect_no_end(r, depends);

    r = make_recipe(); /* a size that may or may not be drawn */
    begin(r, "random_choice", NULL, 0);
    assert_int_equal(sluice_augment_add(r, "random_resize", (const double[]){8, 9}, 2), SLUICE_OK);
    add_mark(r, 1);
    expect_no_end(r, depends);
}

TEST(sizes_that_do_not_depend_on_the_draw)
{
    STATIC_PARAMS(params);
    sluice_augment *r = recipe_make();
    begin(r, "random_choice", NULL, 0); /* before the size is known */
    assert_int_equal(sluice_augment_random_resized_crop(r, 9, 8, 0.1, 1, 1, 1), SLUICE_OK);
    begin(r, "sequence", NULL, 0);
    assert_int_equal(sluice_augment_add(r, "resize_shorter", (const double[]){11}, 1), SLUICE_OK);
    begin(r, "random_apply", NULL, 0);
    assert_int_equal(sluice_augment_add(r, "random_resize", (const double[]){11, 20}, 2),
                     SLUICE_OK);
    end(r);
    assert_int_equal(sluice_augment_add(r, "center_crop", (const double[]){9, 8}, 2), SLUICE_OK);
    end(r);
    begin(r, "sequence", NULL, 0);
    add_resize(r, 5);
    assert_int_equal(sluice_augment_add(r, "pad", (const double[]){2, 1, 2, 2}, 4), SLUICE_OK);
    end(r);
    end(r);
    assert_int_equal(r->width, 9);
    assert_int_equal(r->height, 8);
    begin(r, "random_order", NULL, 0);
    add_mark(r, 0);
    begin(r, "sequence", NULL, 0);
    add_resize(r, 20);
    assert_int_equal(sluice_augment_random_crop(r, 9, 8, 2), SLUICE_OK);
    end(r);
    assert_int_equal(sluice_augment_add(r, "random_rotation", (const double[]){-9, 9}, 2),
                     SLUICE_OK);
    end(r);
    assert_int_equal(sl_recipe_check(r, NULL), SLUICE_OK);
    for (uint64_t i = 0; i < DRAWS; i++) {
        draw_marks(r, i, &params);
    }
    sluice_augment_destroy(r);
}

/* ---- errors ---- */

TEST(groups_that_are_none)
{
    sluice_augment *r = make_recipe();
    begin(r, "random_apply", NULL, 0);
    expect_no_end(r, "empty");

    r = make_recipe();
    begin(r, "random_order", NULL, 0);
    begin(r, "sequence", NULL, 0);
    expect_no_end(r, "empty"); /* in another */

    r = make_recipe();
    begin(r, "random_order", NULL, 0);
    add_mark(r, 0);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_recipe_check(r, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "\"random_order\" is not closed"));
    assert_int_equal(sluice_augment_get_error(r, NULL), SLUICE_OK); /* it may still be closed */
    end(r);
    assert_int_equal(sl_recipe_check(r, NULL), SLUICE_OK);
    assert_int_equal(sluice_augment_end(r), SLUICE_STATE);
    expect_refusal(r, SLUICE_STATE, "no group is open");

    r = make_recipe();
    begin(r, "random_choice", (const double[]){0, 0}, 2);
    add_mark(r, 0);
    add_mark(r, 1);
    expect_no_end(r, "a sum of weights above 0");

    r = make_recipe();
    begin(r, "random_choice", (const double[]){1, 2, 3}, 3);
    add_mark(r, 0);
    add_mark(r, 1);
    expect_no_end(r, "more weights than steps");

    r = make_recipe();
    begin(r, "random_choice", NULL, 0);
    for (uint32_t i = 0; i < 17; i++) {
        add(r, i % 2 == 0 ? "random_flip" : "random_vertical_flip", 1);
    }
    expect_no_end(r, "at most 16 steps");

    r = make_recipe();
    begin(r, "sequence", NULL, 0);
    assert_int_equal(sluice_augment_add(r, "normalize", (const double[]){0, 0, 0, 1, 1, 1}, 6),
                     SLUICE_INVALID);
    expect_refusal(r, SLUICE_INVALID, "cannot be in a group");

    r = make_recipe();
    assert_int_equal(sluice_augment_begin(r, "random_flip", NULL, 0), SLUICE_INVALID);
    expect_refusal(r, SLUICE_INVALID, "not a group");

    r = make_recipe();
    assert_int_equal(sluice_augment_begin(r, "random_group", NULL, 0), SLUICE_INVALID);
    expect_refusal(r, SLUICE_INVALID, "unknown group");
    assert_int_equal(sluice_augment_begin(NULL, "sequence", NULL, 0), SLUICE_INVALID);
    assert_int_equal(sluice_augment_end(NULL), SLUICE_INVALID);
}

TEST(groups_are_six_deep)
{
    STATIC_PARAMS(params);
    sluice_augment *r = make_recipe();
    const double one = 1;
    for (uint32_t i = 0; i < SL_STEP_DEPTH; i++) {
        begin(r, i % 2 == 0 ? "random_apply" : "random_choice", &one, 1);
    }
    const sluice_augment before = *r;
    assert_int_equal(sluice_augment_begin(r, "sequence", NULL, 0), SLUICE_STATE);
    assert_int_equal(r->count, before.count);
    *r = before;
    add_mark(r, 1);
    for (uint32_t i = 0; i < SL_STEP_DEPTH; i++) {
        end(r);
    }
    add_mark(r, 2);
    for (uint64_t i = 0; i < 100; i++) {
        draw_marks(r, i, &params);
        assert_int_equal(params.operation_count, 2);
        assert_int_equal(mark_of(&params.operations[0]), 1);
        assert_int_equal(mark_of(&params.operations[1]), 2);
    }
    sluice_augment_destroy(r);
}

TEST(steps_without_number)
{
    sluice_augment *r = make_recipe();
    for (uint32_t i = 0; i < SL_STREAM_STEPS; i++) {
        add(r, "random_flip", 1);
    }
    assert_int_equal(sluice_augment_random_flip(r, 1), SLUICE_STATE);
    expect_refusal(r, SLUICE_STATE, "at most 15 of one kind");
    /* two kinds of crops have one stream */
    r = make_recipe();
    for (uint32_t i = 1; i < SL_STREAM_STEPS; i++) {
        assert_int_equal(i % 2 == 0 ? sluice_augment_random_crop(r, 8, 8, 1)
                                    : sluice_augment_random_resized_crop(r, 8, 8, 1, 1, 1, 1),
                         SLUICE_OK);
    }
    assert_int_equal(sluice_augment_random_crop(r, 8, 8, 1), SLUICE_STATE);
    expect_refusal(r, SLUICE_STATE, "at most 15 of one kind");
    /* what draws no numbers, as often as there is space */
    r = make_recipe();
    assert_int_equal(sluice_augment_add(r, "normalize", (const double[]){0, 0, 0, 1, 1, 1}, 6),
                     SLUICE_OK);
    for (uint32_t i = 2; i < SL_STEPS_MAX; i++) {
        add_resize(r, i);
    }
    STATIC_PARAMS(params);
    assert_int_equal(r->count, SL_STEPS_MAX);
    assert_int_equal(r->width, SL_STEPS_MAX - 1);
    for (uint32_t i = 0; i < r->count; i++) {
        assert_int_equal(r->steps[i].stream, i == 0 ? 1 : 0);
    }
    const sluice_augment before = *r;
    assert_int_equal(sluice_augment_random_flip(r, 1), SLUICE_STATE);
    assert_memory_equal(r->steps, before.steps, sizeof(r->steps));
    assert_int_equal(sluice_augment_begin(r, "sequence", NULL, 0), SLUICE_STATE);
    assert_int_equal(r->depth, 0);
    assert_int_equal(sl_draw(&before, &(sl_draw_key){.seed = 1}, 9, 9, &params, NULL), SLUICE_OK);
    assert_int_equal(params.geometry_count, 46); /* the crop and the first resize are combined */
    expect_refusal(r, SLUICE_STATE, "48 steps");
}

/* ---- streams ---- */

/* A step's draws do not depend on other steps, on groups around it, or on its own position. */
TEST(steps_draw_by_themselves)
{
    STATIC_PARAMS(plain);
    STATIC_PARAMS(rich);
    sluice_augment *a = make_recipe();
    sluice_augment *b = make_recipe();
    add(a, "random_flip", 0.5);
    assert_int_equal(sluice_augment_color_jitter(a, 0.5, 0.5, 0.5), SLUICE_OK);
    begin(b, "random_order", NULL, 0);
    assert_int_equal(sluice_augment_add(b, "random_erasing", NULL, 0), SLUICE_OK);
    begin(b, "sequence", NULL, 0);
    assert_int_equal(sluice_augment_color_jitter(b, 0.5, 0.5, 0.5), SLUICE_OK);
    end(b);
    end(b);
    begin(b, "random_apply", NULL, 0);
    assert_int_equal(sluice_augment_add(b, "random_rotation", (const double[]){-9, 9}, 2),
                     SLUICE_OK);
    end(b);
    add(b, "random_flip", 0.5);
    for (uint64_t i = 0; i < 300; i++) {
        double factors[2][3] = {{0}};
        draw_marks(a, i, &plain);
        draw_marks(b, i, &rich);
        assert_memory_equal(&plain.geometries[0].box.source, &rich.geometries[0].box.source,
                            sizeof(sl_rect));
        uint32_t counts[2] = {0, 0};
        for (uint32_t k = 0; k < plain.operation_count; k++) {
            factors[0][counts[0]++] = plain.operations[k].values[0];
        }
        for (uint32_t k = 0; k < rich.operation_count; k++) {
            const sl_operation *o = &rich.operations[k];
            if (o->kind == &sl_operation_brightness || o->kind == &sl_operation_contrast ||
                o->kind == &sl_operation_saturation) {
                factors[1][counts[1]++] = o->values[0];
            }
        }
        assert_int_equal(counts[0], 3);
        assert_int_equal(counts[1], 3);
        assert_memory_equal(factors[0], factors[1], sizeof(factors[0]));
    }
    sluice_augment_destroy(a);
    sluice_augment_destroy(b);
}

/* A second identical step draws differently; so do other samples, epochs and groups of columns. The
 * correlation of 20000 bits is within five deviations. */
TEST(streams_do_not_meet)
{
    enum { BITS = 20000, STEPS = 15 };
    static uint8_t bits[STEPS][BITS];
    STATIC_PARAMS(params);
    sluice_augment *r = make_recipe();
    for (uint32_t i = 0; i < STEPS; i++) {
        add(r, "random_invert", 0.5);
        assert_int_equal(r->steps[i + 1].stream, 11 + SL_STREAMS * i);
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        sluice_augment one = *r;
        one.count = 2;
        one.steps[1] = r->steps[step + 1];
        for (uint64_t i = 0; i < BITS; i++) {
            draw_marks(&one, i, &params);
            bits[step][i] = (uint8_t)params.operation_count;
        }
        for (uint32_t other = 0; other < step; other++) {
            int agree = 0;
            for (uint32_t i = 0; i < BITS; i++) {
                agree += bits[step][i] == bits[other][i] ? 1 : -1;
            }
            assert_true(fabs((double)agree) < 5 * sqrt(BITS));
        }
    }
    sluice_augment_destroy(r);
}

/* A recipe is a value: a copy draws the same, even after the original changes. */
TEST(copies_are_recipes)
{
    STATIC_PARAMS(one);
    STATIC_PARAMS(other);
    sluice_augment *r = make_recipe();
    begin(r, "random_choice", NULL, 0);
    add_mark(r, 0);
    begin(r, "random_order", NULL, 0);
    add_mark(r, 1);
    add_mark(r, 2);
    end(r);
    end(r);
    const sluice_augment copy = *r;
    for (uint64_t i = 0; i < 200; i++) {
        draw_marks(r, i, &one);
        draw_marks(&copy, i, &other);
        assert_int_equal(one.operation_count, other.operation_count);
        for (uint32_t k = 0; k < one.operation_count; k++) {
            assert_ptr_equal(one.operations[k].kind, other.operations[k].kind);
        }
    }
    add_resize(r, 9);
    sluice_augment_destroy(r);
    assert_int_equal(copy.width, 8);
    draw_marks(&copy, 0, &other);
}
