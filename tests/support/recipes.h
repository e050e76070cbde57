/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipes: recipes for tests, and what they draw.
 *
 * Fails the running test where a call fails. A recipe belongs to the caller. Threads: the test's.
 */
#ifndef SL_RECIPES_H
#define SL_RECIPES_H

#include "program.h"

#include <sluice/augment.h>

#include <stdint.h>

/* An empty one. */
sluice_augment *recipe_make(void);
/* Fixtures of cmocka: `*state` is an empty recipe. */
int recipe_setup(void **state);
int recipe_teardown(void **state);
/* What it draws for a sample whose picture has that size, not exact; until seven calls later. */
sl_params recipe_draw(const sluice_augment *recipe, uint64_t sample, uint32_t width,
                      uint32_t height);

/* One step, on the centre of a picture: RECIPE_WIDTH x RECIPE_HEIGHT. */
enum { RECIPE_WIDTH = 101, RECIPE_HEIGHT = 60 };
sluice_augment *recipe_of_step(const char *name, const double *arguments, uint32_t count);
/* What such a one draws for a sample, exact; until the next call. */
const sl_params *recipe_draw_step(const sluice_augment *recipe, uint64_t sample);

#endif
