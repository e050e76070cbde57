/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline: the two usual image pipelines as recipes: training is RandomResizedCrop + flip,
 * evaluation is resize + centre crop; both normalise with ImageNet's mean where the dtype floats.
 */
#ifndef TOOL_PIPELINE_H
#define TOOL_PIPELINE_H

#include <sluice/augment.h>

#include <stdbool.h>

enum pipeline { PIPELINE_TRAIN, PIPELINE_EVAL };

/* The words of --pipeline, in the order of the enum. */
extern const char *const pipeline_words[];

/* Of torchvision's RandomResizedCrop. */
#define PIPELINE_AREA_MIN 0.08
#define PIPELINE_AREA_MAX 1.0

struct pipeline_shape {
    enum pipeline kind;
    uint32_t size;             /* side of the square that comes out, pixels */
    double area_min, area_max; /* of TRAIN's crop, over the picture's */
    bool normalize;
};

/* NULL: reported, `*code` is the exit code. */
sluice_augment *pipeline_recipe(const struct pipeline_shape *shape, int *code);

#endif
