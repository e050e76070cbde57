/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes.h"

#include "recipe.h"
#include "test.h"
#include "whole_params.h"

sluice_augment *recipe_make(void)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    return recipe;
}

int recipe_setup(void **state)
{
    *state = recipe_make();
    return 0;
}

int recipe_teardown(void **state)
{
    sluice_augment_destroy(*state);
    return 0;
}

sl_params recipe_draw(const sluice_augment *recipe, uint64_t sample, uint32_t width,
                      uint32_t height)
{
    enum { KEPT = 8 };
    static struct {
        sl_geometry geometries[SL_GEOMETRIES_MAX];
        sl_operation operations[SL_OPERATIONS_MAX];
    } memories[KEPT];
    static uint32_t calls;
    const uint32_t at = calls++ % KEPT;
    sl_params params = {.operations_most = SL_OPERATIONS_MAX,
                        .geometries = memories[at].geometries,
                        .operations = memories[at].operations};
    assert_int_equal(sl_draw(recipe, &(sl_draw_key){.seed = 11, .epoch = 3, .sample = sample},
                             width, height, &params, NULL),
                     SLUICE_OK);
    return params;
}

sluice_augment *recipe_of_step(const char *name, const double *arguments, uint32_t count)
{
    sluice_augment *recipe = recipe_make();
    assert_int_equal(
        sluice_augment_add(recipe, "center_crop", (const double[]){RECIPE_WIDTH, RECIPE_HEIGHT}, 2),
        SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, name, arguments, count), SLUICE_OK);
    return recipe;
}

const sl_params *recipe_draw_step(const sluice_augment *recipe, uint64_t sample)
{
    STATIC_PARAMS(params);
    const sl_draw_key key = {.seed = 77, .epoch = 1, .sample = sample, .exact = true};
    assert_int_equal(sl_draw(recipe, &key, 300, 200, &params, NULL), SLUICE_OK);
    return &params;
}
