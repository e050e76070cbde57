/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_composed_rig.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* mosaic: size grid fill fill fill probability end_epoch nearest. resize: width height nearest. */
#define MOSAIC "mosaic 32 2 114 114 114 1 0 0"
#define RESIZE "resize 32 32 0"

const composed_case composed_cases[] = {
    {.name = "mosaic",
     .model = MODEL_MOSAIC,
     .members = 4,
     .steps = {MOSAIC, "center_crop 32 32", "random_flip 0.5"},
     .partners = "any,same_class,any"},
    {.name = "mixup",
     .model = MODEL_MIXUP,
     .members = 2,
     .steps = {RESIZE, "random_flip 0.5", "mixup_partner 8 0.8"}},
    {.name = "copy-paste",
     .model = MODEL_PASTE,
     .members = 2,
     .steps = {RESIZE, "random_flip 0.5", "copy_paste 0.9 0.6"},
     .partners = "other_class"},
    {.name = "copy-paste in episodes",
     .model = MODEL_PASTE,
     .members = 2,
     .steps = {RESIZE, "random_vertical_flip 0.5", "copy_paste"},
     .partners = "other_class",
     .episode_classes = 3,
     .episode_samples = 2},
    {.name = "episodes",
     .model = MODEL_ALONE,
     .members = 1,
     .steps = {RESIZE, "random_flip 0.5"},
     .episode_classes = 2,
     .episode_samples = 3},
    {.name = "padded sizes",
     .model = MODEL_ALONE,
     .members = 1,
     .steps = {"random_flip 0.5"},
     .sizes = SLUICE_SIZES_PADDED},
    {.name = "ragged sizes",
     .model = MODEL_ALONE,
     .members = 1,
     .steps = {"random_vertical_flip 0.5"},
     .sizes = SLUICE_SIZES_RAGGED},
    {.name = "buckets",
     .model = MODEL_ALONE,
     .members = 1,
     .steps = {"bucket_crop 0 0", "random_flip 0.5"},
     .buckets = "32x32,64x32,32x64"},
    {.name = "mosaics of nine, turned",
     .model = MODEL_NONE,
     .members = 9,
     .steps = {"mosaic 32 3 114 114 114 0.7", "random_affine -20 20 0.1 0.1 0.5 1.5",
               "center_crop 32 32", "random_hsv"}},
    {.name = "mosaics, mixed",
     .model = MODEL_NONE,
     .members = 8,
     .steps = {MOSAIC, "random_affine 0 0 0.1 0.1 0.5 1.5", "center_crop 32 32", "mixup_partner",
               "random_flip"},
     .shuffle = SLUICE_SHUFFLE_BLOCK},
    {.name = "mosaics, pasted",
     .model = MODEL_NONE,
     .members = 8,
     .steps = {MOSAIC, "random_perspective 0.3 0.5", "center_crop 32 32", "copy_paste",
               "random_vertical_flip"}},
};
const uint32_t composed_case_count = sizeof(composed_cases) / sizeof(composed_cases[0]);

static void composed_must(sluice_status status, const sluice_error *error)
{
    char text[1200];
    if (status != SLUICE_OK) {
        (void)sluice_error_format(error, text, sizeof(text));
        fail_msg("%s", text);
    }
}

/* "name number number ..." */
static void add_step(sluice_augment *recipe, const char *step)
{
    char name[40];
    double numbers[16];
    uint32_t count = 0;
    int length;
    assert_int_equal(sscanf(step, "%39s%n", name, &length), 1);
    for (const char *at = step + length; *at != 0; count++) {
        char *end;
        numbers[count] = strtod(at, &end);
        assert_true(end > at);
        at = end;
    }
    (void)sluice_augment_add(recipe, name, numbers, count);
}

static sluice_augment *make_recipe(const composed_case *of)
{
    sluice_augment *recipe;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    for (size_t i = 0; i < 6 && of->steps[i] != NULL; i++) {
        add_step(recipe, of->steps[i]);
    }
    composed_must(sluice_augment_get_error(recipe, &error), &error);
    return recipe;
}

static sluice_column column_of(sluice_column_kind kind, const char *field, const char *name)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = kind;
    column.field = field;
    column.name = name;
    return column;
}

static void add_pixels(sluice_columns *columns, const composed_case *of)
{
    sluice_augment *recipe = make_recipe(of);
    sluice_column image = column_of(SLUICE_COLUMN_IMAGE, "image", "image");
    image.recipe = recipe;
    image.sizes = of->sizes;
    if (of->sizes != SLUICE_SIZES_ONE) {
        image.max_width = image.max_height = SCENE_SIDE_MAX;
    }
    (void)sluice_columns_add(columns, &image);
    sluice_augment_destroy(recipe);
    const sluice_column geometry = column_of(SLUICE_COLUMN_GEOMETRY, NULL, "geometry");
    (void)sluice_columns_add(columns, &geometry);
    if (of->model == MODEL_MIXUP || strcmp(of->name, "mosaics, mixed") == 0) {
        return; /* pixel labels cannot be blended */
    }
    sluice_column mask = column_of(SLUICE_COLUMN_MASK, "mask", "pixels");
    mask.fill = 255;
    (void)sluice_columns_add(columns, &mask);
    sluice_column map = column_of(SLUICE_COLUMN_MASK, "shapes", "classes");
    map.labels = "labels";
    map.dtype = SLUICE_I64;
    map.background = 7;
    map.fill = 9;
    (void)sluice_columns_add(columns, &map);
}

static void add_objects(sluice_columns *columns, const composed_case *of)
{
    const uint64_t length = (uint64_t)SCENE_OBJECTS_MAX * of->members;
    sluice_column boxes = column_of(SLUICE_COLUMN_BOXES, "boxes", "boxes");
    boxes.shapes = "shapes";
    boxes.length = length;
    (void)sluice_columns_add(columns, &boxes);
    static const struct {
        sluice_column_kind kind;
        const char *field, *name;
    } followers[] = {{SLUICE_COLUMN_RAGGED, "labels", "labels"},
                     {SLUICE_COLUMN_PADDED, "labels", "slots"},
                     {SLUICE_COLUMN_POINTS, "points", "points"},
                     {SLUICE_COLUMN_INSTANCES, "shapes", "instances"}};
    for (size_t i = 0; i < sizeof(followers) / sizeof(followers[0]); i++) {
        sluice_column column = column_of(followers[i].kind, followers[i].field, followers[i].name);
        column.follows = "boxes";
        column.length = length;
        (void)sluice_columns_add(columns, &column);
    }
    for (uint32_t i = 0; i < of->members; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "id%u", i);
        sluice_column column = column_of(SLUICE_COLUMN_NUMBER, "id", name);
        column.partner = i;
        (void)sluice_columns_add(columns, &column);
    }
}

sluice_loader *composed_open(const char *path, const composed_case *of,
                             const composed_options *options)
{
    uint32_t classes[SCENES];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset;
    sluice_columns *columns;
    sluice_loader *loader;
    sluice_loader_options how = SLUICE_LOADER_OPTIONS_INIT;
    composed_must(sluice_dataset_open(&dataset, &path, 1, NULL, &error), &error);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    add_pixels(columns, of);
    add_objects(columns, of);
    composed_must(sluice_columns_get_error(columns, &error), &error);
    scenes_classes(classes);
    how.batch_size = COMPOSED_BATCH;
    how.prefetch = 4;
    how.workers = options->workers;
    how.on_bad_sample = options->on_bad_sample;
    how.seed = options->seed;
    how.shuffle = of->shuffle;
    how.block_samples = of->shuffle == SLUICE_SHUFFLE_BLOCK ? 4 : 0;
    how.window_blocks = of->shuffle == SLUICE_SHUFFLE_BLOCK ? 3 : 0;
    how.last_batch = SLUICE_LAST_SHORT;
    how.columns = columns;
    how.partners = of->partners;
    how.buckets = of->buckets;
    how.episode_classes = of->episode_classes;
    how.episode_samples = of->episode_samples;
    if (of->partners != NULL || of->episode_classes > 0) {
        how.classes = classes;
        how.class_count = SCENES;
    }
    composed_must(sluice_loader_open(&loader, dataset, NULL, &how, &error), &error);
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    return loader;
}

/* FNV-1a. */
TEST_OWN_MEMORY static uint64_t digest_own(uint64_t digest, const uint8_t *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

/* ThreadSanitizer sees the copy read the batch. */
static uint64_t digest_bytes(uint64_t digest, const void *bytes, uint64_t count)
{
    uint8_t *own = malloc(count + 1);
    assert_non_null(own);
    if (count > 0) {
        memcpy(own, bytes, count);
    }
    digest = digest_own(digest, own, count);
    free(own);
    return digest;
}

uint64_t composed_digest(const sluice_batch *batch)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < sluice_batch_columns(batch); i++) {
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_get_column(batch, i, &tensor), SLUICE_OK);
        digest = digest_bytes(digest, tensor.shape, tensor.dims * sizeof(tensor.shape[0]));
        digest = digest_bytes(digest, tensor.data, tensor.size_bytes);
    }
    return digest;
}
