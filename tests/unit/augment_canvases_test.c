/* SPDX-License-Identifier: Apache-2.0 */
/* Draws each listed step, exact and not. If a program is said to have no canvas, walking through it
 * must find none, and a limit of zero must not reject it. */
#include "largest_canvas.h"
#include "recipe.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 24, SAMPLES = 12 };

STATIC_PARAMS(params);

/* False if the step does not apply to a single image. */
static bool add_step(sluice_augment *recipe, uint32_t number, const sluice_augment_step *step)
{
    double arguments[SL_STEP_ARGUMENTS_MAX];
    for (uint32_t i = 0; i < step->arguments; i++) {
        sluice_augment_argument a = SLUICE_AUGMENT_ARGUMENT_INIT;
        assert_int_equal(sluice_augment_get_argument(number, i, &a), SLUICE_OK);
        const double given = a.is_whole && a.words == NULL ? SIDE : (a.least + a.most) / 2;
        arguments[i] = isnan(a.preset) ? fmin(fmax(given, a.least), a.most) : a.preset;
    }
    return sluice_augment_add(recipe, step->name, arguments, step->arguments) == SLUICE_OK;
}

/* Returns how many of its programs have a canvas. */
static uint32_t draw_all(sluice_augment *recipe)
{
    static const uint32_t sizes[][2] = {{SIDE, SIDE}, {500, 40}, {30, 700}};
    uint32_t with = 0;
    for (uint32_t i = 0; i < 2 * SAMPLES; i++) {
        const uint32_t *size = sizes[i % 3];
        const sl_draw_key key = {.seed = 7,
                                 .sample = i / 2,
                                 .exact = i % 2 == 1,
                                 .width = SIDE, /* for bucket_crop */
                                 .height = SIDE};
        if (sl_draw(recipe, &key, size[0], size[1], &params, NULL) != SLUICE_OK) {
            continue; /* an image that the step cannot take */
        }
        const sl_canvas_size most = sl_largest_canvas(&params);
        assert_true(sl_may_have_canvas(&params) || (most.width == 0 && most.height == 0));
        with += most.width > 0;
    }
    return with;
}

TEST(what_has_a_canvas_may_have_one)
{
    const double crop[2] = {SIDE, SIDE};
    uint32_t drawn = 0;
    uint32_t with = 0;
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    for (uint32_t number = 0; sluice_augment_get_step(number, &step) == SLUICE_OK; number++) {
        sluice_augment *recipe = NULL;
        assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
        if (!step.is_group && add_step(recipe, number, &step) &&
            sluice_augment_add(recipe, "center_crop", crop, 2) == SLUICE_OK &&
            sl_recipe_members_most(recipe) == 1) {
            drawn++;
            with += draw_all(recipe) > 0;
        }
        sluice_augment_destroy(recipe);
    }
    assert_true(drawn > 25 && with > 5 && with < drawn);
}

TEST(a_crop_has_no_canvas)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(recipe, SIDE, SIDE, 4), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(recipe, 0.5), SLUICE_OK);
    assert_int_equal(draw_all(recipe), 0);
    assert_false(sl_may_have_canvas(&params));
    sluice_augment_destroy(recipe);
}
