/* SPDX-License-Identifier: Apache-2.0 */
/*
 * largest_size: bounds of the sizes that a recipe makes of images.
 *
 * Purpose: a batch of images of several sizes needs to know how large they can become before any of
 * them is drawn. Each image is bounded by one entry of a list of bounds (bound.h). The list goes
 * through the steps of a recipe in order: a step that keeps the size keeps the list, others change
 * it by their `largest` (steps.h), and optional steps keep the earlier bounds as well. Threads: a
 * list belongs to one thread. Memory: 48 bytes for each different bound, which the list owns.
 */
#ifndef SL_LARGEST_SIZE_H
#define SL_LARGEST_SIZE_H

#include "recipe.h"

typedef struct sl_bounds {
    sl_bound *of;
    uint64_t count, capacity;
    bool is_any; /* true if nothing bounds the images; count is 0 then */
} sl_bounds;

/* Adds a bound. NOMEM. A zeroed list has none. */
sluice_status sl_bounds_add(sl_bounds *bounds, sl_bound bound, sluice_error *error);
/* A zeroed list may be closed, which leaves it zeroed. */
void sl_bounds_close(sl_bounds *bounds);

/*
 * Turns bounds of images into those of the recipe's results. `*open` is the step whose result has
 * no bound for any images; NULL: there is none. With one the list is any. The recipe may be one
 * that sl_recipe_check_steps accepts. NOMEM.
 */
sluice_status sl_recipe_largest(const sluice_augment *recipe, sl_bounds *bounds,
                                const sl_step_kind **open, sluice_error *error);

#endif
