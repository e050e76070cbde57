/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: the table of what a recipe can be made of. A step is one row of it, which stands beside
 * what it draws (step_row.h), and nothing else knows steps one by one: the C interface, Python and
 * the tool read the table (sluice/augment.h).
 *
 * Purpose: names, arguments with their ranges, and what each does. A step is one of
 *   - drawn, once for a sample: it changes the geometry (geometry.h) or adds operations on the
 *     8-bit pixels of the canvas (operations.h),
 *   - a group: which of the steps in it are drawn, and in which order,
 *   - convert, once for a loader: it changes what values come to (normalise),
 *   - mix, over a batch: rows are mixed with each other when all are made (batch_mixing.h).
 * Steps are drawn in the order in which they were added; what converts or mixes comes last.
 * Random numbers: each row that draws has a stream of its own, and the second, third, ... step of a
 * stream in a recipe one of theirs, so that no step changes what another draws. A new row takes a
 * new number; changing one changes every run. The last number belongs to a step without a row,
 * which calls a function of the user's (steps_native.c).
 * Threads: pure.
 */
#ifndef SL_STEPS_H
#define SL_STEPS_H

#include "batch_mixing.h"
#include "bound.h"
#include "geometry.h"

#include <sluice/augment.h>

enum {
    SL_STEP_ARGUMENTS_MAX = 16, /* and numbers of them all, those of a list counted one by one */
    SL_STREAMS = 64,            /* of rows */
    SL_STREAM_STEPS = 15,       /* in a recipe, of one stream */
};

/* Instead of a width and a height: those of the pictures of the batch. */
#define SL_SIZE_OF_BATCH UINT32_MAX

typedef enum sl_step_stage {
    SL_STAGE_GEOMETRY, /* which part of the picture, in which size */
    SL_STAGE_FLIP,
    SL_STAGE_COLOR,  /* pixels by themselves */
    SL_STAGE_FILTER, /* pixels by their neighbours, and what is put in their place */
    SL_STAGE_POLICY, /* several of these, as a published rule has them */
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
    sl_number type; /* WHOLE: of pixels; FLOAT: rounded to binary32; WORD: the number of one */
    bool above;     /* `least` itself is out of range */
    double least, most;
    double preset;            /* where it is left out; NaN: it must be given, as all before it */
    const char *const *words; /* of a WORD, `most` + 1 of them */
    /* Of a list, which is a step's last argument: the most numbers of it. 0: it is one number. */
    uint32_t list_most;
    /* The list where it is left out, of `preset_count` numbers. NULL: `preset` is each number that
     * is left out; it must be given if that is NaN. */
    const double *presets;
    uint32_t preset_count;
} sl_argument;

/* Which of the steps in a group are drawn. */
typedef enum sl_group {
    SL_GROUP_NO,       /* none is: it is no group */
    SL_GROUP_SEQUENCE, /* all */
    SL_GROUP_APPLY,    /* all, with a probability */
    SL_GROUP_CHOICE,   /* one, by weights */
    SL_GROUP_ORDER     /* all, in a random order */
} sl_group;

enum { SL_STEP_BOUNDS = 2 };

/* Of the numbers of the arguments in the table's order, which are in range. NaN ends a list that is
 * shorter than it may be. */
typedef sluice_status sl_step_draw(const double *arguments, sl_drawing *drawing);

typedef struct sl_step_kind {
    const char *name, *text; /* of the interface; what it does, in a sentence */
    sl_step_stage stage;
    sl_group group;
    bool shares;     /* a group whose steps draw alike in all recipes: by the first argument */
    uint32_t stream; /* of random numbers, below SL_STREAMS; 0: draws none */
    sl_argument arguments[SL_STEP_ARGUMENTS_MAX];
    /* A sentence about arguments that do not go together; NULL: they do. May be NULL. */
    const char *(*mismatch)(const double *arguments);
    /* The size behind the step, from the one before it; 0 x 0: it depends on the picture;
     * SL_SIZE_OF_BATCH, which is never the one before. NULL: as before. */
    void (*size)(const double *arguments, uint32_t *width, uint32_t *height);
    /* Bounds all that the step makes of images that `from` bounds (NULL: nothing does), in `to`.
     * Returns how many bounds that takes; 0, only without `from`: nothing bounds them. NULL: all
     * have the size that `size` says. */
    uint32_t (*largest)(const double *arguments, const sl_bound *from, sl_bound to[SL_STEP_BOUNDS]);
    sl_step_draw *draw; /* NULL: of no sample */
    /* Of how many samples a row is made, in an epoch; NULL: one. Such a step is a recipe's first:
     * it is drawn for the picture of each (sl_draw_tile). */
    uint32_t (*members)(const double *arguments, uint64_t epoch);
    /* Of how many layers the picture is, in an epoch: what is before the step is drawn for each of
     * them, and blended there (sl_draw_blend). One such step in a recipe, in no group; NULL: one.
     */
    uint32_t (*layers)(const double *arguments, uint64_t epoch);
    bool pastes; /* nor are they blended: objects of the second are put over the first
                    (sl_draw_paste) */
    bool looks;  /* at the boxes of the picture */
    bool bends;  /* the picture by a field that no matrix is: only labels of pixels follow */
    bool cuts;   /* by a draw that decides which boxes are left */
    /* How many operations it adds at most, changes of geometry counted in. NULL: one. */
    uint32_t (*operations)(const double *arguments);
    /* A floating result is fmaf(u8, *scale, *bias). NULL: changes nothing there. */
    void (*convert)(const double *arguments, size_t channel, float *scale, float *bias);
    /* How rows are mixed; one such step in a recipe. NULL: not by this one. */
    void (*mix)(const double *arguments, sl_mixing *mixing);
} sl_step_kind;

extern const sl_step_kind *const sl_step_kinds[];
extern const uint32_t sl_step_kind_count;

/* The arguments of "timm_augment" that a string of timm's means (policy_timm.h). INVALID: it means
 * nothing; the sentence quotes the part that is wrong. */
sluice_status sl_timm_arguments(const char *text, double arguments[SL_STEP_ARGUMENTS_MAX],
                                sluice_error *error);
/* NULL: there is none. */
const sl_step_kind *sl_step_find(const char *name);
uint32_t sl_step_argument_count(const sl_step_kind *kind);
/* Returns how many numbers its arguments are at most. */
uint32_t sl_step_number_count(const sl_step_kind *kind);
/* The argument that number `place` belongs to; NULL: there is none. */
const sl_argument *sl_step_argument_at(const sl_step_kind *kind, uint32_t place);
/* Returns number `place` where the first `given` ones are given, and it is not. NaN: there is none,
 * behind the end of a list or because the argument must be given. 0 behind the last argument. */
double sl_step_preset(const sl_step_kind *kind, uint32_t place, uint32_t given);
/* True if all pictures have one size behind the step, whatever their sizes before it: that of its
 * arguments, or the batch's. */
bool sl_step_gives_size(const sl_step_kind *kind);
/* "geometry", "flip", "color", "filter", "policy", "group", "normalize", "batch" */
const char *sl_step_stage_name(sl_step_stage stage);

#endif
