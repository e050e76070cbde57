/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: the table of what a recipe can be made of. A step is one row of it, and nothing else knows
 * steps one by one: the C interface, Python and the tool read the table (sluice/augment.h).
 *
 * Purpose: names, arguments with their ranges, the order, and what each does. A step does one of
 *   - draw, once for a sample: it changes the mapping (crops, flips), or adds operations on the
 *     8-bit pixels of the output to the sample's list, or
 *   - convert, once for a loader: it changes what values come to (normalise).
 * Steps are done in the order of their stages, within a stage in the order in which they were
 * added; each once. A recipe has one step of stage GEOMETRY, which fills a mapping that is all of
 * the picture. The steps of another stage are in a recipe or not.
 * Random numbers: each row that draws has a stream of its own, so that no step changes what another
 * draws. A new row takes a new number; changing one changes every run.
 * Threads: pure.
 */
#ifndef SL_STEPS_H
#define SL_STEPS_H

#include "mapping.h"
#include "philox.h"

#include <sluice/augment.h>

enum { SL_STEP_ARGUMENTS_MAX = 8, SL_STEPS_MAX = 16, SL_OPERATIONS_MAX = 8 };

typedef enum sl_step_stage {
    SL_STAGE_GEOMETRY, /* which part of the picture, in which size */
    SL_STAGE_FLIP,
    SL_STAGE_COLOR, /* on the 8-bit pixels of the output */
    SL_STAGE_NORMALIZE,
    SL_STAGES
} sl_step_stage;

/* An operation in place on width x height RGB pixels without padding. */
typedef void sl_pixel_operation(uint8_t *pixels, uint32_t width, uint32_t height, float amount);

/* What was drawn for one sample. */
typedef struct sl_params {
    sl_mapping mapping;
    sl_rect need; /* what to decode: sl_mapping_need */
    uint32_t operation_count;
    struct {
        sl_pixel_operation *apply;
        float amount;
    } operations[SL_OPERATIONS_MAX];
} sl_params;

typedef enum sl_number { SL_NUMBER_REAL, SL_NUMBER_WHOLE, SL_NUMBER_FLOAT } sl_number;

typedef struct sl_argument {
    const char *name;
    sl_number type; /* WHOLE: of pixels; FLOAT: rounded to binary32 */
    bool above;     /* `least` itself is out of range */
    double least, most;
    double preset; /* where it is left out; NaN: it must be given, as all before it */
} sl_argument;

/* Of the arguments in the table's order, which are in range. */
typedef sluice_status sl_step_draw(const double *arguments, sl_random *random, sl_params *params,
                                   sluice_error *error);

typedef struct sl_step_kind {
    const char *name, *text; /* of the interface; what it does, in a sentence */
    sl_step_stage stage;
    uint32_t stream; /* of random numbers, below 1008; 0: draws none */
    sl_argument arguments[SL_STEP_ARGUMENTS_MAX];
    /* A sentence about arguments that do not go together; NULL: they do. May be NULL. */
    const char *(*mismatch)(const double *arguments);
    sl_step_draw *draw; /* NULL: of no sample */
    /* A floating result is fmaf(u8, *scale, *bias). NULL: changes nothing there. */
    void (*convert)(const double *arguments, size_t channel, float *scale, float *bias);
} sl_step_kind;

extern const sl_step_kind sl_step_kinds[];
extern const uint32_t sl_step_kind_count;

/* NULL: there is none. */
const sl_step_kind *sl_step_find(const char *name);
uint32_t sl_step_argument_count(const sl_step_kind *kind);
/* "geometry", "flip", "color", "normalize" */
const char *sl_step_stage_name(sl_step_stage stage);

/* The operations of color_jitter: Pillow's ImageEnhance (Brightness, Contrast, Color). */
sl_pixel_operation sl_brightness, sl_contrast, sl_saturation;

#endif
