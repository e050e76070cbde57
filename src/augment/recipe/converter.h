/* SPDX-License-Identifier: Apache-2.0 */
/*
 * converter: makes a recipe's conversion of finished canvases (apply.h): normalised or not, in the
 * batch's dtype and layout. Threads: pure.
 */
#ifndef SL_CONVERTER_H
#define SL_CONVERTER_H

#include "apply.h"
#include "recipe.h"

/* Makes a converter of a recipe that was checked. INVALID: normalise with u8, or a dtype that
 * images cannot have. Without a size of its own the caller sets the converter's. */
sluice_status sl_converter_make_any(sl_converter *converter, const sluice_augment *recipe,
                                    sluice_dtype dtype, sluice_layout layout, sluice_error *error);
/* Checks the recipe first. */
sluice_status sl_converter_make(sl_converter *converter, const sluice_augment *recipe,
                                sluice_dtype dtype, sluice_layout layout, sluice_error *error);

#endif
