/* SPDX-License-Identifier: Apache-2.0 */
/* Tests datasets that are recognized by their folders (YOLO's labels, masks beside images, splits
 * of class folders and of tables), loaded by several workers. python/tests compares them with other
 * readers. */
#include "png_make.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { COUNT = 12, WIDTH = 20, HEIGHT = 10, BATCH = 5, WORKERS = 4 };
enum { GREY = 0, RGB = 2 };

static void layouts_folders(const char *path)
{
    char part[512];
    (void)snprintf(part, sizeof(part), "%s", test_path("%s", path));
    for (char *at = part + strlen(test_folder()) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        (void)mkdir(part, 0700);
        *at = '/';
    }
}

static void put_text(const char *path, const char *text)
{
    layouts_folders(path);
    write_file(test_path("%s", path), text, (uint32_t)strlen(text));
}

/* Writes an image; all bytes of its pixels are `value`. */
static void put_png(const char *path, uint32_t colour, uint8_t value)
{
    uint8_t rows[HEIGHT][1 + 3 * WIDTH];
    const size_t bytes = 1 + (size_t)(colour == RGB ? 3 : 1) * WIDTH;
    memset(rows, value, sizeof(rows));
    for (size_t y = 0; y < HEIGHT; y++) {
        ((uint8_t *)rows)[y * bytes] = 0;
    }
    png_file file = png_make_begin(WIDTH, HEIGHT, 8, colour, false);
    png_make_data(&file, rows, HEIGHT * bytes);
    png_make_chunk(&file, "IEND", NULL, 0);
    layouts_folders(path);
    write_file(test_path("%s", path), file.data, (uint32_t)file.size);
    png_make_free(&file);
}

/* Returns the path "FOLDER/NUMBER.ENDING", valid until the second call after this one. */
static const char *numbered(const char *folder, uint32_t number, const char *ending)
{
    static char paths[2][64];
    static unsigned next;
    char *path = paths[next++ % 2];
    (void)snprintf(path, sizeof(paths[0]), "%s/%03u.%s", folder, number, ending);
    return path;
}

static sluice_dataset *open_split(const char *name, const char *split, const char *format)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    const char *path = test_path("%s", name);
    options.split = split;
    if (sluice_dataset_open(&dataset, &path, 1, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, format);
    assert_int_equal(info.samples, COUNT);
    return dataset;
}

static sluice_column layouts_column(sluice_column_kind kind, const char *field)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = kind;
    column.field = field;
    return column;
}

typedef void layouts_check(const sluice_batch *batch, uint32_t row, uint32_t sample);

static const void *layouts_data(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor.data;
}

/* Loads an epoch of the image, whose pixels are the sample's number, and of `count` columns that
 * `check` compares. Closes the dataset. */
static void load(sluice_dataset *dataset, const sluice_column *more, size_t count,
                 layouts_check *check)
{
    sluice_columns *columns;
    sluice_loader *loader;
    sluice_batch *batch;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_column image = layouts_column(SLUICE_COLUMN_IMAGE, "image");
    image.sizes = SLUICE_SIZES_PADDED;
    image.max_width = WIDTH;
    image.max_height = HEIGHT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, &image), SLUICE_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sluice_columns_add(columns, &more[i]), SLUICE_OK);
    }
    options.batch_size = BATCH;
    options.workers = WORKERS;
    options.last_batch = SLUICE_LAST_SHORT;
    options.columns = columns;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    uint32_t rows = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        const int64_t *index = layouts_data(batch, "index");
        const uint8_t *pixels = layouts_data(batch, "image");
        for (uint32_t row = 0; row < sluice_batch_rows(batch); row++, rows++) {
            assert_int_equal(pixels[(size_t)row * WIDTH * HEIGHT * 3 + 7], index[row]);
            check(batch, row, (uint32_t)index[row]);
        }
        sluice_batch_release(batch);
    }
    assert_int_equal(sluice_loader_get_error(loader, NULL), SLUICE_OK);
    assert_int_equal(rows, COUNT);
    sluice_loader_close(loader);
}

/* Sample n has n % 3 boxes of class n % 2, and a polygon of class 1. */
static void check_yolo(const sluice_batch *batch, uint32_t row, uint32_t sample)
{
    const int64_t *offsets = layouts_data(batch, "boxes.offsets");
    const int64_t *labels = (const int64_t *)layouts_data(batch, "labels") + offsets[row];
    const float *boxes = (const float *)layouts_data(batch, "boxes") + 4 * offsets[row];
    const int64_t count = sample % 3;
    assert_int_equal(offsets[row + 1] - offsets[row], count + 1);
    for (int64_t i = 0; i <= count; i++) {
        static const float box[] = {5, 2.5F, 15, 7.5F}; /* 0.25 to 0.75 of 20 x 10 */
        static const float hull[] = {0, 5, 10, 10};
        assert_int_equal(labels[i], i < count ? sample % 2 : 1);
        assert_memory_equal(boxes + 4 * i, i < count ? box : hull, sizeof(box));
    }
}

TEST_WITH(labels_of_yolo, test_folder_make, test_folder_remove)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        char text[256];
        int length = 0;
        for (uint32_t j = 0; j < i % 3; j++) {
            length += snprintf(text + length, sizeof(text) - (size_t)length, "%u 0.5 0.5 0.5 0.5\n",
                               i % 2);
        }
        (void)snprintf(text + length, sizeof(text) - (size_t)length, "1 0 0.5 0.5 0.75 0.25 1\n");
        put_png(numbered("yolo/images/train", i, "png"), RGB, (uint8_t)i);
        put_text(numbered("yolo/labels/train", i, "txt"), text);
    }
    put_png("yolo/images/val/000.png", RGB, 0);
    put_text("yolo/labels/val/000.txt", "0 0.5 0.5 0.5 0.5\n");
    put_text("yolo/data.yaml", "train: images/train\nval: images/val\nnames: [cat, dog]\n");
    const sluice_column columns[] = {layouts_column(SLUICE_COLUMN_BOXES, "boxes"),
                                     layouts_column(SLUICE_COLUMN_RAGGED, "labels")};
    load(open_split("yolo/data.yaml", "train", "yolo"), columns, 2, check_yolo);
    load(open_split("yolo/images/train", NULL, "yolo"), columns, 2, check_yolo);
}

/* A missing data.yaml matters only where YOLO's folders exist. */
TEST_WITH(pointers_in_the_place_of_a_yaml, test_folder_make, test_folder_remove)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\n"
                                  "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2"
                                  "ca24d17e2393\nsize 12345\n";
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    for (uint32_t i = 0; i < 2; i++) {
        put_png(numbered("lfs/cats", i, "png"), RGB, (uint8_t)i);
        put_png(numbered("lfs/dogs", i, "png"), RGB, (uint8_t)i);
    }
    put_text("lfs/data.yaml", pointer);
    const char *path = test_path("lfs");
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
    put_png("lfs_boxes/train/images/000.png", RGB, 0);
    put_text("lfs_boxes/data.yaml", pointer);
    path = test_path("lfs_boxes");
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.file, "data.yaml"));
}

static void check_mask(const sluice_batch *batch, uint32_t row, uint32_t sample)
{
    const uint8_t *mask = layouts_data(batch, "seg");
    const uint8_t *stored = layouts_data(batch, "stored");
    const size_t pixel = (size_t)row * WIDTH * HEIGHT + 7;
    assert_int_equal(mask[pixel], 100 + sample);
    assert_int_equal(stored[pixel], 100 + sample);
}

TEST_WITH(masks_beside_images, test_folder_make, test_folder_remove)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        put_png(numbered("set/images/deep", i, "png"), RGB, (uint8_t)i);
        put_png(numbered("set/masks/deep", i, "png"), GREY, (uint8_t)(100 + i));
    }
    sluice_column columns[] = {layouts_column(SLUICE_COLUMN_MASK, "mask"),
                               layouts_column(SLUICE_COLUMN_TENSOR, "mask")};
    columns[0].name = "seg";
    columns[1].name = "stored";
    columns[1].dims = 2;
    columns[1].shape[0] = HEIGHT;
    columns[1].shape[1] = WIDTH;
    load(open_split("set", NULL, "masks"), columns, 2, check_mask);
}

/* The classes of all splits are a, b and c. */
static void check_label(const sluice_batch *batch, uint32_t row, uint32_t sample)
{
    const int64_t *labels = layouts_data(batch, "label");
    assert_int_equal(labels[row], sample < COUNT / 2 ? 0 : 2);
}

TEST_WITH(splits_of_class_folders, test_folder_make, test_folder_remove)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        put_png(numbered(i < COUNT / 2 ? "set/train/a" : "set/train/c", i, "png"), RGB, (uint8_t)i);
    }
    put_png("set/val/a/0.png", RGB, 0);
    put_png("set/val/b/0.png", RGB, 0);
    const sluice_column label = layouts_column(SLUICE_COLUMN_NUMBER, "label");
    load(open_split("set", "train", "folder"), &label, 1, check_label);
}

TEST_WITH(splits_of_tables, test_folder_make, test_folder_remove)
{
    char text[1024] = "file_name,label\n";
    for (uint32_t i = 0; i < COUNT; i++) {
        const size_t length = strlen(text);
        put_png(numbered("set/train", i, "png"), RGB, (uint8_t)i);
        (void)snprintf(text + length, sizeof(text) - length, "%03u.png,%s\n", i,
                       i < COUNT / 2 ? "a" : "c");
    }
    put_text("set/train/metadata.csv", text);
    put_png("set/val/000.png", RGB, 0);
    put_png("set/val/001.png", RGB, 0);
    put_text("set/val/metadata.csv", "file_name,label\n000.png,a\n001.png,b\n");
    const sluice_column label = layouts_column(SLUICE_COLUMN_NUMBER, "label");
    load(open_split("set", "train", "table"), &label, 1, check_label);
}
