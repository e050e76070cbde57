/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes of papers. docs/recipes.md has them too, and names their sources.
 *
 *     recipes DATASET NAME      runs one epoch of that recipe; counts rows by size
 */
#include <sluice/sluice.h>
#include <stdio.h>
#include <string.h>

/* ---- as in docs/recipes.md ---- */

#define ADD(recipe, name, ...)                                      \
    sluice_augment_add(recipe, name, (const double[]){__VA_ARGS__}, \
                       sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

enum { NEAREST, BILINEAR, BICUBIC, LANCZOS }; /* the numbers of "interpolation" */

static void as_imagenet(sluice_augment *r)
{
    ADD(r, "normalize", 0.485, 0.456, 0.406, 0.229, 0.224, 0.225);
}

/* Resizes the shorter side to `shorter` pixels, then cuts out the centre. */
static void evaluation(sluice_augment *r, double shorter, double size, double interpolation)
{
    ADD(r, "resize_center_crop", shorter, size, size, interpolation);
    as_imagenet(r);
}

/* A1, A2: 224 and "rand-m7-mstd0.5-inc1"; A3: 160 and "rand-m6-mstd0.5-inc1". */
static void resnet_strikes_back(sluice_augment *r, double size, const char *policy)
{
    sluice_augment_begin(r, "random_choice", NULL, 0); /* timm's "random" interpolation */
    ADD(r, "random_resized_crop", size, size, 0.08, 1, 3.0 / 4, 4.0 / 3, BILINEAR);
    ADD(r, "random_resized_crop", size, size, 0.08, 1, 3.0 / 4, 4.0 / 3, BICUBIC);
    sluice_augment_end(r);
    ADD(r, "random_flip", 0.5);
    sluice_augment_timm(r, policy);
    as_imagenet(r);
}

/* ImageNet-1k; with simple_crop ImageNet-21k. */
static void deit3(sluice_augment *r, double size, int simple_crop)
{
    if (simple_crop) {
        ADD(r, "resize_shorter", size, 0, BICUBIC);
        ADD(r, "random_crop", size, size, 4, 2); /* 2: reflect */
    } else {
        ADD(r, "random_resized_crop", size, size, 0.08, 1, 3.0 / 4, 4.0 / 3, BICUBIC);
    }
    ADD(r, "random_flip", 0.5);
    sluice_augment_begin(r, "random_choice", NULL, 0);
    ADD(r, "random_grayscale", 1);
    ADD(r, "random_solarize", 128, 1);
    ADD(r, "pillow_blur", 0.1, 2);
    sluice_augment_end(r);
    ADD(r, "color_jitter", 0.3, 0.3, 0.3);
    as_imagenet(r);
}

/* Pre-training. */
static void mae(sluice_augment *r, double size)
{
    ADD(r, "random_resized_crop", size, size, 0.2, 1, 3.0 / 4, 4.0 / 3, BICUBIC);
    ADD(r, "random_flip", 0.5);
    as_imagenet(r);
}

/* One of SimCLR's two views; values stay in [0, 1]. */
static void simclr(sluice_augment *r, double size, double strength)
{
    const int kernel = (int)size / 20 * 2 + 1; /* odd, about a tenth of the side */
    ADD(r, "random_resized_crop", size, size, 0.08, 1, 3.0 / 4, 4.0 / 3, BICUBIC);
    ADD(r, "random_flip", 0.5);
    sluice_augment_begin(r, "random_apply", (const double[]){0.8}, 1);
    ADD(r, "color_jitter", 0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength);
    sluice_augment_end(r);
    ADD(r, "random_grayscale", 0.2);
    sluice_augment_begin(r, "random_apply", (const double[]){0.5}, 1);
    ADD(r, "gaussian_blur", kernel, kernel, 0.1, 2);
    sluice_augment_end(r);
    ADD(r, "normalize", 0, 0, 0, 1, 1, 1);
}

/*
 * One of DINO's ten views:
 * - 2 large views of 224 pixels, area 0.4 to 1: blur 1, solarize 0; and blur 0.1, solarize 0.2;
 * - 8 small views of 96 pixels, area 0.05 to 0.4: blur 0.5, solarize 0.
 * iBOT: large views have area 0.14 to 1. DINOv2: areas 0.32 to 1 and 0.05 to 0.32, blur 0, 0.9 and
 * 0.5, with "gaussian_blur", 9, 9, 0.1, 2 in place of "pillow_blur".
 */
static void dino_view(sluice_augment *r, double size, double least, double most, double blur,
                      double solarize)
{
    ADD(r, "random_resized_crop", size, size, least, most, 3.0 / 4, 4.0 / 3, BICUBIC);
    ADD(r, "random_flip", 0.5);
    sluice_augment_begin(r, "random_apply", (const double[]){0.8}, 1);
    ADD(r, "color_jitter", 0.4, 0.4, 0.2, 0.1);
    sluice_augment_end(r);
    ADD(r, "random_grayscale", 0.2);
    sluice_augment_begin(r, "random_apply", &blur, 1);
    ADD(r, "pillow_blur", 0.1, 2);
    sluice_augment_end(r);
    ADD(r, "random_solarize", 128, solarize);
    as_imagenet(r);
}

/* vit_b_16, vit_b_32, vit_l_16 or vit_l_32 */
static void torchvision_vit(sluice_augment *r, const char *model)
{
    ADD(r, "random_resized_crop", 224, 224);
    ADD(r, "random_flip", 0.5);
    if (strcmp(model, "vit_b_32") == 0) {
        ADD(r, "auto_augment", 0, BILINEAR); /* 0: imagenet */
    } else if (strcmp(model, "vit_l_16") == 0) {
        ADD(r, "trivial_augment_wide", 31, BILINEAR);
        ADD(r, "random_erasing", 0.1);
    } else {
        ADD(r, "rand_augment", 2, 9, 31, BILINEAR);
    }
    as_imagenet(r);
}

/* Detection: a random scale, then a square. Scales of 0.8 to 1.25: standard scale jitter. */
static void large_scale_jitter(sluice_augment *r, double size)
{
    ADD(r, "scale_jitter", size, size, 0.1, 2);
    ADD(r, "fixed_size_crop", size, size, 0, 123, 117, 104); /* 0: constant */
    ADD(r, "random_flip", 0.5);
    as_imagenet(r);
}

/* Resizes the longer side to `size`, pads on the right and below. */
static void large_scale_jitter_evaluation(sluice_augment *r, double size)
{
    ADD(r, "random_shortest_size", size, BILINEAR, size);
    ADD(r, "fixed_size_crop", size, size, 0, 123, 117, 104);
    as_imagenet(r);
}

/* Mosaics until end_epoch (0: always). Moves by up to 1/10 of `size`, 1/20 of the mosaic. */
static void yolo(sluice_augment *r, double size, double end_epoch)
{
    ADD(r, "mosaic", size, 2, 114, 114, 114, 1, end_epoch);
    ADD(r, "random_affine", 0, 0, 0.05, 0.05, 0.5, 1.5, 0, 0, 0, 0, BILINEAR, 114);
    ADD(r, "center_crop", size, size);
    ADD(r, "random_hsv", 0.015, 0.7, 0.4);
    ADD(r, "random_flip", 0.5);
}

/* Centred, not enlarged; values / 255. */
static void yolo_evaluation(sluice_augment *r, double size)
{
    ADD(r, "letter_box", size, size, 114, 114, 114, 0);
}

/* ---- as in docs/recipes.md until here ---- */

static int add_named(sluice_augment *r, const char *name)
{
    if (strcmp(name, "a1") == 0 || strcmp(name, "a2") == 0) {
        resnet_strikes_back(r, 224, "rand-m7-mstd0.5-inc1");
    } else if (strcmp(name, "a3") == 0) {
        resnet_strikes_back(r, 160, "rand-m6-mstd0.5-inc1");
    } else if (strcmp(name, "deit3") == 0 || strcmp(name, "deit3-21k") == 0) {
        deit3(r, 224, strcmp(name, "deit3-21k") == 0);
    } else if (strcmp(name, "mae") == 0) {
        mae(r, 224);
    } else if (strcmp(name, "simclr") == 0) {
        simclr(r, 224, 1);
    } else if (strcmp(name, "dino-large") == 0) {
        dino_view(r, 224, 0.4, 1, 0.1, 0.2);
    } else if (strcmp(name, "dino-small") == 0) {
        dino_view(r, 96, 0.05, 0.4, 0.5, 0);
    } else if (strncmp(name, "vit_", 4) == 0) {
        torchvision_vit(r, name);
    } else if (strcmp(name, "lsj") == 0) {
        large_scale_jitter(r, 224);
    } else if (strcmp(name, "lsj-evaluation") == 0) {
        large_scale_jitter_evaluation(r, 224);
    } else if (strcmp(name, "yolo") == 0) {
        yolo(r, 224, 0);
    } else if (strcmp(name, "yolo-evaluation") == 0) {
        yolo_evaluation(r, 224);
    } else if (strcmp(name, "evaluation") == 0) {
        evaluation(r, 256, 224, BICUBIC);
    } else {
        fprintf(stderr,
                "there is no recipe %s: a1, a2, a3, deit3, deit3-21k, mae, simclr, "
                "dino-large, dino-small, vit_b_16, vit_b_32, vit_l_16, vit_l_32, evaluation, "
                "lsj, lsj-evaluation, yolo, yolo-evaluation\n",
                name);
        return -1;
    }
    return 0;
}

static sluice_status run(const char *path, const sluice_augment *recipe, sluice_error *error)
{
    sluice_dataset *data = NULL;
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    unsigned rows = 0;
    options.dtype = SLUICE_F32;
    options.layout = SLUICE_NCHW;
    options.last_batch = SLUICE_LAST_SHORT;
    sluice_status status = sluice_dataset_open(&data, &path, 1, NULL, error);
    if (status == SLUICE_OK) {
        status = sluice_loader_open(&loader, data, recipe, &options, error);
    }
    if (status == SLUICE_OK) {
        status = sluice_loader_start_epoch(loader, 0);
    }
    sluice_tensor image = SLUICE_TENSOR_INIT;
    while (status == SLUICE_OK && (status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        sluice_batch_tensor(batch, "image", &image);
        rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
    if (status == SLUICE_END) {
        printf("%u rows of 3 x %d x %d\n", rows, (int)image.shape[2], (int)image.shape[3]);
    } else if (loader != NULL) {
        sluice_loader_get_error(loader, error);
    }
    sluice_loader_close(loader);
    sluice_dataset_close(data);
    return status;
}

int main(int argc, char **argv)
{
    sluice_augment *recipe = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (argc != 3) {
        fprintf(stderr, "usage: recipes DATASET NAME\n");
        return 2;
    }
    sluice_augment_create(&recipe);
    if (add_named(recipe, argv[2]) != 0) {
        sluice_augment_destroy(recipe);
        return 2;
    }
    const sluice_status status = run(argv[1], recipe, &error);
    sluice_augment_destroy(recipe);
    if (status < 0) {
        fprintf(stderr, "%s\n", error.text);
    }
    return status < 0;
}
