/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_composed_rig: loaders whose rows are composed of several scenes, or whose sizes vary, and
 * a brute-force model of their rows (loader_composed_scenes.h).
 *
 * The model paints one canvas of scenes, pixel by pixel, at the places that GEOMETRY gives. All
 * other columns must follow from this canvas. Functions fail the running test unless stated
 * otherwise. Threads: the test's.
 */
#ifndef LOADER_COMPOSED_RIG_H
#define LOADER_COMPOSED_RIG_H

#include "loader_composed_scenes.h"

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdint.h>

enum { COMPOSED_BATCH = 6, COMPOSED_MEMBERS_MAX = 8 };

typedef enum composed_model {
    MODEL_ALONE,  /* one scene, placed by GEOMETRY */
    MODEL_MOSAIC, /* four scenes, meeting at a corner of the first */
    MODEL_MIXUP,  /* two scenes, blended */
    MODEL_PASTE,  /* objects of the second scene over the first */
    MODEL_NONE    /* too complex for the model: batches are only compared */
} composed_model;

typedef struct composed_case {
    const char *name;
    composed_model model;
    uint32_t members;     /* samples per row */
    const char *steps[6]; /* steps of its recipe: "name number number ..." */
    int32_t sizes;        /* a sluice_column_sizes */
    const char *buckets, *partners;
    uint32_t episode_classes, episode_samples;
    int32_t shuffle; /* a sluice_shuffle */
} composed_case;

extern const composed_case composed_cases[];
extern const uint32_t composed_case_count;

typedef struct composed_options {
    uint32_t workers;
    int32_t on_bad_sample; /* a sluice_bad_sample */
    uint64_t seed;
} composed_options;

/* Opens a loader over the folder that scenes_write made. */
sluice_loader *composed_open(const char *path, const composed_case *of,
                             const composed_options *options);
/* Returns a digest of all columns of the batch. */
uint64_t composed_digest(const sluice_batch *batch);
/* Compares all rows of the batch with the model. Adds to `seen[status]` for each row, and to
 * `seen[COMPOSED_MIXED]` for rows that contain part of a partner. */
enum { COMPOSED_MIXED = 8, COMPOSED_SEEN };
void composed_check(const sluice_batch *batch, const composed_case *of,
                    uint64_t seen[COMPOSED_SEEN]);

#endif
