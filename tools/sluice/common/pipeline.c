/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include "exit_code.h"
#include "nearest.h"
#include "report.h"
#include "units.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS_MAX = 16, PIPELINE_STEP_BYTES = 128 };

const char *const pipeline_words[] = {"train", "eval", "crop", NULL};

static sluice_status add_geometry(sluice_augment *recipe, const struct pipeline_shape *shape)
{
    const uint32_t size = shape->size;
    switch (shape->kind) {
    case PIPELINE_TRAIN:
        return sluice_augment_random_resized_crop(recipe, size, size, shape->area_min,
                                                  shape->area_max, 3.0 / 4, 4.0 / 3);
    case PIPELINE_CROP:
        return sluice_augment_random_crop(recipe, size, size, shape->padding);
    case PIPELINE_EVAL:
        break;
    }
    /* 256 for 224, as everybody evaluates ImageNet. */
    return sluice_augment_resize_center_crop(recipe, size * 8 / 7, size, size);
}

static sluice_status build(sluice_augment *recipe, const struct pipeline_shape *shape)
{
    static const float mean[3] = {0.485F, 0.456F, 0.406F};
    static const float deviation[3] = {0.229F, 0.224F, 0.225F};
    sluice_status status = add_geometry(recipe, shape);
    if (status >= 0 && shape->kind != PIPELINE_EVAL) {
        status = sluice_augment_random_flip(recipe, 0.5);
    }
    if (status >= 0 && shape->normalize) {
        status = sluice_augment_normalize(recipe, mean, deviation, 3);
    }
    return status;
}

static void refuse_step(const char *name)
{
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    struct nearest nearest;
    char question[80];
    char names[512] = "";
    size_t used = 0;
    nearest_begin(&nearest, name);
    for (uint32_t i = 0; sluice_augment_get_step(i, &step) == SLUICE_OK; i++) {
        nearest_try(&nearest, step.name);
        if (used < sizeof names) {
            int length =
                snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", step.name);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    report("augment: there is no step \"%s\"%s (there are %s)", name,
           nearest_question(&nearest, "", question, sizeof question), names);
}

static bool knows_step(const char *name)
{
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    for (uint32_t i = 0; sluice_augment_get_step(i, &step) == SLUICE_OK; i++) {
        if (strcmp(step.name, name) == 0) {
            return true;
        }
    }
    refuse_step(name);
    return false;
}

/* "NAME[:NUMBER...]", which is cut up. False: reported, or refused by the recipe. */
static bool add_step(sluice_augment *recipe, char *text)
{
    double numbers[NUMBERS_MAX];
    uint32_t count = 0;
    char *rest = NULL;
    const char *name = strtok_r(text, ":", &rest);
    for (const char *at = strtok_r(NULL, ":", &rest); at != NULL; at = strtok_r(NULL, ":", &rest)) {
        if (count == NUMBERS_MAX || !units_parse_real(at, &numbers[count++])) {
            report("augment: \"%s\" of %s: expected a number", at, name);
            return false;
        }
    }
    return knows_step(name) && sluice_augment_add(recipe, name, numbers, count) >= 0;
}

static bool add_steps(sluice_augment *recipe, const char *text)
{
    char step[PIPELINE_STEP_BYTES];
    while (*text != '\0') {
        const size_t length = strcspn(text, "+");
        if (length == 0 || length >= sizeof step || *text == ':') {
            report("augment: \"%s\": expected STEP[:NUMBER...][+STEP...]", text);
            return false;
        }
        memcpy(step, text, length);
        step[length] = '\0';
        if (!add_step(recipe, step)) {
            return false;
        }
        text += length + (text[length] == '+');
    }
    return true;
}

sluice_augment *pipeline_recipe(const struct pipeline_shape *shape, int *code)
{
    sluice_augment *recipe = NULL;
    sluice_status status = sluice_augment_create(&recipe);
    if (status >= 0) {
        status = build(recipe, shape);
    }
    const bool added = status < 0 || shape->steps == NULL || add_steps(recipe, shape->steps);
    if (status >= 0 && added) {
        return recipe;
    }
    sluice_error error = SLUICE_ERROR_INIT;
    if (recipe != NULL && sluice_augment_get_error(recipe, &error) < 0) {
        *code = added ? report_error(&error, NULL) : TOOL_USAGE;
        if (!added) {
            report("augment: %s", error.text);
        }
    } else if (!added) {
        *code = TOOL_USAGE;
    } else {
        report("the pipeline cannot be made: %s", sluice_status_name(status));
        *code = report_exit_code(status);
    }
    sluice_augment_destroy(recipe);
    return NULL;
}
