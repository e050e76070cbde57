/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/augment.h: what happens to each picture between its file and its row of a batch.
 *
 * A recipe is a list of steps: one of stage "geometry" (as random_resized_crop), which gives the
 * size of the output, and any others, each once; adding a step again gives it other arguments.
 * Whatever the order of the calls, they are applied in the order of their stages: geometry, flip,
 * color, normalize, then cast and layout; within a stage in the order in which they were added.
 * sluice_augment_get_step lists all steps that there are, and sluice_augment_add adds any of them
 * by name; the steps of the first version have functions of their own as well.
 *
 * Random numbers are a pure function of (seed, epoch, sample index, operation): Philox4x32-10
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The number of threads,
 * ranks or retries cannot change them.
 *
 * Resampling is the antialiased triangle filter that Pillow and torchvision call BILINEAR, equal to
 * Pillow's 8-bit result within 1. A JPEG whose crop is 4 times the output or more on both sides is
 * decoded at 1/2, 1/4 or 1/8 of its size first, never to less than twice the output, as Pillow does
 * with a reducing_gap of 2; sluice_loader_options.exact turns that off. The PSNR against the exact
 * result is 50 dB on average over real photos, and 36 dB or more but for hard black lines on white.
 *
 * Threads: a recipe is built by one thread; once given to a loader it is copied and may be changed
 * or destroyed.
 */
#ifndef SLUICE_AUGMENT_H
#define SLUICE_AUGMENT_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_augment sluice_augment;

/* An empty recipe. Destroy it with sluice_augment_destroy (NULL is fine there). */
SLUICE_API sluice_status sluice_augment_create(sluice_augment **recipe);
SLUICE_API void sluice_augment_destroy(sluice_augment *recipe);

/*
 * The first call on this recipe that was refused, with its name and what its arguments have to be;
 * returns its status, OK when there was none. It stays, and sluice_loader_open refuses the recipe
 * with it: so a program may look at none of the calls below and still not train with a recipe that
 * it did not ask for.
 */
SLUICE_API sluice_status sluice_augment_get_error(const sluice_augment *recipe,
                                                  sluice_error *error);

/* A step that recipes can have. */
typedef struct sluice_augment_step {
    uint32_t struct_size;
    uint32_t arguments; /* how many it has */
    const char *name;   /* "random_flip" */
    const char *stage;  /* "geometry", "flip", "color" or "normalize" */
    const char *text;   /* what it does, in some words of English */
} sluice_augment_step;

#define SLUICE_AUGMENT_STEP_INIT                         \
    {                                                    \
        sizeof(sluice_augment_step), 0, NULL, NULL, NULL \
    }

/* An argument of a step: a number from `least` to `most`. */
typedef struct sluice_augment_argument {
    uint32_t struct_size;
    uint32_t is_whole; /* 1: a whole number (pixels) */
    const char *name;  /* "probability" */
    double least, most;
    double preset;        /* what it is when it is left out; NaN: it has to be given */
    uint32_t above_least; /* 1: `least` itself is out of range */
    uint32_t reserved;    /* 0 */
} sluice_augment_argument;

#define SLUICE_AUGMENT_ARGUMENT_INIT                            \
    {                                                           \
        sizeof(sluice_augment_argument), 0, NULL, 0, 0, 0, 0, 0 \
    }

/*
 * Fills in step `number` of all that there are, 0, 1, ...; and argument `argument` of it, in the
 * order in which sluice_augment_add takes them. Texts are valid as long as the library is loaded.
 * INVALID: there is none of that number, or struct_size is not set. Any thread.
 */
SLUICE_API sluice_status sluice_augment_get_step(uint32_t number, sluice_augment_step *step);
SLUICE_API sluice_status sluice_augment_get_argument(uint32_t number, uint32_t argument,
                                                     sluice_augment_argument *result);

/*
 * Adds step `name` with its first `count` arguments (NULL for 0); those left out have their
 * presets. Numbers are as the functions below have them: sizes in pixels, parts and probabilities
 * from 0 to 1.
 * Errors: INVALID (no such step, too many arguments, one out of range or missing); STATE when it is
 * a second geometry step.
 */
SLUICE_API sluice_status sluice_augment_add(sluice_augment *recipe, const char *name,
                                            const double *arguments, uint32_t count);

/*
 * Training: a random part of the picture, resized to width x height (pixels, 1..16384).
 * The part has scale_min..scale_max of the area (0 < min <= max <= 1) and an aspect ratio of
 * ratio_min..ratio_max (width/height, > 0), log-uniform; the draw is torchvision's
 * RandomResizedCrop, ten tries and then the central fallback.
 * Errors: INVALID; STATE when the recipe has a geometry step already.
 */
SLUICE_API sluice_status sluice_augment_random_resized_crop(sluice_augment *recipe, uint32_t width,
                                                            uint32_t height, double scale_min,
                                                            double scale_max, double ratio_min,
                                                            double ratio_max);

/*
 * Evaluation: the shorter side is resized to `shorter_side` pixels (the longer one by torchvision's
 * rounding) and the centre width x height is kept. `shorter_side` >= max(width, height), or
 * INVALID.
 */
SLUICE_API sluice_status sluice_augment_resize_center_crop(sluice_augment *recipe,
                                                           uint32_t shorter_side, uint32_t width,
                                                           uint32_t height);

/*
 * Training on small pictures (CIFAR): `padding` black pixels on each side, then a random
 * width x height window, no resizing. A picture smaller than the window after padding is a bad
 * sample.
 */
SLUICE_API sluice_status sluice_augment_random_crop(sluice_augment *recipe, uint32_t width,
                                                    uint32_t height, uint32_t padding);

/* Mirrors left to right with the given probability, 0..1. */
SLUICE_API sluice_status sluice_augment_random_flip(sluice_augment *recipe, double probability);

/*
 * Factors drawn from [max(0, 1-x), 1+x] for brightness, contrast and saturation (each 0 or more;
 * 0 turns that one off), applied in a random order, on 8-bit pixels, with the arithmetic of
 * Pillow's ImageEnhance (Brightness, Contrast, Color).
 */
SLUICE_API sluice_status sluice_augment_color_jitter(sluice_augment *recipe, double brightness,
                                                     double contrast, double saturation);

/*
 * (value/255 - mean[c]) / stddev[c] for channels = 3; stddev > 0. Needs a floating dtype: with
 * SLUICE_U8 the loader refuses the recipe. Without this step floating output is value/255.
 */
SLUICE_API sluice_status sluice_augment_normalize(sluice_augment *recipe, const float *mean,
                                                  const float *stddev, uint32_t channels);

#ifdef __cplusplus
}
#endif
#endif
