/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_native: the step that calls a function of the user's. The table of steps does not list it:
 * only sluice_augment_native adds it. Its draw takes 64 random bits for the function, which
 * augment/canvas calls. Drawing is pure.
 */
#include "operations.h"
#include "recipe.h"
#include "step_row.h"

static sluice_status draw_native(const double *arguments, sl_drawing *drawing)
{
    (void)arguments;
    sl_operation *operation = sl_draw_operation(drawing, &sl_operation_native);
    if (operation == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    const uint64_t high = sl_random_u32(&drawing->random);
    operation->key = high << 32 | sl_random_u32(&drawing->random);
    operation->native = drawing->native;
    return SLUICE_OK;
}

SL_STEP(native) = {.name = "native",
                   .text = "calls a function of the program",
                   .stage = SL_STAGE_FILTER,
                   .stream = SL_STREAMS - 1, /* apart from those of the table */
                   .draw = draw_native};

sluice_status sl_recipe_add_native(sluice_augment *recipe, const char *call, sl_native *native)
{
    const uint32_t before = recipe->count;
    const sluice_status status = sl_recipe_add(recipe, call, &sl_step_native, NULL, 0);
    if (recipe->count == before) {
        sl_native_release(native);
        return status;
    }
    for (uint32_t i = 0; i < recipe->count; i++) {
        sl_recipe_step *step = &recipe->steps[i];
        if (step->kind == &sl_step_native && step->native == NULL) { /* the new one */
            step->native = native;
        }
    }
    return status;
}

void sl_recipe_hold(const sluice_augment *recipe)
{
    for (uint32_t i = 0; i < recipe->count; i++) {
        if (recipe->steps[i].native != NULL) {
            sl_native_hold(recipe->steps[i].native);
        }
    }
}

void sl_recipe_release(const sluice_augment *recipe)
{
    for (uint32_t i = 0; i < recipe->count; i++) {
        sl_native_release(recipe->steps[i].native);
    }
}
