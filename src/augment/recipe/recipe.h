/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe: the user's steps, and how they apply to one image and to a batch.
 *
 * Purpose: sluice_augment is a plain value, a list of steps (augment/recipe/steps.h) in the order
 * in which they are drawn; the steps of a group follow it. sl_draw turns (recipe, key, image size)
 * into the program of that sample: a pure function. Invariant: a list that sl_recipe_check accepts
 * has a size that does not depend on the image, or that of its batch (sl_draw_key). Memory: only
 * the functions of native steps (native.h), which a copy holds, too (sl_recipe_hold).
 * Threads: pure.
 */
#ifndef SL_RECIPE_H
#define SL_RECIPE_H

#include "steps.h"

enum { SL_STEPS_MAX = 48, SL_STEP_DEPTH = 6 };

typedef struct sl_recipe_step {
    const sl_step_kind *kind;
    uint32_t stream; /* of random numbers */
    uint32_t shared; /* in a shared group: 1 + its key, else 0 */
    uint32_t inside; /* of a group: number of following steps that are in it */
    /* of a group: number of given first arguments; the others have their defaults */
    uint32_t given;
    sl_native *native; /* of a native step: a hold on it; NULL: all others */
    double arguments[SL_STEP_ARGUMENTS_MAX];
} sl_recipe_step;

struct sluice_augment {
    sluice_error error;     /* of the first call that failed; status 0: none */
    uint32_t width, height; /* of the output; 0: depends on the image; both SL_SIZE_OF_BATCH */
    uint8_t mean[3];        /* colour that normalising maps to 0; black without it */
    float deviation[3];     /* of 8-bit values, that normalising maps to 1; 0 without it */
    uint64_t canvas_pixels; /* limit on a canvas, unless it has a size of the recipe's; 0: none */
    uint32_t count;
    uint32_t depth;                 /* number of open groups */
    uint32_t groups[SL_STEP_DEPTH]; /* their places */
    sl_recipe_step steps[SL_STEPS_MAX];
};

/*
 * Adds a step to the open group, or, for the one converting and the one mixing step, at the end.
 * `count` arguments are given, the rest have their defaults. INVALID: out of range, or the size
 * would depend on the draw; STATE: too many steps or operations. A failure makes the recipe
 * unusable; its first error is "`call`: why".
 */
sluice_status sl_recipe_add(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                            const double *arguments, uint32_t count);
/* Opens a group: steps are added to it until sl_recipe_end. */
sluice_status sl_recipe_begin(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                              const double *arguments, uint32_t count);
sluice_status sl_recipe_end(sluice_augment *recipe);
/* Adds a step that calls `native`, whose hold it takes over, also on failure. */
sluice_status sl_recipe_add_native(sluice_augment *recipe, const char *call, sl_native *native);
/* Holds the functions of a recipe that was copied by value, until it is released. */
void sl_recipe_hold(const sluice_augment *recipe);
void sl_recipe_release(const sluice_augment *recipe);
/* Returns the most operations of a sample's program; at most SL_OPERATIONS_MAX for a valid
 * recipe. */
uint32_t sl_recipe_operations(const sluice_augment *recipe);
/* Returns the number of steps directly in the group at that place. */
uint32_t sl_recipe_children(const sluice_augment *recipe, uint32_t group);
/* Keeps the first error. Returns `status`. `recipe` may be NULL. */
sluice_status sl_recipe_refuse(sluice_augment *recipe, sluice_status status, const char *call,
                               const char *text);
/* Checks that it can make images: the first error, an open group, an unknown size. */
sluice_status sl_recipe_check(const sluice_augment *recipe, sluice_error *error);
/* Checks the same except the size, which may vary between images. */
sluice_status sl_recipe_check_steps(const sluice_augment *recipe, sluice_error *error);

enum { SL_GROUPS_MAX = 64 };

/* Everything that a draw depends on, except the recipe and the image's size. */
typedef struct sl_draw_key {
    uint64_t seed, epoch, sample;
    /* number of the geometry group, whose columns share the draw; below SL_GROUPS_MAX */
    uint32_t group;
    bool exact; /* same draws, but each step is a pass of its own */
    /* 0, or the number of earlier draws that were rejected */
    uint32_t attempt;
    uint32_t member; /* in the layer: 0, or the tile of this image */
    uint32_t layer;  /* 0: the row's own; else blended into it, with random numbers of its own */
    /* Set: the program is for labels of the image's pixels (geometry.h), with this value outside
     * the image. NULL: for the image. */
    const uint8_t *label_fill;
    /* Boxes of the image, x1, y1, x2, y2 in its pixels, for steps that use them; NULL: none.
     * Columns that share a draw pass the same. */
    const float (*boxes)[4];
    uint32_t box_count;
    uint32_t width, height; /* of the batch, if the recipe needs it; else 0 */
    bool any_size;          /* accepts a recipe whose size depends on the image */
} sl_draw_key;

/* Returns the number of samples of a row in that epoch, including its own; and the maximum of all
 * epochs. */
uint32_t sl_recipe_members(const sluice_augment *recipe, uint64_t epoch);
uint32_t sl_recipe_members_most(const sluice_augment *recipe);
/* Returns the number of those in a layer: the tiles of a mosaic; and whether there is ever a second
 * one. */
uint32_t sl_recipe_tiles(const sluice_augment *recipe, uint64_t epoch);
bool sl_recipe_is_layered(const sluice_augment *recipe);
bool sl_recipe_pastes(const sluice_augment *recipe);
/* Returns the name of an elastic step (steps.h); NULL: there is none. */
const char *sl_recipe_bends(const sluice_augment *recipe);
/* Returns the pixels of a layer where it meets the other; 0: there are none. */
uint64_t sl_recipe_layer(const sluice_augment *recipe);
/* Returns the pixels of the largest canvas of known size after one of its steps, or steps of a
 * group. */
uint64_t sl_recipe_canvas(const sluice_augment *recipe);

/* Returns the random numbers of a stream of steps. */
sl_random sl_recipe_random(const sl_draw_key *key, uint32_t stream);
/* Limits canvases (sl_draw) to those of an image that may have `max_pixels`. */
void sl_recipe_limit(sluice_augment *recipe, uint64_t max_pixels);
/* Draws a recipe that was checked, into `params` with memory for its sl_recipe_operations
 * (sl_params_place). Errors: UNSUPPORTED if the image cannot be used (smaller than a random_crop's
 * window, or needing a larger canvas than sl_recipe_limit allows). */
sluice_status sl_draw(const sluice_augment *recipe, const sl_draw_key *key, uint32_t picture_width,
                      uint32_t picture_height, sl_params *params, sluice_error *error);

/* Draws programs[0] likewise, and the program for labels of its pixels (labels.h), whose fill is 0,
 * to programs[1], unless that is NULL. Steps are drawn once. Without key->label_fill. */
sluice_status sl_draw_both(const sluice_augment *recipe, const sl_draw_key *key,
                           uint32_t picture_width, uint32_t picture_height,
                           sl_params *const programs[2], sluice_error *error);

/* Returns whether one of its steps needs a batch's size (sl_draw_key), also if a later one gives
 * another. */
bool sl_recipe_wants_batch(const sluice_augment *recipe);
/* Returns how the rows of a batch are mixed; false: they are not. The recipe must have been
 * checked. */
bool sl_recipe_mixing(const sluice_augment *recipe, sl_mixing *mixing);

#endif
