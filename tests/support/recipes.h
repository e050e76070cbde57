/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipes: recipes for tests, and their draws.
 *
 * Fails the running test if a call fails. A recipe belongs to the caller. Threads: the test's.
 */
#ifndef SL_RECIPES_H
#define SL_RECIPES_H

#include "program.h"

#include <sluice/augment.h>

#include <stdint.h>

/* Makes an empty recipe. */
sluice_augment *recipe_make(void);
/* Fixtures of cmocka: `*state` is an empty recipe. */
int recipe_setup(void **state);
int recipe_teardown(void **state);
/* Returns the draws for a sample whose image has that size, not exact; valid for the next seven
 * calls. */
sl_params recipe_draw(const sluice_augment *recipe, uint64_t sample, uint32_t width,
                      uint32_t height);

/* A single step on the centre of a RECIPE_WIDTH x RECIPE_HEIGHT image. */
enum { RECIPE_WIDTH = 101, RECIPE_HEIGHT = 60 };
sluice_augment *recipe_of_step(const char *name, const double *arguments, uint32_t count);
/* Returns the draws of such a step for a sample, exact; valid until the next call. */
const sl_params *recipe_draw_step(const sluice_augment *recipe, uint64_t sample);

#endif
