/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe: what the user asked for, and what that means for one picture.
 *
 * Purpose: sluice_augment is a plain value, a list of steps (augment/steps.h) in the order in which
 * they are done. sl_draw turns (recipe, key, picture size) into the parameters of that sample: a
 * pure function.
 * Threads: pure.
 */
#ifndef SL_RECIPE_H
#define SL_RECIPE_H

#include "steps.h"

typedef struct sl_recipe_step {
    const sl_step_kind *kind;
    double arguments[SL_STEP_ARGUMENTS_MAX];
} sl_recipe_step;

struct sluice_augment {
    sluice_error error;     /* of the first call that was refused; status 0: none */
    uint32_t width, height; /* of the output; 0: there is no geometry step yet */
    uint32_t count;
    sl_recipe_step steps[SL_STEPS_MAX];
};

/*
 * Adds a step, or gives one that is there other arguments. `count` arguments are given, the rest
 * have their presets. INVALID: out of range, STATE: a second geometry step; then nothing is
 * changed but the error, if it is the first: "`call`: why".
 */
sluice_status sl_recipe_add(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                            const double *arguments, uint32_t count);
/* Has the first refusal stay. Returns `status`. `recipe` may be NULL. */
sluice_status sl_recipe_refuse(sluice_augment *recipe, sluice_status status, const char *call,
                               const char *text);

enum { SL_GROUPS_MAX = 64 };

/* All that a draw depends on, besides the recipe and the picture's size. */
typedef struct sl_draw_key {
    uint64_t seed, epoch, sample;
    uint32_t group; /* of geometry: what shares it shares the draw; below SL_GROUPS_MAX */
} sl_draw_key;

/* Errors: UNSUPPORTED when the picture cannot be used (smaller than a random_crop's window). */
sluice_status sl_draw(const sluice_augment *recipe, const sl_draw_key *key, uint32_t picture_width,
                      uint32_t picture_height, sl_params *params, sluice_error *error);

#endif
