/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines as lists of steps in text, which augment_text.h adds to a recipe. Main thread. */
#include "pipeline.h"

#include "augment_text.h"
#include "exit_code.h"
#include "report.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *const pipeline_words[] = {"train", "eval", "crop", "none", NULL};

static bool put_geometry(struct augment_text *list, const struct pipeline_shape *shape)
{
    const uint32_t size = shape->size;
    switch (shape->kind) {
    case PIPELINE_TRAIN:
        return augment_text_put(list, "random_resized_crop:%u:%u:%.15g:%.15g", size, size,
                                shape->area_min, shape->area_max);
    case PIPELINE_CROP:
        return augment_text_put(list, "random_crop:%u:%u:%u", size, size, shape->padding);
    case PIPELINE_NONE:
        return true;
    case PIPELINE_EVAL:
        break;
    }
    /* 256 for 224, the usual evaluation on ImageNet. */
    return augment_text_put(list, "resize_center_crop:%u:%u:%u", size * 8 / 7, size, size);
}

/* Puts a mosaic first, where it replaces the pipeline's crop. */
static void put_mosaic_first(struct augment_text *list)
{
    static const char name[] = "mosaic:";
    for (uint32_t i = 1; i < list->count; i++) {
        if (strncmp(list->steps[i], name, sizeof name - 1) == 0) {
            list->steps[0] = list->steps[i];
            list->count--;
            memmove(&list->steps[i], &list->steps[i + 1], (list->count - i) * sizeof *list->steps);
            return;
        }
    }
}

/* Lists all steps, in their order; ImageNet's mean and deviation. */
static bool list_steps(struct augment_text *list, const struct pipeline_shape *shape)
{
    *list = (struct augment_text){.count = 0};
    bool fine = put_geometry(list, shape);
    if (fine && (shape->kind == PIPELINE_TRAIN || shape->kind == PIPELINE_CROP)) {
        fine = augment_text_put(list, "random_flip");
    }
    if (fine && shape->steps != NULL) {
        fine = augment_text_cut(list, shape->steps, list->count);
        put_mosaic_first(list);
    }
    if (fine && shape->normalize) {
        fine = augment_text_put(list, "normalize:0.485:0.456:0.406:0.229:0.224:0.225");
    }
    return fine;
}

/* Moves the other steps to the front; returns how many there are. */
static uint32_t leave_mixing_out(struct augment_text *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!augment_text_mixes(list->steps[i])) {
            list->steps[kept++] = list->steps[i];
        }
    }
    return kept;
}

static bool list_shown(struct augment_text *list, const struct pipeline_shape *shape)
{
    const bool fine = list_steps(list, shape);
    list->count = fine && shape->unmixed ? leave_mixing_out(list) : list->count;
    return fine;
}

bool pipeline_mixes(const struct pipeline_shape *shape, bool *mixes)
{
    struct augment_text list;
    const bool fine = list_steps(&list, shape);
    *mixes = fine && leave_mixing_out(&list) < list.count;
    return fine;
}

/* Adds the first steps, resized to the pipeline's size. */
static bool add_steps(sluice_augment *recipe, const struct pipeline_shape *shape)
{
    struct augment_text list;
    bool fine = list_shown(&list, shape);
    const uint32_t count = shape->first > 0 ? shape->first - 1 : list.count;
    for (uint32_t i = 0; fine && i < count && i < list.count; i++) {
        fine = augment_text_add(recipe, list.steps[i]);
    }
    if (fine && shape->first > 0) {
        const double size[2] = {shape->size, shape->size};
        fine = sluice_augment_add(recipe, "resize", size, 2) >= 0;
    }
    return fine;
}

uint32_t pipeline_steps(const struct pipeline_shape *shape, char (*names)[PIPELINE_NAME_BYTES],
                        uint32_t most)
{
    struct augment_text list;
    if (!list_shown(&list, shape)) {
        return 0;
    }
    for (uint32_t i = 0; i < list.count && i < most; i++) {
        snprintf(names[i], PIPELINE_NAME_BYTES, "%s", list.steps[i]);
    }
    return list.count;
}

static sluice_augment *make_recipe(const struct pipeline_shape *shape, int *code)
{
    sluice_augment *recipe = NULL;
    if (sluice_augment_create(&recipe) < 0) {
        report("out of memory for a recipe");
        *code = TOOL_FAILED;
        return NULL;
    }
    if (add_steps(recipe, shape)) {
        return recipe;
    }
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_augment_get_error(recipe, &error) < 0) {
        report("augment: %s", error.text);
    }
    *code = TOOL_USAGE;
    sluice_augment_destroy(recipe);
    return NULL;
}

sluice_augment *pipeline_recipe(const struct pipeline_shape *shape, int *code)
{
    if (shape->unmixed) {
        struct pipeline_shape whole = *shape;
        whole.unmixed = false;
        whole.first = 0;
        sluice_augment *recipe = make_recipe(&whole, code);
        if (recipe == NULL) {
            return NULL;
        }
        sluice_augment_destroy(recipe);
    }
    return make_recipe(shape, code);
}
