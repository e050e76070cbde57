/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader of ten views of each image, with one to four workers: batches and errors of bad samples
 * are the same as if each view opened and decoded the image separately.
 */
#include "loader.h"
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { CLASSES = 3, PER_CLASS = 12, VIEWS = 10, LARGE = 2, STEPS_MAX = 16, WORKERS_MAX = 4 };
enum { BAD = 7, CUT = 20 };

static photo_folder photos;

/* One sample is not an image, one is truncated. */
static int setup(void **state)
{
    char path[300];
    static uint8_t bytes[1 << 16];
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    photo_folder_file(&photos, BAD, path, sizeof(path));
    write_file(path, "no picture", 10);
    photo_folder_file(&photos, CUT, path, sizeof(path));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof(bytes), file);
    assert_int_equal(fclose(file), 0);
    write_file(path, bytes, (uint32_t)size / 2);
    return 0;
}

static int teardown(void **state)
{
    photo_folder_remove(&photos);
    return 0;
}

static void add_view(sluice_columns *columns, uint32_t number)
{
    char name[16];
    sluice_augment *recipe;
    const double side = number < LARGE ? 40 : 16;
    const double crop[] = {side, side, number < LARGE ? 0.4 : 0.05, number < LARGE ? 1 : 0.4};
    (void)snprintf(name, sizeof(name), "view%u", number);
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "random_resized_crop", crop, 4), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(recipe, 0.5), SLUICE_OK);
    const sluice_column column = {.struct_size = sizeof(column),
                                  .kind = SLUICE_COLUMN_IMAGE,
                                  .field = "image",
                                  .name = name,
                                  .recipe = recipe,
                                  .dtype = SLUICE_U8};
    assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    sluice_augment_destroy(recipe);
}

static sluice_loader *open_views(uint32_t workers, bool apart)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = setup_options();
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_columns *columns;
    sluice_loader *loader = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    for (uint32_t i = 0; i < VIEWS; i++) {
        add_view(columns, i);
    }
    options.columns = columns;
    options.workers = workers;
    options.end_epoch = 2; /* otherwise it would work ahead and reach more bad samples */
    options.on_bad_sample = SLUICE_BAD_MASK;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    loader->columns.apart = apart;
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    return loader;
}

static const void *bytes_of(const sluice_batch *batch, const char *name, size_t *bytes)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    *bytes = tensor.size_bytes;
    return tensor.data;
}

static void must_be_equal(const sluice_batch *a, const sluice_batch *b, const char *name)
{
    size_t sizes[2];
    const void *of_a = bytes_of(a, name, &sizes[0]);
    const void *of_b = bytes_of(b, name, &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(of_a, of_b, sizes[0]);
}

/* Compares all arrays of an epoch; returns its number of steps. */
static uint32_t compare_epoch(sluice_loader *a, sluice_loader *b)
{
    uint32_t steps = 0;
    assert_int_equal(sluice_loader_start_epoch(a, 1), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(b, 1), SLUICE_OK);
    for (;; steps++) {
        sluice_batch *of_a = NULL;
        sluice_batch *of_b = NULL;
        const sluice_status status = sluice_loader_next(a, &of_a, -1);
        assert_int_equal(sluice_loader_next(b, &of_b, -1), status);
        if (status != SLUICE_OK) {
            assert_int_equal(status, SLUICE_END);
            return steps;
        }
        for (uint32_t i = 0; i < VIEWS; i++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "view%u", i);
            must_be_equal(of_a, of_b, name);
        }
        must_be_equal(of_a, of_b, "index");
        must_be_equal(of_a, of_b, "status");
        must_be_equal(of_a, of_b, "mask");
        sluice_batch_release(of_a);
        sluice_batch_release(of_b);
    }
}

TEST(views_by_one_to_four_workers)
{
    for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++) {
        sluice_loader *together = open_views(workers, false);
        sluice_loader *apart = open_views(1, true);
        sluice_loader_stats stats[2] = {SLUICE_LOADER_STATS_INIT, SLUICE_LOADER_STATS_INIT};
        assert_true(compare_epoch(together, apart) > 0);
        assert_int_equal(sluice_loader_get_stats(together, &stats[0]), SLUICE_OK);
        assert_int_equal(sluice_loader_get_stats(apart, &stats[1]), SLUICE_OK);
        assert_true(stats[1].bad_samples > 0);
        assert_int_equal(stats[0].bad_samples, stats[1].bad_samples);
        sluice_loader_close(together);
        sluice_loader_close(apart);
    }
}

TEST_GROUP(setup, teardown)
