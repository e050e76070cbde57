/* SPDX-License-Identifier: Apache-2.0 */
#include "converter.h"

#include "error.h"

sluice_status sl_converter_make(sl_converter *converter, const sluice_augment *recipe,
                                sluice_dtype dtype, sluice_layout layout, sluice_error *error)
{
    const sluice_status status = sl_recipe_check(recipe, error);
    return status == SLUICE_OK ? sl_converter_make_any(converter, recipe, dtype, layout, error)
                               : status;
}

sluice_status sl_converter_make_any(sl_converter *converter, const sluice_augment *recipe,
                                    sluice_dtype dtype, sluice_layout layout, sluice_error *error)
{
    float scales[3] = {1.0F / 255.0F, 1.0F / 255.0F, 1.0F / 255.0F};
    float biases[3] = {0.0F, 0.0F, 0.0F};
    if (dtype < SLUICE_U8 || dtype > SLUICE_BF16) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "images cannot have dtype %d",
                            (int)dtype);
    }
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        if (step->kind->convert != NULL && dtype == SLUICE_U8) {
            return sl_error_set(error, SLUICE_INVALID, "augment",
                                "%s needs a floating dtype, not u8", step->kind->name);
        }
        for (size_t c = 0; step->kind->convert != NULL && c < 3; c++) {
            step->kind->convert(step->arguments, c, &scales[c], &biases[c]);
        }
    }
    *converter = (sl_converter){
        .dtype = dtype, .layout = layout, .width = recipe->width, .height = recipe->height};
    sl_converter_fill(converter, scales, biases);
    return SLUICE_OK;
}
