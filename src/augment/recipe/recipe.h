/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe: what the user asked for, and what that means for one picture, and for those of a batch.
 *
 * Purpose: sluice_augment is a plain value, a list of steps (augment/recipe/steps.h) in the order
 * in which they are drawn; the steps of a group stand behind it. sl_draw turns (recipe, key,
 * picture size) into the program of that sample: a pure function. Invariant: a list that
 * sl_recipe_check accepts has a size that does not depend on the picture, or that of its batch
 * (sl_draw_key). Memory: none but the functions of native steps (native.h), which a copy holds, too
 * (sl_recipe_hold). Threads: pure.
 */
#ifndef SL_RECIPE_H
#define SL_RECIPE_H

#include "steps.h"

enum { SL_STEPS_MAX = 48, SL_STEP_DEPTH = 6 };

typedef struct sl_recipe_step {
    const sl_step_kind *kind;
    uint32_t stream; /* of random numbers */
    uint32_t shared; /* in a group that shares: 1 + its key, else 0 */
    uint32_t inside; /* of a group: so many steps that follow are in it */
    uint32_t given;  /* of a group: its first arguments that were; the others have their presets */
    sl_native *native; /* of a step that calls one: a hold on it; NULL: all others */
    double arguments[SL_STEP_ARGUMENTS_MAX];
} sl_recipe_step;

struct sluice_augment {
    sluice_error error;     /* of the first call that was refused; status 0: none */
    uint32_t width, height; /* of the output; 0: it depends on the picture; both SL_SIZE_OF_BATCH */
    uint8_t mean[3];        /* the colour that normalising makes 0; black without it */
    float deviation[3];     /* of 8-bit values, that normalising makes 1; 0 without it */
    uint64_t canvas_pixels; /* most of a canvas, unless it has a size of the recipe's; 0: any */
    uint32_t count;
    uint32_t depth;                 /* of the groups that are open */
    uint32_t groups[SL_STEP_DEPTH]; /* their places */
    sl_recipe_step steps[SL_STEPS_MAX];
};

/*
 * Adds a step to the group that is open; what converts or mixes, of which there is one each, at the
 * end. `count` arguments are given, the rest have their presets. INVALID: out of range, or the size
 * would depend on the draw; STATE: too many steps or operations. The recipe is of no use then: its
 * error, if it is the first, is "`call`: why".
 */
sluice_status sl_recipe_add(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                            const double *arguments, uint32_t count);
/* Opens a group: what is added next is in it, until it is closed. */
sluice_status sl_recipe_begin(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                              const double *arguments, uint32_t count);
sluice_status sl_recipe_end(sluice_augment *recipe);
/* Adds a step that calls `native`, whose hold it takes over, also where it fails. */
sluice_status sl_recipe_add_native(sluice_augment *recipe, const char *call, sl_native *native);
/* A recipe that was copied by value holds what its steps call, until it is released. */
void sl_recipe_hold(const sluice_augment *recipe);
void sl_recipe_release(const sluice_augment *recipe);
/* How many operations a sample's program has at most; of a recipe that was not refused at most
 * SL_OPERATIONS_MAX. */
uint32_t sl_recipe_operations(const sluice_augment *recipe);
/* How many steps are directly in the group at that place. */
uint32_t sl_recipe_children(const sluice_augment *recipe, uint32_t group);
/* Has the first refusal stay. Returns `status`. `recipe` may be NULL. */
sluice_status sl_recipe_refuse(sluice_augment *recipe, sluice_status status, const char *call,
                               const char *text);
/* Whether pictures can be made by it: the first refusal, an open group, an unknown size. */
sluice_status sl_recipe_check(const sluice_augment *recipe, sluice_error *error);
/* The same, but for the size, which may differ from picture to picture. */
sluice_status sl_recipe_check_steps(const sluice_augment *recipe, sluice_error *error);

enum { SL_GROUPS_MAX = 64 };

/* All that a draw depends on, besides the recipe and the picture's size. */
typedef struct sl_draw_key {
    uint64_t seed, epoch, sample;
    uint32_t group; /* of geometry: what shares it shares the draw; below SL_GROUPS_MAX */
    bool exact;     /* what is drawn is the same, but each step is a pass of its own */
    /* 0, or how often it was drawn before without being of use */
    uint32_t attempt;
    uint32_t member; /* of the layer: 0, or the tile whose picture this is */
    uint32_t layer;  /* 0: the row's own; else that blended into it, with numbers of its own */
    /* The program is not for the picture, but for labels of its pixels (geometry.h): what they are
     * where there is no picture. NULL: for the picture. */
    const uint8_t *label_fill;
    /* Boxes of the picture, x1, y1, x2, y2 in its pixels, for steps that look at them; NULL: none.
     * What shares a draw gives the same. */
    const float (*boxes)[4];
    uint32_t box_count;
    uint32_t width, height; /* of the batch, where the recipe wants it; else 0 */
    bool any_size;          /* a recipe whose size depends on the picture will do */
} sl_draw_key;

/* Of how many samples a row is made in that epoch, its own one included; and at most, in any. */
uint32_t sl_recipe_members(const sluice_augment *recipe, uint64_t epoch);
uint32_t sl_recipe_members_most(const sluice_augment *recipe);
/* Of these, those of a layer: the tiles of a mosaic; and whether there is ever a second one. */
uint32_t sl_recipe_tiles(const sluice_augment *recipe, uint64_t epoch);
bool sl_recipe_is_layered(const sluice_augment *recipe);
bool sl_recipe_pastes(const sluice_augment *recipe);
/* The name of a step that bends (steps.h); NULL: none does. */
const char *sl_recipe_bends(const sluice_augment *recipe);
/* Pixels of a layer where it meets the other; 0: there are none. */
uint64_t sl_recipe_layer(const sluice_augment *recipe);
/* Pixels of the largest canvas of known size behind one of its steps, or steps of a group. */
uint64_t sl_recipe_canvas(const sluice_augment *recipe);

/* The numbers of a stream of steps. */
sl_random sl_recipe_random(const sl_draw_key *key, uint32_t stream);
/* Limits canvases (sl_draw): those of a picture that may have `max_pixels`. */
void sl_recipe_limit(sluice_augment *recipe, uint64_t max_pixels);
/* Of a recipe that was checked, into `params` with memory for its sl_recipe_operations
 * (sl_params_place). Errors: UNSUPPORTED when the picture cannot be used (smaller than a
 * random_crop's window, or needing a larger canvas than sl_recipe_limit allows). */
sluice_status sl_draw(const sluice_augment *recipe, const sl_draw_key *key, uint32_t picture_width,
                      uint32_t picture_height, sl_params *params, sluice_error *error);

/* The same of programs[0], and draws the program for labels of its pixels (labels.h), whose fill is
 * 0, to programs[1], unless that is NULL. Steps are drawn once. Without key->label_fill. */
sluice_status sl_draw_both(const sluice_augment *recipe, const sl_draw_key *key,
                           uint32_t picture_width, uint32_t picture_height,
                           sl_params *const programs[2], sluice_error *error);

/* Whether a step of it wants a batch's size (sl_draw_key), also where a later one gives another. */
bool sl_recipe_wants_batch(const sluice_augment *recipe);
/* How the rows of a batch are mixed; false: they are not. Of a recipe that was checked. */
bool sl_recipe_mixing(const sluice_augment *recipe, sl_mixing *mixing);

#endif
