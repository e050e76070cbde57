/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe: checks a list of steps while it is made, so that drawing, on workers, only walks it.
 * Pure, over the caller's recipe.
 */
#include "recipe.h"

#include "error.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZING_STEPS = 16 }; /* named in an error */

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
           ((argument->type != SL_NUMBER_WHOLE && argument->type != SL_NUMBER_WORD) ||
            value == floor(value));
}

/* "interpolation must be nearest, bilinear or bicubic" */
static void describe_words(const sl_argument *argument, char *text, size_t bytes)
{
    const size_t last = (size_t)argument->most;
    size_t length = (size_t)snprintf(text, bytes, "%s must be", argument->name);
    for (size_t i = 0; i <= last && length < bytes; i++) {
        length += (size_t)snprintf(text + length, bytes - length, "%s%s",
                                   i == 0      ? " "
                                   : i == last ? " or "
                                               : ", ",
                                   argument->words[i]);
    }
}

static void describe_range(const sl_argument *argument, char *text, size_t bytes)
{
    const char *whole = argument->type == SL_NUMBER_WHOLE ? "a whole number " : "";
    const char *of_each = argument->list_most > 0 ? "each of " : "";
    if (argument->type == SL_NUMBER_WORD) {
        describe_words(argument, text, bytes);
        return;
    }
    if (argument->most >= (double)FLT_MAX && !argument->above && argument->least == 0) {
        (void)snprintf(text, bytes, "%s%s must be at least 0", of_each, argument->name);
    } else if (argument->most >= (double)FLT_MAX) {
        (void)snprintf(text, bytes, "%s%s must be finite%s", of_each, argument->name,
                       argument->above ? " and above 0" : "");
    } else if (argument->above) {
        (void)snprintf(text, bytes, "%s%s must be above %g and at most %g", of_each, argument->name,
                       argument->least, argument->most);
    } else {
        (void)snprintf(text, bytes, "%s%s must be %sfrom %g to %g", of_each, argument->name, whole,
                       argument->least, argument->most);
    }
}

/* Writes the reason arguments are invalid to `text`, or "". */
static void check_arguments(const sl_step_kind *kind, const double *arguments, uint32_t given,
                            char *text, size_t bytes)
{
    const uint32_t count = sl_step_number_count(kind);
    text[0] = '\0';
    for (uint32_t i = 0; i < count && text[0] == '\0'; i++) {
        const sl_argument *argument = sl_step_argument_at(kind, i);
        if (i >= given && isnan(arguments[i])) {
            if (argument == &kind->arguments[i]) {
                (void)snprintf(text, bytes, "%s must be given", argument->name);
            }
            break; /* the list ends here */
        }
        if (!recipe_in_range(argument, arguments[i])) {
            describe_range(argument, text, bytes);
        }
    }
    const char *mismatch =
        text[0] == '\0' && kind->mismatch != NULL ? kind->mismatch(arguments) : NULL;
    if (mismatch != NULL) {
        (void)snprintf(text, bytes, "%s", mismatch);
    }
}

/* ---- the list ---- */

static sluice_status take_arguments(sluice_augment *recipe, const char *call,
                                    const sl_step_kind *kind, const double *arguments,
                                    uint32_t count, sl_recipe_step *step)
{
    char text[256];
    *step = (sl_recipe_step){.kind = kind, .given = kind->group != SL_GROUP_NO ? count : 0};
    for (uint32_t i = 0; i < SL_STEP_ARGUMENTS_MAX; i++) {
        const sl_argument *argument = sl_step_argument_at(kind, i);
        step->arguments[i] = i < count ? arguments[i] : sl_step_preset(kind, i, count);
        if (argument != NULL && argument->type == SL_NUMBER_FLOAT &&
            fabs(step->arguments[i]) <= (double)FLT_MAX) {
            step->arguments[i] = (double)(float)step->arguments[i];
        }
    }
    check_arguments(kind, step->arguments, count, text, sizeof(text));
    return text[0] == '\0' ? SLUICE_OK : sl_recipe_refuse(recipe, SLUICE_INVALID, call, text);
}

/* Counts the steps with that stream of random numbers; shared steps have streams of their own. */
static uint32_t count_of_stream(const sluice_augment *recipe, uint32_t stream, uint32_t shared)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < recipe->count; i++) {
        count += recipe->steps[i].kind->stream == stream && recipe->steps[i].shared == shared;
    }
    return count;
}

/* Returns 1 + the key of the open shared group; 0: there is none. */
static uint32_t open_share(const sluice_augment *recipe)
{
    uint32_t shared = 0;
    for (uint32_t i = 0; i < recipe->depth; i++) {
        const sl_recipe_step *group = &recipe->steps[recipe->groups[i]];
        shared = group->kind->shares ? 1 + (uint32_t)group->arguments[0] : shared;
    }
    return shared;
}

/* Returns whether the step converts or mixes. */
static bool comes_last(const sl_step_kind *kind)
{
    return kind->convert != NULL || kind->mix != NULL;
}

/* Appends a step after all others, except those that come last. */
static sluice_status append_step(sluice_augment *recipe, const char *call, sl_recipe_step *step)
{
    const bool several = step->kind->members != NULL;
    if (several &&
        (recipe->depth > 0 || (recipe->count > 0 && !comes_last(recipe->steps[0].kind)))) {
        return sl_recipe_refuse(
            recipe, SLUICE_INVALID, call,
            "it makes rows of several samples: it must be the first step and in no group");
    }
    if (step->kind->layers != NULL && (recipe->depth > 0 || sl_recipe_is_layered(recipe))) {
        return sl_recipe_refuse(
            recipe, SLUICE_INVALID, call,
            recipe->depth > 0
                ? "it cannot be in a group: use its probability to choose how often it is applied"
                : "a recipe can have only one of mixup_partner and copy_paste, once");
    }
    if (step->kind->looks && recipe->count > 0 &&
        (recipe->steps[0].kind->members != NULL || sl_recipe_is_layered(recipe))) {
        return sl_recipe_refuse(
            recipe, SLUICE_INVALID, call,
            "it uses the boxes of one image, but earlier steps combine several");
    }
    if ((step->kind->looks || step->kind->pastes) && sl_recipe_bends(recipe) != NULL) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, call,
                                "it uses boxes or shapes, which cannot follow the elastic "
                                "transform before it: add it first");
    }
    step->shared = open_share(recipe);
    if (step->kind->shares && step->shared != 0) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, call,
                                "it is in a group that already shares its draws");
    }
    const bool draws = step->kind->stream > 0;
    const uint32_t earlier = draws ? count_of_stream(recipe, step->kind->stream, step->shared) : 0;
    uint32_t at = recipe->count;
    if (recipe->count == SL_STEPS_MAX || earlier == SL_STREAM_STEPS) {
        return sl_recipe_refuse(recipe, SLUICE_STATE, call,
                                "a recipe can have at most 48 steps, and at most 15 of one kind");
    }
    step->stream = step->kind->stream + SL_STREAMS * earlier;
    while (at > 0 && comes_last(recipe->steps[at - 1].kind) && !comes_last(step->kind)) {
        at--;
    }
    memmove(&recipe->steps[at + 1], &recipe->steps[at],
            (recipe->count - at) * sizeof(recipe->steps[0]));
    recipe->steps[at] = *step;
    recipe->count++;
    for (uint32_t i = 0; i < recipe->depth; i++) {
        recipe->steps[recipe->groups[i]].inside++;
    }
    return SLUICE_OK;
}

static bool find_size(const sluice_augment *recipe, uint32_t begin, uint32_t end, uint32_t size[2]);

/* Finds the size after any one of the steps in a group: each must give the same, and in a random
 * order the one before it. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as groups are, SL_STEP_DEPTH
static bool find_size_of_each(const sluice_augment *recipe, uint32_t group, uint32_t size[2])
{
    const sl_recipe_step *step = &recipe->steps[group];
    const uint32_t end = group + 1 + step->inside;
    const uint32_t before[2] = {size[0], size[1]};
    for (uint32_t at = group + 1; at < end; at += 1 + recipe->steps[at].inside) {
        uint32_t one[2] = {before[0], before[1]};
        const bool is_first = at == group + 1 && step->kind->group == SL_GROUP_CHOICE;
        if (!find_size(recipe, at, at + 1 + recipe->steps[at].inside, one) ||
            (!is_first && (one[0] != size[0] || one[1] != size[1]))) {
            return false;
        }
        memcpy(size, one, sizeof(one));
    }
    return true;
}

/* Finds the size after steps [begin, end). False: steps of a group give different ones. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as groups are, SL_STEP_DEPTH
static bool find_size(const sluice_augment *recipe, uint32_t begin, uint32_t end, uint32_t size[2])
{
    for (uint32_t i = begin; i < end; i += 1 + recipe->steps[i].inside) {
        const sl_recipe_step *step = &recipe->steps[i];
        const sl_group group = step->kind->group;
        const uint32_t before[2] = {size[0], size[1]};
        bool found = true;
        if (group == SL_GROUP_CHOICE || group == SL_GROUP_ORDER) {
            found = find_size_of_each(recipe, i, size);
        } else if (group != SL_GROUP_NO) {
            found = find_size(recipe, i + 1, i + 1 + step->inside, size) &&
                    (group == SL_GROUP_SEQUENCE || (size[0] == before[0] && size[1] == before[1]));
        } else if (step->kind->size != NULL) {
            if (size[0] == SL_SIZE_OF_BATCH) { /* no size can be computed from it */
                size[0] = size[1] = 0;
            }
            step->kind->size(step->arguments, &size[0], &size[1]);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* Returns the most operations of steps [begin, end). */
// NOLINTNEXTLINE(misc-no-recursion): as deep as groups are, SL_STEP_DEPTH
static uint32_t most_operations(const sluice_augment *recipe, uint32_t begin, uint32_t end,
                                bool is_choice)
{
    uint32_t sum = 0;
    uint32_t most = 0;
    for (uint32_t i = begin; i < end; i += 1 + recipe->steps[i].inside) {
        const sl_recipe_step *step = &recipe->steps[i];
        const sl_step_kind *kind = step->kind;
        uint32_t count = kind->draw != NULL ? 1 : 0;
        if (kind->group != SL_GROUP_NO) {
            count = most_operations(recipe, i + 1, i + 1 + step->inside,
                                    kind->group == SL_GROUP_CHOICE);
        } else if (kind->operations != NULL) {
            count = kind->operations(step->arguments);
        }
        sum += count;
        most = count > most ? count : most;
    }
    return is_choice ? most : sum;
}

uint32_t sl_recipe_operations(const sluice_augment *recipe)
{
    return most_operations(recipe, 0, recipe->count, false);
}

/* Updates a recipe when no group is open: its size, and that a program holds it. */
static sluice_status update_recipe(sluice_augment *recipe, const char *call)
{
    uint32_t size[2] = {0, 0};
    if (recipe->depth > 0) {
        return SLUICE_OK;
    }
    const uint32_t operations = sl_recipe_operations(recipe);
    if (operations > SL_OPERATIONS_MAX) {
        char text[128];
        (void)snprintf(
            text, sizeof(text),
            "with this step the recipe may run %u operations on an image: must be at most %d",
            operations, SL_OPERATIONS_MAX);
        return sl_recipe_refuse(recipe, SLUICE_STATE, call, text);
    }
    if (!find_size(recipe, 0, recipe->count, size)) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, call,
                                "the size of the result would depend on the random draw");
    }
    recipe->width = size[0];
    recipe->height = size[1];
    return SLUICE_OK;
}

/* Finds the colour whose values are nearest to 0 after conversion, and its distance to 1. */
static void update_mean(sluice_augment *recipe)
{
    for (size_t c = 0; c < 3; c++) {
        float scale = 1.0F / 255.0F;
        float bias = 0.0F;
        for (uint32_t i = 0; i < recipe->count; i++) {
            if (recipe->steps[i].kind->convert != NULL) {
                recipe->steps[i].kind->convert(recipe->steps[i].arguments, c, &scale, &bias);
            }
        }
        const float zero = -bias / scale;
        recipe->mean[c] = zero > 0.0F ? (uint8_t)lroundf(fminf(zero, 255.0F)) : 0;
        recipe->deviation[c] = fminf(1.0F / scale, 255.0F);
    }
}

/* Returns the step that one of the kind replaces: only one of those that come last can exist. */
static sl_recipe_step *replaced_step(sluice_augment *recipe, const sl_step_kind *kind)
{
    for (uint32_t i = 0; i < recipe->count && comes_last(kind); i++) {
        if (recipe->steps[i].kind == kind) {
            return &recipe->steps[i];
        }
    }
    return NULL;
}

static bool mixes_otherwise(const sluice_augment *recipe, const sl_step_kind *kind)
{
    bool otherwise = false;
    for (uint32_t i = 0; i < recipe->count && kind->mix != NULL; i++) {
        otherwise =
            otherwise || (recipe->steps[i].kind->mix != NULL && recipe->steps[i].kind != kind);
    }
    return otherwise;
}

sluice_status sl_recipe_add(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                            const double *arguments, uint32_t count)
{
    sl_recipe_step step;
    if (kind->group != SL_GROUP_NO) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, call,
                                "groups are opened with a begin call, not added");
    }
    sluice_status status = take_arguments(recipe, call, kind, arguments, count, &step);
    if (status != SLUICE_OK) {
        return status;
    }
    if (comes_last(kind) && recipe->depth > 0) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, call, "it cannot be in a group");
    }
    if (mixes_otherwise(recipe, kind)) {
        return sl_recipe_refuse(recipe, SLUICE_STATE, call,
                                "the recipe already has a step over the batch: \"timm_mix\" does "
                                "both mixup and cutmix");
    }
    sl_recipe_step *there = replaced_step(recipe, kind);
    if (there != NULL) {
        memcpy(there->arguments, step.arguments, sizeof(there->arguments));
    } else {
        status = append_step(recipe, call, &step);
    }
    if (kind->convert != NULL) {
        update_mean(recipe);
    }
    return status == SLUICE_OK ? update_recipe(recipe, call) : status;
}

sluice_status sl_recipe_begin(sluice_augment *recipe, const char *call, const sl_step_kind *kind,
                              const double *arguments, uint32_t count)
{
    sl_recipe_step step;
    if (kind->group == SL_GROUP_NO) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, call, "it is not a group");
    }
    if (recipe->depth == SL_STEP_DEPTH) {
        return sl_recipe_refuse(recipe, SLUICE_STATE, call, "groups can be nested at most 6 deep");
    }
    sluice_status status = take_arguments(recipe, call, kind, arguments, count, &step);
    if (status == SLUICE_OK) {
        status = append_step(recipe, call, &step);
    }
    if (status == SLUICE_OK) {
        uint32_t at = recipe->count - 1;
        while (comes_last(recipe->steps[at].kind)) {
            at--;
        }
        recipe->groups[recipe->depth++] = at;
    }
    return status;
}

uint32_t sl_recipe_children(const sluice_augment *recipe, uint32_t group)
{
    uint32_t count = 0;
    const uint32_t end = group + 1 + recipe->steps[group].inside;
    for (uint32_t at = group + 1; at < end; at += 1 + recipe->steps[at].inside) {
        count++;
    }
    return count;
}

sluice_status sl_recipe_end(sluice_augment *recipe)
{
    if (recipe->depth == 0) {
        return sl_recipe_refuse(recipe, SLUICE_STATE, "sluice_augment_end", "no group is open");
    }
    const uint32_t group = recipe->groups[--recipe->depth];
    const sl_recipe_step *step = &recipe->steps[group];
    const uint32_t children = sl_recipe_children(recipe, group);
    if (children == 0) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, step->kind->name, "the group is empty");
    }
    if (step->kind->group == SL_GROUP_CHOICE) {
        double sum = 0;
        for (uint32_t i = 0; i < children && i < SL_STEP_ARGUMENTS_MAX; i++) {
            sum += step->arguments[i];
        }
        if (step->given > children) {
            return sl_recipe_refuse(recipe, SLUICE_INVALID, step->kind->name,
                                    "there are more weights than steps");
        }
        if (children > SL_STEP_ARGUMENTS_MAX || !(sum > 0)) {
            return sl_recipe_refuse(recipe, SLUICE_INVALID, step->kind->name,
                                    "it must have at most 16 steps, with a sum of weights above 0");
        }
    }
    return update_recipe(recipe, step->kind->name);
}

/* Returns the last step after which the size depends on the image or on the draw; NULL: none. */
static const char *last_of_open_size(const sluice_augment *recipe)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        uint32_t size[2] = {0, 0};
        if (step->kind->size != NULL) {
            step->kind->size(step->arguments, &size[0], &size[1]);
            name = size[0] == 0 ? step->kind->name : name;
        }
    }
    return name;
}

static const sl_recipe_step *layers_step(const sluice_augment *recipe)
{
    for (uint32_t i = 0; i < recipe->count; i++) {
        if (recipe->steps[i].kind->layers != NULL) {
            return &recipe->steps[i];
        }
    }
    return NULL;
}

static sluice_status check_layers(const sluice_augment *recipe, sluice_error *error)
{
    const sl_recipe_step *step = layers_step(recipe);
    if (step != NULL && sl_recipe_layer(recipe) == 0) {
        return sl_error_set(error, SLUICE_INVALID, "augment",
                            "%s: the steps before it must have a fixed output size",
                            step->kind->name);
    }
    for (uint32_t i = 0; i < recipe->count && step != NULL; i++) {
        if (recipe->steps[i].kind->mix != NULL) {
            return sl_error_set(error, SLUICE_INVALID, "augment",
                                "%s cannot follow %s: rows are mixed once",
                                recipe->steps[i].kind->name, step->kind->name);
        }
    }
    return SLUICE_OK;
}

sluice_status sl_recipe_check_steps(const sluice_augment *recipe, sluice_error *error)
{
    if (recipe->error.status != SLUICE_OK) {
        if (error != NULL) {
            *error = recipe->error;
        }
        return (sluice_status)recipe->error.status;
    }
    if (recipe->depth > 0) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "the group \"%s\" is not closed",
                            recipe->steps[recipe->groups[recipe->depth - 1]].kind->name);
    }
    return SLUICE_OK;
}

/* "random_crop, ... or resize": lists the steps that give a size. */
static void list_sizing_steps(char *text, size_t bytes)
{
    const char *names[SIZING_STEPS];
    size_t count = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < sl_step_kind_count && count < SIZING_STEPS; i++) {
        if (sl_step_gives_size(sl_step_kinds[i])) {
            names[count++] = sl_step_kinds[i]->name;
        }
    }
    for (size_t i = 0; i < count && used < bytes; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", between, names[i]);
    }
}

sluice_status sl_recipe_check(const sluice_augment *recipe, sluice_error *error)
{
    const sluice_status status = sl_recipe_check_steps(recipe, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (recipe->width == 0 || recipe->height == 0) {
        char steps[256] = "";
        const char *opens = last_of_open_size(recipe);
        list_sizing_steps(steps, sizeof(steps));
        return sl_error_set(error, SLUICE_INVALID, "augment",
                            "the recipe has no fixed output size: add %s%s%s", steps,
                            opens != NULL ? " behind " : "", opens != NULL ? opens : "");
    }
    return check_layers(recipe, error);
}

/* ---- rows of several samples ---- */

static const sl_recipe_step *gathering_step(const sluice_augment *recipe)
{
    const bool several = recipe->count > 0 && recipe->steps[0].kind->members != NULL;
    return several ? &recipe->steps[0] : NULL;
}

uint32_t sl_recipe_tiles(const sluice_augment *recipe, uint64_t epoch)
{
    const sl_recipe_step *step = gathering_step(recipe);
    return step != NULL ? step->kind->members(step->arguments, epoch) : 1;
}

uint32_t sl_recipe_members(const sluice_augment *recipe, uint64_t epoch)
{
    const sl_recipe_step *step = layers_step(recipe);
    return sl_recipe_tiles(recipe, epoch) *
           (step != NULL ? step->kind->layers(step->arguments, epoch) : 1);
}

bool sl_recipe_is_layered(const sluice_augment *recipe)
{
    return layers_step(recipe) != NULL;
}

bool sl_recipe_pastes(const sluice_augment *recipe)
{
    const sl_recipe_step *step = layers_step(recipe);
    return step != NULL && step->kind->pastes;
}

const char *sl_recipe_bends(const sluice_augment *recipe)
{
    for (uint32_t i = 0; i < recipe->count; i++) {
        if (recipe->steps[i].kind->bends) {
            return recipe->steps[i].kind->name;
        }
    }
    return NULL;
}

uint64_t sl_recipe_layer(const sluice_augment *recipe)
{
    const sl_recipe_step *step = layers_step(recipe);
    uint32_t size[2] = {0, 0};
    return step != NULL && find_size(recipe, 0, (uint32_t)(step - recipe->steps), size)
               ? (uint64_t)size[0] * size[1]
               : 0;
}

uint32_t sl_recipe_members_most(const sluice_augment *recipe)
{
    return sl_recipe_members(recipe, 0);
}

uint64_t sl_recipe_canvas(const sluice_augment *recipe)
{
    uint64_t most = (uint64_t)recipe->width * recipe->height;
    for (uint32_t i = 0; i < recipe->count; i++) {
        uint32_t size[2] = {0, 0};
        if (recipe->steps[i].kind->size != NULL) {
            recipe->steps[i].kind->size(recipe->steps[i].arguments, &size[0], &size[1]);
        }
        const uint64_t pixels = (uint64_t)size[0] * size[1];
        most = pixels > most ? pixels : most;
    }
    return most;
}

/* ---- over a batch ---- */

bool sl_recipe_wants_batch(const sluice_augment *recipe)
{
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        uint32_t size[2] = {0, 0};
        if (step->kind->size != NULL) {
            step->kind->size(step->arguments, &size[0], &size[1]);
        }
        if (size[0] == SL_SIZE_OF_BATCH) {
            return true;
        }
    }
    return false;
}

bool sl_recipe_mixing(const sluice_augment *recipe, sl_mixing *mixing)
{
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        if (step->kind->mix != NULL) {
            *mixing = (sl_mixing){
                .width = recipe->width, .height = recipe->height, .stream = step->stream};
            step->kind->mix(step->arguments, mixing);
            return true;
        }
    }
    return false;
}
