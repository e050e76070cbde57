/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixed_epochs: the arrays of an epoch with mixed rows: of photos in a folder or the same photos
 * packed, with each mixing step, into any dtype and layout, on the host or the fake CUDA device.
 *
 * Fails the running test if a call fails. Threads: the test's.
 */
#ifndef SL_MIXED_EPOCHS_H
#define SL_MIXED_EPOCHS_H

#include "fake_cuda_client.h"
#include "photo_folder.h"

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MIXED_CLASSES = 4, MIXED_PER_CLASS = 11, MIXED_WIDTH = 21, MIXED_HEIGHT = 18 };
enum { MIXED_ROWS_MAX = 64, MIXED_STEPS = 9 };

/* Fixtures of cmocka: make the photos and open the fake. */
int mixed_data_make(void **state);
int mixed_data_remove(void **state);
const photo_folder *mixed_photos(void);
/* Returns the path of the same photos, packed. */
const char *mixed_packed(void);
/* Returns the fake; NULL: none. */
const fake_cuda_control *mixed_fake(void);

typedef struct mixed_step {
    const char *name; /* NULL: rows are not mixed */
    uint32_t count;
    double arguments[9];
} mixed_step;

extern const mixed_step mixed_steps[MIXED_STEPS];

typedef struct mixed_form {
    sluice_dtype dtype;
    sluice_layout layout;
    double smoothing;
    uint32_t height; /* 0: MIXED_HEIGHT */
} mixed_form;

/* Makes a recipe: the step, a random crop to that size and a flip. */
sluice_augment *mixed_recipe(const mixed_step *mix, bool normalizes, uint32_t width,
                             uint32_t height);
/* Opens a loader with the columns "image", "label" and "soft", which follows the image's mixing. */
sluice_loader *mixed_open(const char *path, const sluice_loader_options *wanted,
                          const mixed_step *mix, const mixed_form *how);

enum {
    MIXED_IMAGE,
    MIXED_WITH,
    MIXED_WEIGHT,
    MIXED_LABEL,
    MIXED_SOFT,
    MIXED_INDEX,
    MIXED_MASK,
    MIXED_ARRAYS
};

typedef struct mixed_epoch {
    uint64_t rows, steps;
    uint32_t rows_of[MIXED_ROWS_MAX];
    uint8_t *arrays[MIXED_ARRAYS];
    size_t bytes[MIXED_ARRAYS]; /* bytes of all arrays */
    sluice_status end;
} mixed_epoch;

/* Appends up to `steps` batches to `all`; on a device, copies with that stream. */
void mixed_take(mixed_epoch *all, sluice_loader *loader, uint64_t steps,
                struct CUstream_st *stream);
/* Runs a whole epoch. */
mixed_epoch mixed_run(const char *path, const sluice_loader_options *options, const mixed_step *mix,
                      const mixed_form *how, uint64_t epoch);
void mixed_free(mixed_epoch *all);
void mixed_expect_equal(const mixed_epoch *a, const mixed_epoch *b);

#endif
