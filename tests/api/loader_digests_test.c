/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares batches of recipes with digests that every processor must produce: x86-64 with each
 * instruction set, and AArch64. A line of photos.txt or boxes.txt is a recipe:
 *
 *   NAME DIGEST DTYPE LAYOUT EXACT STEP;STEP;...
 *
 * A STEP is `name:number,number`, `begin name:number`, `end`, or `timm POLICY`.
 *
 *   loader_digests_test DATA            the test; DATA: tests/data
 *   loader_digests_test DATA --print    the same lines with the digests of this build
 */
#include "test.h"

#include <sluice/sluice.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LINE_MOST = 1024, NUMBERS_MOST = 16, LENGTH = 64 };

typedef struct recipe_line {
    const char *name;
    uint64_t digest;
    const char *dtype;
    const char *layout;
    bool exact;
    char *steps;
} recipe_line;

static const char *root;

static void must(sluice_status status, const sluice_error *error, const char *name)
{
    if (status < 0) {
        (void)fprintf(stderr, "%s: %s: %s\n", name, sluice_status_name(status), error->text);
        abort();
    }
}

/* ---- the lines ---- */

/* Cuts off the next word of `text`. */
static char *next_word(char **text)
{
    char *word = strsep(text, " ");
    assert_non_null(*text);
    return word;
}

static recipe_line read_line(char *line)
{
    recipe_line read = {.name = next_word(&line)};
    char *end = NULL;
    read.digest = strtoull(next_word(&line), &end, 16);
    assert_int_equal(*end, '\0');
    read.dtype = next_word(&line);
    read.layout = next_word(&line);
    read.exact = strcmp(next_word(&line), "1") == 0;
    line[strcspn(line, "\n")] = '\0';
    read.steps = line;
    return read;
}

static sluice_status add_step(sluice_augment *recipe, char *step)
{
    double numbers[NUMBERS_MOST];
    uint32_t count = 0;
    if (strcmp(step, "end") == 0) {
        return sluice_augment_end(recipe);
    }
    if (strncmp(step, "timm ", 5) == 0) {
        return sluice_augment_timm(recipe, step + 5);
    }
    char *text = step;
    const char *name = strsep(&text, ":");
    for (char *number; (number = strsep(&text, ",")) != NULL; count++) {
        assert_in_range(count, 0, NUMBERS_MOST - 1);
        numbers[count] = strtod(number, NULL);
    }
    return strncmp(name, "begin ", 6) == 0 ? sluice_augment_begin(recipe, name + 6, numbers, count)
                                           : sluice_augment_add(recipe, name, numbers, count);
}

static sluice_augment *make_recipe(const recipe_line *line)
{
    char copy[LINE_MOST];
    char *steps = copy;
    sluice_augment *recipe = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", line->steps);
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    for (char *step; (step = strsep(&steps, ";")) != NULL;) {
        if (add_step(recipe, step) != SLUICE_OK) {
            fail_msg("%s: no step %s", line->name, step);
        }
    }
    return recipe;
}

static int32_t dtype_of(const char *name)
{
    static const char *const names[] = {
        [SLUICE_U8] = "u8", [SLUICE_F32] = "f32", [SLUICE_F16] = "f16", [SLUICE_BF16] = "bf16"};
    for (int32_t i = 0; i < (int32_t)(sizeof(names) / sizeof(names[0])); i++) {
        if (names[i] != NULL && strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    fail_msg("no dtype %s", name);
    return -1;
}

static int32_t layout_of(const char *name)
{
    return strcmp(name, "nchw") == 0 ? SLUICE_NCHW : SLUICE_NHWC;
}

/* ---- photos, and photos with boxes, points and shapes ---- */

static sluice_dataset *open_photos(void)
{
    char path[LINE_MOST];
    (void)snprintf(path, sizeof(path), "%s/before/photos", root);
    const char *paths[] = {path};
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    must(sluice_dataset_open(&dataset, paths, 1, NULL, &error), &error, path);
    return dataset;
}

static sluice_dataset *open_boxes(void)
{
    static const char *const fields[] = {"image=image",         "boxes=boxes",
                                         "labels=labels",       "iscrowd=iscrowd",
                                         "keypoints=keypoints", "segmentation=segmentation"};
    char path[LINE_MOST];
    (void)snprintf(path, sizeof(path), "%s/annotations/instances_before.json", root);
    const char *paths[] = {path};
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = sizeof(fields) / sizeof(fields[0]);
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    must(sluice_dataset_open(&dataset, paths, 1, &options, &error), &error, path);
    return dataset;
}

/* The image and every column that follows it. */
static sluice_columns *columns_of_boxes(const recipe_line *line, const sluice_augment *recipe)
{
    const sluice_column columns[] = {
        {.kind = SLUICE_COLUMN_IMAGE,
         .field = "image",
         .recipe = recipe,
         .dtype = dtype_of(line->dtype),
         .layout = layout_of(line->layout)},
        {.kind = SLUICE_COLUMN_BOXES,
         .field = "boxes",
         .length = LENGTH,
         .box_format = SLUICE_BOX_XYWH,
         .shapes = "segmentation"},
        {.kind = SLUICE_COLUMN_RAGGED, .field = "labels", .length = LENGTH, .follows = "boxes"},
        {.kind = SLUICE_COLUMN_POINTS,
         .field = "keypoints",
         .length = LENGTH,
         .follows = "boxes",
         .point_values = 3},
        {.kind = SLUICE_COLUMN_INSTANCES,
         .field = "segmentation",
         .length = LENGTH,
         .follows = "boxes"},
        {.kind = SLUICE_COLUMN_GEOMETRY, .name = "where", .follows = "image"},
        {.kind = SLUICE_COLUMN_MASK,
         .field = "segmentation",
         .name = "map",
         .labels = "labels",
         .crowds = "iscrowd",
         .fill = 255},
    };
    /* Class maps cannot be blended. */
    const size_t count =
        sizeof(columns) / sizeof(columns[0]) - (strstr(line->name, "mixup") != NULL);
    sluice_columns *made = NULL;
    assert_int_equal(sluice_columns_create(&made), SLUICE_OK);
    for (size_t i = 0; i < count; i++) {
        sluice_column column = columns[i];
        column.struct_size = sizeof(column);
        assert_int_equal(sluice_columns_add(made, &column), SLUICE_OK);
    }
    return made;
}

/* ---- digests ---- */

static void add_batch(XXH3_state_t *hash, const sluice_batch *batch)
{
    for (uint32_t i = 0; i < sluice_batch_columns(batch); i++) {
        const char *name = sluice_batch_column_name(batch, i);
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_get_column(batch, i, &tensor), SLUICE_OK);
        (void)XXH3_64bits_update(hash, name, strlen(name) + 1);
        (void)XXH3_64bits_update(hash, &tensor.dtype, sizeof(tensor.dtype));
        (void)XXH3_64bits_update(hash, tensor.shape, tensor.dims * sizeof(tensor.shape[0]));
        (void)XXH3_64bits_update(hash, tensor.data, tensor.size_bytes);
    }
}

static uint64_t digest_of_epoch(sluice_loader *loader, const char *name)
{
    XXH3_state_t hash;
    sluice_batch *batch = NULL;
    (void)XXH3_64bits_reset(&hash);
    sluice_status status = sluice_loader_start_epoch(loader, 1);
    while (status == SLUICE_OK && (status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        add_batch(&hash, batch);
        sluice_batch_release(batch);
    }
    sluice_error error = SLUICE_ERROR_INIT;
    (void)sluice_loader_get_error(loader, &error);
    must(status, &error, name);
    return XXH3_64bits_digest(&hash);
}

static uint64_t digest_of(sluice_dataset *dataset, const recipe_line *line, bool boxes)
{
    sluice_augment *recipe = make_recipe(line);
    sluice_columns *columns = boxes ? columns_of_boxes(line, recipe) : NULL;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 5;
    options.workers = 1 + (uint32_t)(strlen(line->name) % 3);
    options.seed = 7;
    options.exact = line->exact;
    options.last_batch = SLUICE_LAST_PAD;
    options.columns = columns;
    if (!boxes) {
        options.dtype = dtype_of(line->dtype);
        options.layout = layout_of(line->layout);
    }
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    must(sluice_loader_open(&loader, dataset, boxes ? NULL : recipe, &options, &error), &error,
         line->name);
    const uint64_t digest = digest_of_epoch(loader, line->name);
    sluice_loader_close(loader);
    sluice_columns_destroy(columns);
    sluice_augment_destroy(recipe);
    return digest;
}

/* Compares the lines of `file`, or prints them. Returns the number of differences. */
static uint32_t walk(const char *file, uint32_t lines, bool boxes, bool print)
{
    char path[LINE_MOST];
    char text[LINE_MOST];
    uint32_t differ = 0;
    uint32_t read = 0;
    sluice_dataset *dataset = boxes ? open_boxes() : open_photos();
    (void)snprintf(path, sizeof(path), "%s/digests/%s", root, file);
    FILE *from = fopen(path, "re");
    assert_non_null(from);
    for (; fgets(text, sizeof(text), from) != NULL; read++) {
        const recipe_line line = read_line(text);
        const uint64_t digest = digest_of(dataset, &line, boxes);
        if (print) {
            (void)printf("%s %016" PRIx64 " %s %s %d %s\n", line.name, digest, line.dtype,
                         line.layout, line.exact, line.steps);
        } else if (digest != line.digest) {
            (void)fprintf(stderr, "%s: %016" PRIx64 " instead of %016" PRIx64 "\n", line.name,
                          digest, line.digest);
            differ++;
        }
    }
    (void)fclose(from);
    sluice_dataset_close(dataset);
    assert_int_equal(read, lines);
    return differ;
}

TEST(photos_are_the_same_on_every_processor)
{
    assert_int_equal(walk("photos.txt", 51, false, false), 0);
}

TEST(boxes_points_and_shapes_are_the_same_on_every_processor)
{
    assert_int_equal(walk("boxes.txt", 10, true, false), 0);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)printf("usage: %s DATA [--print]\n", argv[0]);
        return 2;
    }
    root = argv[1];
    if (argc == 3 && strcmp(argv[2], "--print") == 0) {
        (void)walk("photos.txt", 51, false, true);
        (void)printf("\n");
        (void)walk("boxes.txt", 10, true, true);
        return 0;
    }
    return test_run(NULL, NULL);
}
