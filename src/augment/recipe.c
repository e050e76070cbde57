/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "error.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- making a recipe ---- */

sluice_status sl_recipe_refuse(sluice_augment *recipe, sluice_status status, const char *call,
                               const char *text)
{
    if (recipe != NULL && recipe->error.status == SLUICE_OK) {
        sl_error_set(&recipe->error, status, "augment", "%s: %s", call, text);
    }
    return status;
}

/* Written so that a NaN is out of range. */
static bool recipe_in_range(const sl_argument *argument, double value)
{
    return value >= argument->least && value <= argument->most &&
           !(argument->above && value == argument->least) &&
           (argument->type != SL_NUMBER_WHOLE || value == floor(value));
}

static void describe_range(const sl_argument *argument, char *text, size_t bytes)
{
    const char *whole = argument->type == SL_NUMBER_WHOLE ? "a whole number " : "";
    if (argument->most >= (double)FLT_MAX) {
        (void)snprintf(text, bytes, "%s must be finite%s", argument->name,
                       argument->above ? " and above 0" : "");
    } else if (argument->above) {
        (void)snprintf(text, bytes, "%s must be above %g and at most %g", argument->name,
                       argument->least, argument->most);
    } else {
        (void)snprintf(text, bytes, "%s must be %sfrom %g to %g", argument->name, whole,
                       argument->least, argument->most);
    }
}

/* Why not, in `text`; or "". */
static void check_arguments(const sl_step_kind *kind, const double *arguments, uint32_t given,
                            char *text, size_t bytes)
{
    const uint32_t count = sl_step_argument_count(kind);
    text[0] = '\0';
    for (uint32_t i = 0; i < count && text[0] == '\0'; i++) {
        if (i >= given && isnan(kind->arguments[i].preset)) {
            (void)snprintf(text, bytes, "%s must be given", kind->arguments[i].name);
        } else if (!recipe_in_range(&kind->arguments[i], arguments[i])) {
            describe_range(&kind->arguments[i], text, bytes);
        }
    }
    const char *mismatch =
        text[0] == '\0' && kind->mismatch != NULL ? kind->mismatch(arguments) : NULL;
    if (mismatch != NULL) {
        (void)snprintf(text, bytes, "%s", mismatch);
    }
}

/* The step's place: where it is already, or behind those of its stage and of earlier ones. */
static sl_recipe_step *place_for(sluice_augment *recipe, const sl_step_kind *kind)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < recipe->count; i++) {
        if (recipe->steps[i].kind == kind) {
            return &recipe->steps[i];
        }
        at = recipe->steps[i].kind->stage <= kind->stage ? i + 1 : at;
    }
    memmove(&recipe->steps[at + 1], &recipe->steps[at],
            (recipe->count - at) * sizeof(recipe->steps[0]));
    recipe->count++;
    return &recipe->steps[at];
}

/* The output's size is what a geometry step has arguments called that for. */
static void recipe_take_size(sluice_augment *recipe, const sl_recipe_step *step)
{
    const uint32_t count = sl_step_argument_count(step->kind);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = step->kind->arguments[i].name;
        if (strcmp(name, "width") == 0) {
            recipe->width = (uint32_t)step->arguments[i];
        } else if (strcmp(name, "height") == 0) {
            recipe->height = (uint32_t)step->arguments[i];
        }
    }
    assert(recipe->width > 0 && recipe->height > 0);
}

sluice_status sl_recipe_add(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                            const double *arguments, uint32_t count)
{
    char text[128];
    sl_recipe_step step = {.kind = kind};
    for (uint32_t i = 0; i < SL_STEP_ARGUMENTS_MAX; i++) {
        step.arguments[i] = i < count ? arguments[i] : kind->arguments[i].preset;
        if (kind->arguments[i].type == SL_NUMBER_FLOAT &&
            fabs(step.arguments[i]) <= (double)FLT_MAX) {
            step.arguments[i] = (double)(float)step.arguments[i];
        }
    }
    check_arguments(kind, step.arguments, count, text, sizeof(text));
    if (text[0] != '\0') {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, call, text);
    }
    if (kind->stage == SL_STAGE_GEOMETRY) {
        if (recipe->width > 0) {
            return sl_recipe_refuse(recipe, SLUICE_STATE, call,
                                    "the recipe has a geometry step already, and can have one");
        }
        recipe_take_size(recipe, &step);
    }
    *place_for(recipe, kind) = step;
    return SLUICE_OK;
}

/* ---- drawing ---- */

/*
 * Where a stream begins, in the numbers that a sample has: 16 for each group, and for streams from
 * 16 on in further blocks of such numbers. Fixed for ever.
 */
enum { STREAMS_PER_GROUP = 16, STREAM_BLOCK = STREAMS_PER_GROUP * SL_GROUPS_MAX };

static sl_random random_for(const sl_draw_key *key, uint32_t stream)
{
    assert(key->group < SL_GROUPS_MAX);
    return sl_random_for(key->seed, key->epoch, key->sample,
                         stream / STREAMS_PER_GROUP * STREAM_BLOCK +
                             key->group * STREAMS_PER_GROUP + stream % STREAMS_PER_GROUP);
}

sluice_status sl_draw(const sluice_augment *recipe, const sl_draw_key *key, uint32_t picture_width,
                      uint32_t picture_height, sl_params *params, sluice_error *error)
{
    assert(picture_width > 0 && picture_height > 0);
    *params = (sl_params){.mapping = {.source = {0, 0, picture_width, picture_height},
                                      .width = recipe->width,
                                      .height = recipe->height}};
    if (recipe->width == 0) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "the recipe has no geometry step");
    }
    if (picture_width > INT32_MAX || picture_height > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment", "a picture of %u x %u",
                            picture_width, picture_height);
    }
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        if (step->kind->draw != NULL) {
            sl_random random = random_for(key, step->kind->stream);
            const sluice_status status = step->kind->draw(step->arguments, &random, params, error);
            if (status != SLUICE_OK) {
                return status;
            }
        }
    }
    params->need = sl_mapping_need(&params->mapping);
    return SLUICE_OK;
}
