/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include "report.h"

#include <stddef.h>

const char *const pipeline_words[] = {"train", "eval", "crop", NULL};
const char *const pipeline_dtypes[] = {"u8", "f32", "f16", "bf16", NULL};
const char *const pipeline_layouts[] = {"nhwc", "nchw", NULL};

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

sluice_augment *pipeline_recipe(const struct pipeline_shape *shape, int *code)
{
    sluice_augment *recipe = NULL;
    sluice_status status = sluice_augment_create(&recipe);
    if (status >= 0) {
        status = build(recipe, shape);
    }
    if (status >= 0) {
        return recipe;
    }
    sluice_error error = SLUICE_ERROR_INIT;
    if (recipe != NULL && sluice_augment_get_error(recipe, &error) < 0) {
        *code = report_error(&error, NULL);
    } else {
        report("the pipeline cannot be made: %s", sluice_status_name(status));
        *code = report_exit_code(status);
    }
    sluice_augment_destroy(recipe);
    return NULL;
}
