/* SPDX-License-Identifier: Apache-2.0 */
/*
 * converter: what a recipe makes of the values of finished canvases (apply.h): normalised or not,
 * in the batch's dtype and layout. Threads: pure.
 */
#ifndef SL_CONVERTER_H
#define SL_CONVERTER_H

#include "apply.h"
#include "recipe.h"

/* INVALID: normalise with u8, or no dtype of pictures. Of a recipe that was checked: without a size
 * of its own the caller sets the converter's. */
sluice_status sl_converter_make_any(sl_converter *converter, const sluice_augment *recipe,
                                    sluice_dtype dtype, sluice_layout layout, sluice_error *error);
/* Checks the recipe first. */
sluice_status sl_converter_make(sl_converter *converter, const sluice_augment *recipe,
                                sluice_dtype dtype, sluice_layout layout, sluice_error *error);

#endif
