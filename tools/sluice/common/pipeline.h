/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline: the usual image pipelines as recipes. Training is RandomResizedCrop + flip, evaluation
 * is resize + centre crop, and small images (CIFAR) get a random crop of the padded image + flip;
 * or none, for steps that set their own size. All normalise with ImageNet's mean if the dtype is
 * floating. Other steps of the library can follow the flip, as text (augment_text.h), like
 * "rand_augment:2:9"; a step that the pipeline has replaces it, and a mosaic replaces its crop.
 * Main thread.
 */
#ifndef TOOL_PIPELINE_H
#define TOOL_PIPELINE_H

#include <sluice/augment.h>

#include <stdbool.h>

enum pipeline { PIPELINE_TRAIN, PIPELINE_EVAL, PIPELINE_CROP, PIPELINE_NONE };

/* The words of --pipeline, in the order of the enum; NULL-terminated. */
extern const char *const pipeline_words[];

/* From torchvision's RandomResizedCrop. */
#define PIPELINE_AREA_MIN 0.08
#define PIPELINE_AREA_MAX 1.0
/* The usual padding for CIFAR. */
#define PIPELINE_PADDING 4

struct pipeline_shape {
    enum pipeline kind;
    uint32_t size;             /* side of the square output, pixels */
    double area_min, area_max; /* of TRAIN's crop, as fractions of the image's area */
    uint32_t padding;          /* of CROP: black pixels on each side */
    bool normalize;
    const char *steps; /* text, borrowed; NULL: none */
    bool unmixed;      /* for a batch of one row: steps over the batch are left out */
    uint32_t first;    /* N + 1: the first N steps alone, then resized to the square; 0: all */
};

/* The row of the option table that commands with pictures have. */
#define AUGMENT_ROW(text)                                                                        \
    {                                                                                            \
        "augment", 0, OPTION_TEXT, &(text), .metavar = "STEP[+STEP...]", .common = true,         \
                                            .help = "more steps, each STEP[:ARGUMENT...] [none]" \
    }

/* Writes the steps as texts, up to `most`; returns how many, or 0: reported. */
enum { PIPELINE_NAME_BYTES = 96 };
uint32_t pipeline_steps(const struct pipeline_shape *shape, char (*names)[PIPELINE_NAME_BYTES],
                        uint32_t most);

/* Returns whether it has steps over the batch, left out or not. False: it is wrong, which is
 * reported. */
bool pipeline_mixes(const struct pipeline_shape *shape, bool *mixes);

/* Makes the recipe. Steps that are left out must be valid, too. NULL: reported, `*code` is the
 * exit code. */
sluice_augment *pipeline_recipe(const struct pipeline_shape *shape, int *code);

#endif
