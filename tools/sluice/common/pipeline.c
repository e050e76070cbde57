/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include "report.h"

#include <stddef.h>

const char *const pipeline_words[] = {"train", "eval", NULL};

static sluice_status build(sluice_augment *recipe, const struct pipeline_shape *shape)
{
    static const float mean[3] = {0.485F, 0.456F, 0.406F};
    static const float deviation[3] = {0.229F, 0.224F, 0.225F};
    const uint32_t size = shape->size;
    sluice_status status;
    if (shape->kind == PIPELINE_TRAIN) {
        status = sluice_augment_random_resized_crop(recipe, size, size, shape->area_min,
                                                    shape->area_max, 3.0 / 4, 4.0 / 3);
        if (status >= 0) {
            status = sluice_augment_random_flip(recipe, 0.5);
        }
    } else {
        /* 256 for 224, as everybody evaluates ImageNet. */
        status = sluice_augment_resize_center_crop(recipe, size * 8 / 7, size, size);
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
    if (status < 0) {
        report("the pipeline cannot be made for size %u: %s", shape->size,
               sluice_status_name(status));
        *code = report_exit_code(status);
        sluice_augment_destroy(recipe);
        return NULL;
    }
    return recipe;
}
