/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/augment.h: what happens to each picture between its file and its row of a batch.
 *
 * A recipe is a list of steps, done in the order in which they are added, as torchvision's Compose
 * does them; the same step may occur more than once. Only "normalize" and one step over the batch
 * ("mixup", "cutmix" or "timm_mix") are always the last, in either order, and adding them again
 * changes their numbers. The output must have one size for all images: some step has to give it
 * (sluice_augment_step.gives_size: random_resized_crop, resize and others; bucket_crop gives the
 * size of its batch, sluice_loader_options.buckets), else the loader refuses the recipe. Steps of a
 * group (random_apply, random_choice, random_order, sequence) stand between sluice_augment_begin
 * and sluice_augment_end. sluice_augment_get_step lists all steps that there are, with their
 * arguments and the ranges of these; sluice_augment_add adds any of them by name.
 * docs/transforms.md shows each. Names, arguments, presets and random draws are those of
 * torchvision's transforms (0.14, v2) where it has the step; pixels are those of its functions for
 * pictures of Pillow (9.4).
 *
 * Example: timm's usual training of a ViT, without its mixing.
 *
 *     sluice_augment *recipe = NULL;
 *     sluice_augment_create(&recipe);
 *     sluice_augment_add(recipe, "random_resized_crop", (const double[]){224, 224}, 2);
 *     sluice_augment_add(recipe, "random_flip", NULL, 0);
 *     sluice_augment_timm(recipe, "rand-m9-mstd0.5-inc1");
 *     sluice_augment_add(recipe, "random_erasing", (const double[]){0.25}, 1);
 *     sluice_augment_normalize(recipe, mean, stddev, 3);
 *
 * All steps work on 8-bit RGB. Consecutive crops, resizes and flips are one pass over the part of
 * the image that is decoded for them. Warps (rotation, affine, perspective) in a row, with a resize
 * that follows, are one resampling where a sequence of library calls would do several: sharper, and
 * not the same pixels; what shrinks is antialiased. sluice_loader_options.exact has each warp done
 * by itself, with the same draws: to the bit what Pillow's Image.transform makes of the pixels that
 * it gets, and not antialiased, as Pillow's are not. All other operations are the same either way.
 *
 * Random numbers are a pure function of (seed, epoch, sample index, operation): Philox4x32-10
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The number of threads,
 * ranks or retries cannot change them, and what one step draws does not depend on the others.
 *
 * Steps over the batch mix each row of a batch with its partner in it: with "reversed" the row as
 * far from the end as it is from the beginning (timm's flip; in the middle of an odd number a row
 * by itself stays as it is), with "previous" the one before it (torchvision's roll). "mixup" and
 * "cutmix" draw once for a batch, from Beta(alpha, alpha), as torchvision's v2.MixUp and v2.CutMix;
 * "timm_mix" is timm's Mixup, its cutmix_minmax being cutmix_min and cutmix_max (0: none). The
 * draw depends on the seed, the epoch, and the position of the batch (with timm's modes pair and
 * elem, of the row) in the epoch: not on workers, and not on where an epoch was resumed. Partners
 * are of the rank's batch, among its rows that have a sample; nothing is mixed into the partner of
 * a bad one, which keeps its zero row. With weight w (binary32) an element is fmaf(w, own, (1 - w)
 * * other) of the two results in binary32, rounded once; of u8 it is that of the bytes, to nearest
 * even. In CutMix's box pixels are the other's. Labels follow by what comes with such a column
 * (sluice/columns.h). A batch_size of 1 is refused.
 *
 * Resizing antialiases, except with "nearest". With "bilinear", the default, it is within 1 of
 * Pillow's 8-bit result, as it is with "bicubic" and "lanczos"; "nearest" is equal to it. A JPEG
 * whose crop is 4 times the output or more on both sides is decoded at 1/2, 1/4 or 1/8 of its size
 * first, never to less than twice the output, as Pillow does with a reducing_gap of 2;
 * sluice_loader_options.exact turns that off. The PSNR against the exact result is 50 dB on average
 * over real photos, and 36 dB or more except for hard black lines on white.
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
    const char *stage;  /* "geometry", "flip", "color", "filter", "policy", "group", "normalize",
                           "batch" */
    const char *text;   /* what it does, in some words of English */
    uint32_t is_group;  /* 1: it is begun and ended, not added */
    /* 1: behind it all pictures have one size, which its arguments or the batch's bucket give */
    uint32_t gives_size;
} sluice_augment_step;

#define SLUICE_AUGMENT_STEP_INIT                               \
    {                                                          \
        sizeof(sluice_augment_step), 0, NULL, NULL, NULL, 0, 0 \
    }

/* An argument of a step: a number from `least` to `most`. */
typedef struct sluice_augment_argument {
    uint32_t struct_size;
    uint32_t is_whole; /* 1: a whole number (pixels, counts, one of `words`) */
    const char *name;  /* "probability" */
    double least, most;
    double preset;        /* what it is when it is left out; NaN: it has to be given */
    uint32_t above_least; /* 1: `least` itself is out of range */
    uint32_t reserved;    /* 0 */
    /* NULL, or what the numbers 0, 1, ... of a choice are called ("nearest", "bilinear"); a NULL
     * ends them. */
    const char *const *words;
    /* 0: one number. Else a list, the step's last argument: at most that many numbers, each in the
     * range. It is left out if it has none. */
    uint32_t list_most;
    uint32_t preset_count; /* of a list that is left out, in `presets` */
    /* The list when it is left out; NULL: each number that is left out is `preset`. */
    const double *presets;
} sluice_augment_argument;

#define SLUICE_AUGMENT_ARGUMENT_INIT                                              \
    {                                                                             \
        sizeof(sluice_augment_argument), 0, NULL, 0, 0, 0, 0, 0, NULL, 0, 0, NULL \
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
 * Adds step `name` behind those that there are, with the first `count` numbers of its arguments
 * (NULL for 0); those left out have their presets. A list ("min_sizes") is the last argument and
 * takes the numbers from its place on. Numbers are as the functions below have them: sizes in
 * pixels, parts and probabilities from 0 to 1; a choice, as "interpolation", is its number
 * (`words`).
 * Errors: INVALID (no such step, a group, too many arguments, one out of range or missing); STATE
 * when there are 48 steps already, 15 of that name (random_crop and random_resized_crop count as
 * one name, as they share their random numbers), or more than 128 operations per image (a policy
 * counts as num_ops operations, an AugMix as 1 + width x (1 + depth)).
 */
SLUICE_API sluice_status sluice_augment_add(sluice_augment *recipe, const char *name,
                                            const double *arguments, uint32_t count);

/*
 * Opens a group, as sluice_augment_add adds a step. Steps added before sluice_augment_end belong to
 * the group, except "normalize", which is never in one. "sequence": all of it; "random_apply"
 * (probability): all or none; "random_choice" (weights, a list of up to 16; 1 where none is given):
 * one of those that are directly in it, so that a group in it is drawn as a whole; "random_order":
 * all, in a random order. Groups may be in groups, 6 deep. The size behind a group must not depend
 * on the draw: all members of a choice produce the same size, and optional or reordered steps
 * change no size. Errors: INVALID, STATE as above; INVALID at the end when the group is empty, when
 * the weights add to 0 or are more than its steps, or when the size would depend on the draw; STATE
 * when none is open.
 */
SLUICE_API sluice_status sluice_augment_begin(sluice_augment *recipe, const char *name,
                                              const double *arguments, uint32_t count);
SLUICE_API sluice_status sluice_augment_end(sluice_augment *recipe);

/*
 * Adds what timm means by a string: "rand-m9-mstd0.5-inc1", "augmix-m5-w4-d2", "original", "v0r",
 * "3a", ... with timm's levels, probabilities and ranges (timm 1.0, auto_augment.py), which are not
 * torchvision's; with its colour of ImageNet's mean, and bilinear or bicubic drawn for each
 * operation, as its create_transform has them. To change those, add "timm_augment" by its numbers.
 * docs/transforms.md has what may stand in the string. Errors: INVALID; the text quotes the part
 * that is wrong; STATE as sluice_augment_add. What timm would pass over without a word is refused.
 */
SLUICE_API sluice_status sluice_augment_timm(sluice_augment *recipe, const char *policy);

/*
 * The numbers of "timm_augment" that such a string means, to be added with others in the place of
 * some: `numbers` has space for as many as the step has arguments (sluice_augment_get_step), their
 * order is that of sluice_augment_get_argument. INVALID: `error` (may be NULL) quotes the part that
 * is wrong.
 */
SLUICE_API sluice_status sluice_augment_timm_numbers(const char *policy, double *numbers,
                                                     sluice_error *error);

/*
 * Training: a random part of the picture, resized to width x height (pixels, 1..16384).
 * The part has scale_min..scale_max of the area (0 < min <= max <= 1) and an aspect ratio of
 * ratio_min..ratio_max (width/height, > 0), log-uniform; the draw is torchvision's
 * RandomResizedCrop, ten tries and then the central fallback.
 * Errors, of this and of those below: INVALID; STATE as above.
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
 * Pillow's ImageEnhance (Brightness, Contrast, Color). Hue besides: sluice_augment_add with a
 * fourth argument.
 */
SLUICE_API sluice_status sluice_augment_color_jitter(sluice_augment *recipe, double brightness,
                                                     double contrast, double saturation);

/*
 * (value/255 - mean[c]) / stddev[c] for channels = 3; stddev > 0. The last step, whenever it is
 * added; adding it again changes its numbers. Needs a floating dtype: with SLUICE_U8 the loader
 * refuses the recipe. Without this step floating output is value/255.
 */
SLUICE_API sluice_status sluice_augment_normalize(sluice_augment *recipe, const float *mean,
                                                  const float *stddev, uint32_t channels);

/*
 * A step of your own. The loader's workers call it with the image of a row as it is at that place
 * of the recipe: 8-bit RGB, interleaved (row y, column x and channel c are at
 * pixels[y * stride + x * 3 + c]), `height` rows of `width` pixels, `stride` bytes apart. It
 * changes the pixels in place. The size stays.
 *
 * seed: 64 random bits of this row and this step: a pure function of the loader's seed, the epoch,
 *     the sample, the column and the step, as all draws are. sluice_native_random makes a sequence
 *     of it.
 * user_data: what sluice_augment_native was given.
 * Returns 0. Any other number makes a bad sample, which the loader treats by its option
 * on_bad_sample; the error names the step and the number.
 *
 * Rules. Breaking one of them is undefined behaviour, except the last:
 *   - Threads: several workers call the function at the same time, with the same user data.
 *   - Memory: it touches the `width * 3` bytes of each of the `height` rows only, and keeps no
 *     pointer to them after it has returned.
 *   - It returns: no longjmp, no C++ exception, no thread cancellation leaves it. It does not call
 *     the loader that called it.
 *   - Time: it takes a bounded time. Closing the loader waits for it.
 *   - Result: it depends on the pixels, the size, the seed and constant user data only. Else
 *     batches differ between runs, which the library cannot notice. The library may make a row
 *     again, with the same seed, so the number of calls says nothing.
 *
 * The step changes colours only: masks, boxes, points and other columns that follow the image stay
 * as the other steps leave them. Like all steps on pixels it must come before "normalize", so it
 * never gets floating-point pixels. Behind a mosaic, or where images were mixed, it is called once
 * for the row; before, once for each image.
 */
typedef int (*sluice_native_function)(uint8_t *pixels, uint32_t width, uint32_t height,
                                      size_t stride, uint64_t seed, void *user_data);

/*
 * Adds such a step behind those that there are, or to the group that is open. It is not one of the
 * steps that sluice_augment_get_step lists, since numbers and words cannot describe it.
 *
 * name: for errors; 1 to 63 bytes of text without control characters; copied. NULL: "native".
 * free_user_data: called once with user_data, when no recipe, list of columns or loader has the
 *     step any more, on the thread that destroys or closes the last of them. If this function
 *     fails, it is called all the same, at the latest when the recipe is destroyed. It must not
 *     call the library. May be NULL.
 * The code of the function must stay loaded until then.
 * Errors: INVALID (no function, a bad name); STATE as for sluice_augment_add; NOMEM.
 */
SLUICE_API sluice_status sluice_augment_native(sluice_augment *recipe,
                                               sluice_native_function function, void *user_data,
                                               void (*free_user_data)(void *user_data),
                                               const char *name);

/*
 * Returns 64 random bits, and moves `state` on: SplitMix64 (Steele, Lea and Flood, 2014). Begin
 * with the seed of the call. Part of the program that includes it: a library of steps need not be
 * linked with sluice.
 */
static inline uint64_t sluice_native_random(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

#ifdef __cplusplus
}
#endif
#endif
