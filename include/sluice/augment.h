/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/augment.h: recipes, the steps between an image's file and its row of a batch.
 *
 * A recipe is a list of steps, applied in the order in which they are added, like torchvision's
 * Compose; a step may occur more than once. Two steps are always last, in either order:
 * "normalize", and one step over the batch ("mixup", "cutmix" or "timm_mix"). Adding them again
 * changes their arguments. The output must have one size for all images, so some step must set it
 * (sluice_augment_step.gives_size: random_resized_crop, resize and others; bucket_crop uses the
 * size of its batch, sluice_loader_options.buckets); otherwise opening the loader fails. Steps of a
 * group (random_apply, random_choice, random_order, sequence) are added between
 * sluice_augment_begin and sluice_augment_end.
 *
 * sluice_augment_get_step lists all steps with their arguments and ranges; sluice_augment_add adds
 * any of them by name. docs/transforms.md shows each. For steps of torchvision (0.14, v2), names,
 * arguments, presets and random draws are torchvision's, and pixels are those of its functions on
 * Pillow images (9.4).
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
 * Pixels. All steps work on 8-bit RGB. Consecutive crops, resizes and flips are one pass over the
 * part of the image decoded for them. Consecutive warps (rotation, affine, perspective), with a
 * resize after them, are one resampling where a sequence of library calls does several: sharper,
 * with different pixels, and antialiased where it shrinks. With sluice_loader_options.exact each
 * warp is separate, with the same draws: bit-equal to Pillow's Image.transform, and not antialiased
 * either. All other operations are the same in both modes.
 *
 * Random numbers are a pure function of (seed, epoch, sample index, operation): Philox4x32-10
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). They do not depend on
 * the number of threads, ranks or retries, and the draws of a step do not depend on other steps.
 *
 * Steps over the batch mix each row with a partner row of its batch: with "reversed" the row as far
 * from the end as it is from the beginning (timm's flip; the middle row of an odd number is
 * unchanged), with "previous" the row before it (torchvision's roll). "mixup" and "cutmix" draw
 * once per batch from Beta(alpha, alpha), like torchvision's v2.MixUp and v2.CutMix. "timm_mix" is
 * timm's Mixup; its cutmix_minmax is cutmix_min and cutmix_max (0: none). The draw depends on the
 * seed, the epoch, and the position in the epoch of the batch (with timm's modes pair and elem: of
 * the row); not on workers, nor on where an epoch was resumed. Partner rows are among the rows of
 * the rank's batch that have a sample. A bad row stays zero, and nothing is mixed into its partner.
 * With weight w (binary32), an element is fmaf(w, own, (1 - w) * other) of the two results in
 * binary32, rounded once; for u8, of the bytes, rounded to nearest even. Pixels in CutMix's box are
 * the partner's. Labels follow by the columns that the image column adds (sluice/columns.h).
 * INVALID with a batch_size of 1.
 *
 * Resizing antialiases, except with "nearest". "bilinear" (the default), "bicubic" and "lanczos"
 * are within 1 of Pillow's 8-bit result; "nearest" is equal to it. A JPEG whose crop is at least 4
 * times the output on both sides is first decoded at 1/2, 1/4 or 1/8 of its size, but to at least
 * twice the output, like Pillow with a reducing_gap of 2; sluice_loader_options.exact turns that
 * off. The PSNR against the exact result averages 50 dB over real photos, and is at least 36 dB
 * except for hard black lines on white.
 *
 * Threads: one thread builds a recipe. A loader copies it; it may then be changed or destroyed.
 */
#ifndef SLUICE_AUGMENT_H
#define SLUICE_AUGMENT_H

#include <sluice/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_augment sluice_augment;

/* Creates an empty recipe. sluice_augment_destroy frees it; NULL is a no-op. */
SLUICE_API sluice_status sluice_augment_create(sluice_augment **recipe);
SLUICE_API void sluice_augment_destroy(sluice_augment *recipe);

/*
 * Reports the first failed call on this recipe: its name and the arguments it expects. Returns its
 * status, or OK if no call failed. The error persists and makes sluice_loader_open fail: a program
 * that ignores the calls below still never trains with a wrong recipe.
 */
SLUICE_API sluice_status sluice_augment_get_error(const sluice_augment *recipe,
                                                  sluice_error *error);

/* A step of recipes. */
typedef struct sluice_augment_step {
    uint32_t struct_size;
    uint32_t arguments; /* number of arguments */
    const char *name;   /* "random_flip" */
    const char *stage;  /* "geometry", "flip", "color", "filter", "policy", "group", "normalize",
                           "batch" */
    const char *text;   /* a short English description */
    uint32_t is_group;  /* 1: a group, for sluice_augment_begin and _end */
    /* 1: after it all images have one size, from its arguments or the batch's bucket */
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
    double preset;        /* default value; NaN: required */
    uint32_t above_least; /* 1: `least` itself is out of range */
    uint32_t reserved;    /* 0 */
    /* NULL, or the names of the values 0, 1, ... of a choice ("nearest", "bilinear"), ending with
     * NULL. */
    const char *const *words;
    /* 0: one number. Else a list, always the last argument: at most that many numbers, each in the
     * range; it may be omitted. */
    uint32_t list_most;
    uint32_t preset_count; /* numbers in `presets` */
    /* Default of an omitted list; NULL: each number's default is `preset`. */
    const double *presets;
} sluice_augment_argument;

#define SLUICE_AUGMENT_ARGUMENT_INIT                                              \
    {                                                                             \
        sizeof(sluice_augment_argument), 0, NULL, 0, 0, 0, 0, 0, NULL, 0, 0, NULL \
    }

/*
 * Report step `number`, from 0 on, and its argument `argument`, in the order in which
 * sluice_augment_add takes them. Texts are valid as long as the library is loaded. INVALID: no such
 * number, or struct_size is not set. Any thread.
 */
SLUICE_API sluice_status sluice_augment_get_step(uint32_t number, sluice_augment_step *step);
SLUICE_API sluice_status sluice_augment_get_argument(uint32_t number, uint32_t argument,
                                                     sluice_augment_argument *result);

/*
 * Adds step `name` at the end, with `count` numbers for its first arguments (NULL for 0); omitted
 * ones have their defaults. A list ("min_sizes") is the last argument and takes all numbers from
 * its place on. Units are as for the functions below: sizes in pixels, parts and probabilities from
 * 0 to 1; a choice, such as "interpolation", is its number (`words`). Errors: INVALID (no such
 * step, a group, too many arguments, one missing or out of range); STATE: the recipe has 48 steps,
 * 15 of that name (random_crop and random_resized_crop count as one, since they share random
 * numbers), or more than 128 operations per image (a policy counts num_ops operations, an AugMix 1
 * + width x (1 + depth)).
 */
SLUICE_API sluice_status sluice_augment_add(sluice_augment *recipe, const char *name,
                                            const double *arguments, uint32_t count);

/*
 * Open and close a group. Arguments as for sluice_augment_add. Steps added between the two calls
 * belong to the group, except "normalize", which is never in one.
 *   sequence       all its steps
 *   random_apply   (probability): all or none
 *   random_choice  (weights, a list of up to 16 [all 1]): one of its direct members; an inner group
 *                  counts as one
 *   random_order   all, in a random order
 * Groups nest up to 6 deep. The size after a group must not depend on the draw: all members of a
 * choice give the same size, and optional or reordered steps change no size. Errors: INVALID, STATE
 * as above; for end INVALID if the group is empty, if the weights add up to 0 or outnumber its
 * steps, or if the size would depend on the draw; STATE if no group is open.
 */
SLUICE_API sluice_status sluice_augment_begin(sluice_augment *recipe, const char *name,
                                              const double *arguments, uint32_t count);
SLUICE_API sluice_status sluice_augment_end(sluice_augment *recipe);

/*
 * Adds the policy that timm's string names: "rand-m9-mstd0.5-inc1", "augmix-m5-w4-d2", "original",
 * "v0r", "3a", ..., with timm's levels, probabilities and ranges (timm 1.0, auto_augment.py), which
 * differ from torchvision's, and as in timm's create_transform with ImageNet's mean as fill color
 * and bilinear or bicubic drawn for each operation. To change those, add "timm_augment" with its
 * arguments. docs/transforms.md describes the strings. Errors: INVALID, quoting the wrong part,
 * also where timm would silently ignore it; STATE as for sluice_augment_add.
 */
SLUICE_API sluice_status sluice_augment_timm(sluice_augment *recipe, const char *policy);

/*
 * Writes the arguments of "timm_augment" that such a string means, so that some can be changed
 * before adding it: `numbers` has space for as many as the step has arguments
 * (sluice_augment_get_step), in the order of sluice_augment_get_argument. INVALID: `error` (may be
 * NULL) quotes the wrong part.
 */
SLUICE_API sluice_status sluice_augment_timm_numbers(const char *policy, double *numbers,
                                                     sluice_error *error);

/*
 * Adds, for training, a random part of the image, resized to width x height (pixels, 1..16384). The
 * part has scale_min..scale_max of the area (0 < min <= max <= 1) and an aspect ratio of
 * ratio_min..ratio_max (width/height, > 0), log-uniform; the draw is that of torchvision's
 * RandomResizedCrop: ten tries, then the central fallback. Errors, here and below: INVALID; STATE
 * as above.
 */
SLUICE_API sluice_status sluice_augment_random_resized_crop(sluice_augment *recipe, uint32_t width,
                                                            uint32_t height, double scale_min,
                                                            double scale_max, double ratio_min,
                                                            double ratio_max);

/*
 * Adds, for evaluation, a resize of the shorter side to `shorter_side` pixels (the longer one with
 * torchvision's rounding) and a center crop of width x height. INVALID if `shorter_side` <
 * max(width, height).
 */
SLUICE_API sluice_status sluice_augment_resize_center_crop(sluice_augment *recipe,
                                                           uint32_t shorter_side, uint32_t width,
                                                           uint32_t height);

/*
 * Adds, for training on small images (CIFAR), `padding` black pixels on each side and a random
 * width x height window, without resizing. An image that is smaller than the window after padding
 * is a bad sample.
 */
SLUICE_API sluice_status sluice_augment_random_crop(sluice_augment *recipe, uint32_t width,
                                                    uint32_t height, uint32_t padding);

/* Adds a horizontal flip with the given probability, 0..1. */
SLUICE_API sluice_status sluice_augment_random_flip(sluice_augment *recipe, double probability);

/*
 * Adds color jitter: factors drawn from [max(0, 1-x), 1+x] for brightness, contrast and saturation
 * (each at least 0; 0 turns it off), applied in a random order to 8-bit pixels, with the arithmetic
 * of Pillow's ImageEnhance (Brightness, Contrast, Color). For hue as well, use sluice_augment_add
 * with a fourth argument.
 */
SLUICE_API sluice_status sluice_augment_color_jitter(sluice_augment *recipe, double brightness,
                                                     double contrast, double saturation);

/*
 * Adds (value/255 - mean[c]) / stddev[c], for channels = 3; stddev > 0. Always the last step;
 * adding it again changes its arguments. Needs a floating dtype: with SLUICE_U8, opening the loader
 * fails. Without this step, floating output is value/255.
 */
SLUICE_API sluice_status sluice_augment_normalize(sluice_augment *recipe, const float *mean,
                                                  const float *stddev, uint32_t channels);

/*
 * Your own step. The loader's workers call it with a row's image as it is at that place of the
 * recipe: 8-bit RGB, interleaved (row y, column x and channel c are at
 * pixels[y * stride + x * 3 + c]), `height` rows of `width` pixels, `stride` bytes apart. It
 * changes the pixels in place; the size stays.
 *
 * seed: 64 random bits of this row and this step: like all draws, a pure function of the loader's
 *     seed, the epoch, the sample, the column and the step. sluice_native_random makes a sequence
 *     of it.
 * user_data: the argument of sluice_augment_native.
 * Returns 0. Any other number makes a bad sample, subject to the loader's option on_bad_sample; the
 * error names the step and the number.
 *
 * Rules. Breaking one is undefined behavior, except the last:
 *   - Threads: several workers call the function at the same time, with the same user data.
 *   - Memory: it touches only the `width * 3` bytes of each of the `height` rows, and keeps no
 *     pointer to them after returning.
 *   - It returns: no longjmp, C++ exception or thread cancellation leaves it. It does not call the
 *     loader that called it.
 *   - Time: it takes a bounded time. Closing the loader waits for it.
 *   - Result: it depends only on the pixels, the size, the seed and constant user data. Otherwise
 *     batches differ between runs, which the library cannot detect. The library may make a row
 *     again, with the same seed, so the number of calls means nothing.
 *
 * The step changes colors only: masks, boxes, points and other columns that follow the image are
 * not affected. Like all steps on pixels it must come before "normalize", so it never gets
 * floating-point pixels. After a mosaic, or where images were mixed, it is called once per row;
 * before, once per image.
 */
typedef int (*sluice_native_function)(uint8_t *pixels, uint32_t width, uint32_t height,
                                      size_t stride, uint64_t seed, void *user_data);

/*
 * Adds your own step at the end, or to the open group. sluice_augment_get_step does not list it,
 * since numbers and words cannot describe it.
 *
 * name: for errors; 1 to 63 bytes of text without control characters; copied. NULL: "native".
 * free_user_data: called once with user_data, when no recipe, list of columns or loader has the
 * step any more, on the thread that destroys or closes the last of them. If this function fails, it
 *     is still called, at the latest when the recipe is destroyed. It must not call the library.
 * May be NULL. The function's code must stay loaded until then. Errors: INVALID (no function, an
 * invalid name); STATE as for sluice_augment_add; NOMEM.
 */
SLUICE_API sluice_status sluice_augment_native(sluice_augment *recipe,
                                               sluice_native_function function, void *user_data,
                                               void (*free_user_data)(void *user_data),
                                               const char *name);

/*
 * Returns 64 random bits and advances `state`: SplitMix64 (Steele, Lea and Flood, 2014). Start with
 * the seed of the call. Inline, so a library of steps need not be linked with sluice.
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
