/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: the table of steps of recipes. A step is one row of it, stored beside its draw
 * (step_row.h), and no other code knows single steps: the C interface, Python and the tool read the
 * table (sluice/augment.h).
 *
 * Purpose: names, arguments with their ranges, and functions. A step is one of:
 *
 * - drawn, once for a sample: it changes the geometry (geometry.h) or adds operations on the 8-bit
 * pixels of the canvas (operations.h);
 *
 * - a group: which of its steps are drawn, and in which order;
 *
 * - convert, once for a loader: it changes the converted values (normalise);
 *
 * - mix, over a batch: rows are mixed with each other when all are made (batch_mixing.h).
 *
 * Steps are drawn in the order in which they were added; converting and mixing ones come last.
 * Random numbers: each row that draws has a stream of its own, and the second, third, ... step of a
 * stream in a recipe one of theirs, so that no step changes another's draws. A new row takes a new
 * number; changing one changes every run. The last number belongs to a step without a row, which
 * calls a function of the user's (steps_native.c).
 *
 * Threads: pure.
 */
#ifndef SL_STEPS_H
#define SL_STEPS_H

#include "batch_mixing.h"
#include "bound.h"
#include "geometry.h"

#include <sluice/augment.h>

enum {
    SL_STEP_ARGUMENTS_MAX = 16, /* and all their numbers, those of a list counted singly */
    SL_STREAMS = 64,            /* of rows */
    SL_STREAM_STEPS = 15,       /* in a recipe, of one stream */
};

/* Instead of a width and a height: those of the batch's images. */
#define SL_SIZE_OF_BATCH UINT32_MAX

typedef enum sl_step_stage {
    SL_STAGE_GEOMETRY, /* part and size of the image */
    SL_STAGE_FLIP,
    SL_STAGE_COLOR,  /* each pixel separately */
    SL_STAGE_FILTER, /* pixels by their neighbours, and replaced pixels */
    SL_STAGE_POLICY, /* several of these, by a published rule */
    SL_STAGE_GROUP,
    SL_STAGE_NORMALIZE,
    SL_STAGE_BATCH, /* rows of a batch with each other */
    SL_STAGES
} sl_step_stage;

typedef enum sl_number {
    SL_NUMBER_REAL,
    SL_NUMBER_WHOLE,
    SL_NUMBER_FLOAT,
    SL_NUMBER_WORD
} sl_number;

typedef struct sl_argument {
    const char *name;
    sl_number type; /* WHOLE: whole; FLOAT: rounded to binary32; WORD: the number of one */
    bool above;     /* `least` itself is out of range */
    double least, most;
    double preset;            /* if it is left out; NaN: it must be given, with all before it */
    const char *const *words; /* of a WORD, `most` + 1 of them */
    /* Of a list, which is a step's last argument: the most numbers. 0: it is one number. */
    uint32_t list_most;
    /* Default of the list, of `preset_count` numbers. NULL: `preset` replaces each number that is
     * left out; it must be given if that is NaN. */
    const double *presets;
    uint32_t preset_count;
} sl_argument;

/* Which of the steps in a group are drawn. */
typedef enum sl_group {
    SL_GROUP_NO,       /* not a group */
    SL_GROUP_SEQUENCE, /* all */
    SL_GROUP_APPLY,    /* all, with a probability */
    SL_GROUP_CHOICE,   /* one, by weights */
    SL_GROUP_ORDER     /* all, in a random order */
} sl_group;

enum { SL_STEP_BOUNDS = 2 };

/* Draws with the arguments' numbers in the table's order, which are in range. NaN ends a list that
 * is shorter than its maximum. */
typedef sluice_status sl_step_draw(const double *arguments, sl_drawing *drawing);

typedef struct sl_step_kind {
    const char *name, *text; /* of the interface; its effect, in a sentence */
    sl_step_stage stage;
    sl_group group;
    /* a group whose steps draw the same in all recipes, keyed by the first argument */
    bool shares;
    uint32_t stream; /* of random numbers, below SL_STREAMS; 0: draws none */
    sl_argument arguments[SL_STEP_ARGUMENTS_MAX];
    /* Returns the error of arguments that contradict each other; NULL: none. May be NULL. */
    const char *(*mismatch)(const double *arguments);
    /* Returns the size after the step, from the one before it; 0 x 0: depends on the image;
     * SL_SIZE_OF_BATCH, which is never the one before. NULL: unchanged. */
    void (*size)(const double *arguments, uint32_t *width, uint32_t *height);
    /* Bounds the step's results for images that `from` bounds (NULL: nothing does), in `to`.
     * Returns the number of bounds; 0, only without `from`: nothing bounds them. NULL: all have the
     * size from `size`. */
    uint32_t (*largest)(const double *arguments, const sl_bound *from, sl_bound to[SL_STEP_BOUNDS]);
    sl_step_draw *draw; /* NULL: not drawn per sample */
    /* Returns the number of samples of a row, in an epoch; NULL: one. Such a step is a recipe's
     * first: it is drawn for the image of each (sl_draw_tile). */
    uint32_t (*members)(const double *arguments, uint64_t epoch);
    /* Returns the number of layers of the image, in an epoch: earlier steps are drawn for each of
     * them, and blended at this one (sl_draw_blend). At most one such step in a recipe, in no
     * group; NULL: one. */
    uint32_t (*layers)(const double *arguments, uint64_t epoch);
    /* layers are not blended: objects of the second are put over the first (sl_draw_paste) */
    bool pastes;
    bool looks; /* it uses the image's boxes */
    /* it moves pixels by a field that is not a matrix: only labels of pixels can follow */
    bool bends;
    bool cuts; /* its draw decides which boxes are left */
    /* Returns the most operations it adds, including changes of geometry. NULL: one. */
    uint32_t (*operations)(const double *arguments);
    /* Changes the factors: a floating result is fmaf(u8, *scale, *bias). NULL: no change. */
    void (*convert)(const double *arguments, size_t channel, float *scale, float *bias);
    /* Sets how rows are mixed; at most one such step in a recipe. NULL: it does not mix. */
    void (*mix)(const double *arguments, sl_mixing *mixing);
} sl_step_kind;

extern const sl_step_kind *const sl_step_kinds[];
extern const uint32_t sl_step_kind_count;

/* Converts a timm string to the arguments of "timm_augment" (policy_timm.h). INVALID: the error
 * quotes the wrong part. */
sluice_status sl_timm_arguments(const char *text, double arguments[SL_STEP_ARGUMENTS_MAX],
                                sluice_error *error);
/* Returns the step; NULL: there is none. */
const sl_step_kind *sl_step_find(const char *name);
uint32_t sl_step_argument_count(const sl_step_kind *kind);
/* Returns the most numbers of its arguments. */
uint32_t sl_step_number_count(const sl_step_kind *kind);
/* Returns the argument that number `place` belongs to; NULL: there is none. */
const sl_argument *sl_step_argument_at(const sl_step_kind *kind, uint32_t place);
/* Returns the default of number `place` if only the first `given` ones are given. NaN: there is
 * none, after the end of a list or because the argument must be given. 0 after the last
 * argument. */
double sl_step_preset(const sl_step_kind *kind, uint32_t place, uint32_t given);
/* Returns true if all images have one size after the step, regardless of their sizes before it:
 * that of its arguments, or the batch's. */
bool sl_step_gives_size(const sl_step_kind *kind);
/* "geometry", "flip", "color", "filter", "policy", "group", "normalize", "batch" */
const char *sl_step_stage_name(sl_step_stage stage);

#endif
