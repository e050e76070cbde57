/* SPDX-License-Identifier: Apache-2.0 */
/* Tests images of several sizes without max_width and max_height: a row has space for the dataset's
 * largest image, as if its size had been given; and errors. */
#include "dataset_checks.h"
#include "shard_bytes.h"
#include "test.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 40, HEIGHT = 90, SAMPLES = 4 };

/* Width and height; the last sample has no image. */
static const uint32_t sizes[SAMPLES][2] = {{WIDTH, 30}, {25, HEIGHT}, {2, 2}, {0, 0}};

TEST_GROUP(test_folder_make, test_folder_remove)

static sluice_dataset *packed_images(void)
{
    static const uint8_t pixels[WIDTH * HEIGHT * 3];
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    const char *path = test_path("packed");
    snprintf(field.name, sizeof(field.name), "image");
    field.type = SLUICE_FIELD_IMAGE;
    options.fields = &field;
    options.field_count = 1;
    options.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, path, &options, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        sluice_value value = SLUICE_VALUE_INIT;
        value.absent = sizes[i][0] == 0;
        value.data = pixels;
        value.bytes = (uint64_t)sizes[i][0] * sizes[i][1] * 3;
        value.raw_width = sizes[i][0];
        value.raw_height = sizes[i][1];
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    return dataset_opened(path);
}

static sluice_column padded_images(uint32_t max_width, uint32_t max_height)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_IMAGE;
    column.field = "image";
    column.sizes = SLUICE_SIZES_PADDED;
    column.missing = SLUICE_MISSING_BLANK;
    column.max_width = max_width;
    column.max_height = max_height;
    return column;
}

typedef struct asked_loader {
    int32_t exif, on_bad_sample;
    uint32_t batch;
    uint64_t memory_bytes;
} asked_loader;

static sluice_status open_loader(sluice_dataset *dataset, const sluice_column *column,
                                 const asked_loader *asked, sluice_loader **loader,
                                 sluice_error *error)
{
    sluice_columns *columns = NULL;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, column), SLUICE_OK);
    options.batch_size = asked->batch;
    options.memory_bytes = asked->memory_bytes;
    options.last_batch = SLUICE_LAST_SHORT;
    options.workers = 1;
    options.shuffle = SLUICE_SHUFFLE_NONE;
    options.exif = asked->exif;
    options.on_bad_sample = asked->on_bad_sample;
    /* With O_DIRECT, a shard would be opened again, and found changed since a test wrote it. */
    options.page_cache = SLUICE_CACHE_BUFFERED;
    options.columns = columns;
    const sluice_status status = sluice_loader_open(loader, dataset, NULL, &options, error);
    sluice_columns_destroy(columns);
    return status;
}

static void expect_batch(sluice_loader *loader)
{
    sluice_batch *batch = NULL;
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(batch, "image", &tensor), SLUICE_OK);
    assert_int_equal(tensor.shape[1], HEIGHT);
    assert_int_equal(tensor.shape[2], WIDTH);
    assert_int_equal(sluice_batch_tensor(batch, "image.sizes", &tensor), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const int32_t *size = (const int32_t *)tensor.data + (size_t)2 * i;
        assert_int_equal(size[0], sizes[i][1]);
        assert_int_equal(size[1], sizes[i][0]);
    }
    sluice_batch_release(batch);
}

/* Returns the bytes of a row, from the error of a loader with too little memory for its slots. */
static uint64_t row_bytes_of(sluice_dataset *dataset, const sluice_column *column, int32_t exif)
{
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const asked_loader asked = {.exif = exif, .batch = 4096, .memory_bytes = 16 << 20};
    assert_int_equal(open_loader(dataset, column, &asked, &loader, &error), SLUICE_NOMEM);
    const char *found = strstr(error.text, "\"image\" has ");
    assert_non_null(found);
    return strtoull(found + strlen("\"image\" has "), NULL, 10);
}

TEST(space_is_what_the_dataset_needs)
{
    sluice_loader *loader = NULL;
    sluice_dataset *dataset = packed_images();
    const asked_loader asked = {.batch = SAMPLES};
    const sluice_column open = padded_images(0, 0);
    const sluice_column exact = padded_images(WIDTH, HEIGHT);
    const sluice_column turned = padded_images(HEIGHT, HEIGHT); /* as EXIF might rotate them */
    const uint64_t stored = row_bytes_of(dataset, &exact, SLUICE_EXIF_IGNORE);
    const uint64_t upright = row_bytes_of(dataset, &turned, SLUICE_EXIF_APPLY);
    assert_int_equal(row_bytes_of(dataset, &open, SLUICE_EXIF_IGNORE), stored);
    assert_int_equal(row_bytes_of(dataset, &open, SLUICE_EXIF_APPLY), upright);
    assert_int_equal(upright - stored, (HEIGHT - WIDTH) * HEIGHT * 3);
    assert_int_equal(open_loader(dataset, &open, &asked, &loader, NULL), SLUICE_OK);
    expect_batch(loader);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
}

/* If no sample can be read, opening fails with the first sample's error. Once samples can be read
 * again, the next loader finds their sizes. */
TEST(no_sample_can_be_read)
{
    const int32_t policies[] = {SLUICE_BAD_FAIL, SLUICE_BAD_MASK};
    const sluice_column column = padded_images(0, 0);
    sluice_dataset *dataset = packed_images();
    file_bytes shard;
    file_load(&shard, test_path("packed"), "shard-000000.sluice");
    uint8_t *sound = malloc(shard.size);
    assert_non_null(sound);
    memcpy(sound, shard.data, shard.size);
    for (size_t i = 0; i < 2; i++) {
        sluice_loader *loader = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        const asked_loader asked = {.batch = SAMPLES, .on_bad_sample = policies[i]};
        memset(shard.data, 0, shard.size);
        file_store(&shard, shard.size);
        assert_int_equal(open_loader(dataset, &column, &asked, &loader, &error), SLUICE_CORRUPT);
        assert_int_equal(error.sample, 0);
        memcpy(shard.data, sound, shard.size);
        file_store(&shard, shard.size);
        assert_int_equal(open_loader(dataset, &column, &asked, &loader, &error), SLUICE_OK);
        expect_batch(loader);
        sluice_loader_close(loader);
        sluice_dataset_close(dataset); /* the dataset keeps the sizes */
        dataset = packed_images();
    }
    free(sound);
    file_free(&shard);
    sluice_dataset_close(dataset);
}

TEST(sizes_that_nothing_bounds)
{
    photo_folder photos;
    const asked_loader asked = {.batch = 2};
    sluice_loader *loader = NULL;
    sluice_augment *recipe = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_column column = padded_images(0, 0);
    photo_folder_make(&photos, 2, 3);
    sluice_dataset *dataset = dataset_opened(photos.path);
    assert_int_equal(open_loader(dataset, &column, &asked, &loader, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "column \"image\" needs max_width and max_height"));
    assert_non_null(strstr(error.text, "the dataset does not say how large its images are"));
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "resize_shorter", (const double[]){16, 32}, 2),
                     SLUICE_OK);
    column.recipe = recipe;
    assert_int_equal(open_loader(dataset, &column, &asked, &loader, &error), SLUICE_OK);
    sluice_loader_close(loader);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    photo_folder_remove(&photos);
}

TEST(one_number_without_the_other)
{
    const sluice_column asked[] = {padded_images(9, 0), padded_images(0, 9)};
    sluice_column one = padded_images(9, 9);
    sluice_columns *columns = NULL;
    one.sizes = SLUICE_SIZES_ONE;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, &asked[0]), SLUICE_INVALID);
    assert_int_equal(sluice_columns_add(columns, &asked[1]), SLUICE_INVALID);
    assert_int_equal(sluice_columns_add(columns, &one), SLUICE_INVALID);
    sluice_columns_destroy(columns);
}
