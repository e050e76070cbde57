/* SPDX-License-Identifier: Apache-2.0 */
/* Tests bad samples under each policy, and invalid options. */
#include "batches.h"
#include "loader_setup.h"
#include "packed.h"
#include "shard_bytes.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASSES   4
#define PER_CLASS 8
#define SAMPLES   (CLASSES * PER_CLASS)

static photo_folder photos;

/* The faults of some photos. */
static const struct {
    uint32_t index;
    const char *what;
} bad[] = {{3, "not an image"}, {10, "empty"}, {17, "truncated"}, {30, "gone"}};
#define BAD_COUNT (sizeof(bad) / sizeof(bad[0]))

static bool is_bad(int64_t index)
{
    for (size_t i = 0; i < BAD_COUNT; i++) {
        if ((int64_t)bad[i].index == index) {
            return true;
        }
    }
    return false;
}

static void spoil(void)
{
    char path[512];
    photo_folder_file(&photos, 3, path, sizeof(path));
    write_file(path, "this is not an image", 20);
    photo_folder_file(&photos, 10, path, sizeof(path));
    write_file(path, "", 0);
    photo_folder_file(&photos, 17, path, sizeof(path));
    struct stat size;
    if (stat(path, &size) != 0 || truncate(path, size.st_size / 3) != 0) {
        abort();
    }
    photo_folder_file(&photos, 30, path, sizeof(path));
    if (unlink(path) != 0) {
        abort();
    }
}

/* The folder is listed while all photos are intact; then some are damaged. */
static sluice_loader *open_spoiled(const sluice_loader_options *options)
{
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    sluice_loader *loader = setup_loader(photos.path, options);
    spoil();
    return loader;
}

TEST(mask_keeps_the_rows)
{
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    sluice_loader *loader = open_spoiled(&options);
    batches all;
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_END);
    assert_int_equal(all.rows, SAMPLES);
    unsigned seen[SAMPLES] = {0};
    for (uint64_t i = 0; i < all.rows; i++) {
        seen[all.indices[i]]++;
        assert_int_equal(all.mask[i], !is_bad(all.indices[i]));
        assert_int_equal(all.status[i], is_bad(all.indices[i]) ? SLUICE_ROW_BAD : SLUICE_ROW_OK);
        if (!all.mask[i]) {
            assert_int_equal(all.labels[i], -1);
            for (uint64_t k = 0; k < all.row_bytes; k++) {
                assert_int_equal(all.images[i * all.row_bytes + k], 0);
            }
        }
    }
    for (int i = 0; i < SAMPLES; i++) {
        assert_int_equal(seen[i], 1);
    }
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_true(stats.bad_samples >= BAD_COUNT);
    sluice_loader_close(loader);
    batches_free(&all);
    photo_folder_remove(&photos);
}

TEST(replace_is_deterministic)
{
    batches runs[2];
    for (uint32_t i = 0; i < 2; i++) {
        sluice_loader_options options = setup_options();
        options.on_bad_sample = SLUICE_BAD_REPLACE;
        options.workers = 1 + 3 * i;
        options.prefetch = 2 + i;
        sluice_loader *loader = open_spoiled(&options);
        batches_collect(&runs[i], loader, 1);
        assert_int_equal(runs[i].end, SLUICE_END);
        sluice_loader_close(loader);
        photo_folder_remove(&photos);
    }
    assert_true(batches_equal(&runs[0], &runs[1]));
    uint32_t replaced = 0;
    for (uint64_t i = 0; i < runs[0].rows; i++) {
        assert_int_equal(runs[0].mask[i], 1);
        assert_false(is_bad(runs[0].indices[i]));
        assert_int_equal(runs[0].labels[i], runs[0].indices[i] / PER_CLASS);
        replaced += runs[0].status[i] == SLUICE_ROW_REPLACED;
    }
    assert_int_equal(replaced, BAD_COUNT);
    batches_free(&runs[0]);
    batches_free(&runs[1]);
}

/* next fails at the batch of the first bad sample, names the sample, and keeps failing. */
TEST(fail_says_which)
{
    sluice_loader_options options = setup_options();
    options.shuffle = SLUICE_SHUFFLE_NONE;
    options.batch_size = 2;
    sluice_loader *loader = open_spoiled(&options);
    batches all;
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_CORRUPT);
    assert_int_equal(all.rows, 2); /* samples 0 and 1; the next batch holds number 3 */
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_CORRUPT);
    assert_int_equal(error.sample, 3);
    assert_non_null(strstr(error.file, "c00/p0003.jpg"));
    assert_true(strlen(error.text) > 0);
    sluice_batch *batch;
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_CORRUPT);
    assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_CORRUPT);
    sluice_loader_close(loader);
    batches_free(&all);
    photo_folder_remove(&photos);
}

TEST(quarantine_lists_them)
{
    char list[300];
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.end_epoch = 1;
    temporary_directory(list, 200);
    char path[512];
    snprintf(path, sizeof(path), "%s/list.tsv", list);
    options.quarantine_path = path;
    sluice_loader *loader = open_spoiled(&options);
    batches all;
    batches_collect(&all, loader, 0);
    sluice_loader_close(loader);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[2048];
    unsigned lines = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned tabs = 0;
        for (const char *c = line; *c != '\0'; c++) {
            tabs += *c == '\t';
        }
        assert_int_equal(tabs, 5);
        assert_true(is_bad(strtoll(strchr(line, '\t'), NULL, 10)));
        assert_non_null(strstr(line, ".jpg"));
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, BAD_COUNT);
    batches_free(&all);
    remove_tree(list);
    photo_folder_remove(&photos);
}

/* Every sample is bad: replace gives up and masks, and the run still has all its batches. */
TEST(nothing_but_bad_samples)
{
    photo_folder_make(&photos, 2, 4);
    sluice_loader_options options = setup_options();
    options.batch_size = 4;
    options.on_bad_sample = SLUICE_BAD_REPLACE;
    sluice_loader *loader = setup_loader(photos.path, &options);
    for (uint32_t i = 0; i < 8; i++) {
        char path[512];
        photo_folder_file(&photos, i, path, sizeof(path));
        write_file(path, "", 0);
    }
    batches all;
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_END);
    assert_int_equal(all.rows, 8);
    for (uint64_t i = 0; i < all.rows; i++) {
        assert_int_equal(all.status[i], SLUICE_ROW_BAD);
    }
    sluice_loader_close(loader);
    batches_free(&all);
    photo_folder_remove(&photos);
}

static void expect_refused(const sluice_loader_options *options, sluice_status expected,
                           const char *word)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader;
    assert_int_equal(setup_loader_status(&loader, photos.path, options, &error), expected);
    assert_null(loader);
    if (strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not mention %s", error.text, word);
    }
}

TEST(options_are_checked)
{
    photo_folder_make(&photos, 2, 4);
    sluice_loader_options options = setup_options();
    options.batch_size = 9;
    expect_refused(&options, SLUICE_INVALID, "fewer than one global batch");
    options = setup_options();
    options.batch_size = 65537;
    expect_refused(&options, SLUICE_INVALID, "batch_size");
    options = setup_options();
    options.rank = 1;
    expect_refused(&options, SLUICE_INVALID, "rank");
    options = setup_options();
    options.dtype = -1;
    expect_refused(&options, SLUICE_INVALID, "dtype");
    options = setup_options();
    options.memory_bytes = 1000000;
    expect_refused(&options, SLUICE_NOMEM, "memory");
    options = setup_options();
    options.device = "toaster";
    expect_refused(&options, SLUICE_INVALID, "toaster");
    options = setup_options();
    options.quarantine_path = "/nonexistent/list";
    expect_refused(&options, SLUICE_IO, "quarantine");
    photo_folder_remove(&photos);
}

/* A program that ignores the status of every call still gets no loader with a wrong recipe. */
TEST(refused_recipes_are_refused)
{
    photo_folder_make(&photos, 1, 2);
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_augment *recipe = setup_recipe(false);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_loader_options options = {.struct_size = sizeof(options), .batch_size = 1};
    (void)sluice_augment_random_flip(recipe, 50); /* percent */
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, &error),
                     SLUICE_INVALID);
    assert_null(loader);
    assert_int_equal(error.status, SLUICE_INVALID);
    assert_non_null(strstr(error.text, "sluice_augment_random_flip: probability"));
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    photo_folder_remove(&photos);
}

/* A header older or newer than the library: sizes from zero to twice the struct. */
TEST(struct_sizes)
{
    photo_folder_make(&photos, 2, 4);
    union {
        sluice_loader_options options;
        uint8_t bytes[2 * sizeof(sluice_loader_options)];
    } given;
    for (uint32_t size = 0; size <= sizeof(given); size += 4) {
        memset(&given, 0, sizeof(given));
        given.options = setup_options();
        given.options.struct_size = size;
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_loader *loader;
        const sluice_status status =
            setup_loader_status(&loader, photos.path, &given.options, &error);
        /* Without batch_size, the default is 256, more than the dataset's samples. */
        assert_int_equal(status, size < 8 ? SLUICE_INVALID : SLUICE_OK);
        sluice_loader_close(loader);
        if (size > sizeof(given.options)) {
            given.bytes[size - 1] = 1;
            assert_int_equal(setup_loader_status(&loader, photos.path, &given.options, &error),
                             SLUICE_UNSUPPORTED);
        }
    }
    photo_folder_remove(&photos);
}

/* Offsets in a sample with the fields image, label and key. */
enum { LABEL_CELL = 32, FEW = 6, FEW_CLASSES = 3, WITHOUT_CLASS = 4 };

/* A label outside the classes. */
TEST(rows_without_a_class_are_bad_samples)
{
    char folder[256];
    file_bytes shard;
    sluice_loader_options options = setup_options();
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = FEW, .classes = FEW_CLASSES});
    file_load(&shard, folder, "shard-000000.sluice");
    put64(&shard, sample_at(&shard, WITHOUT_CLASS) + LABEL_CELL, FEW_CLASSES);
    seal_samples(&shard);
    file_store(&shard, shard.size);
    options.shuffle = SLUICE_SHUFFLE_NONE;
    options.batch_size = FEW;
    for (int32_t policy = SLUICE_BAD_FAIL; policy <= SLUICE_BAD_MASK; policy++) {
        batches all;
        options.on_bad_sample = policy;
        sluice_loader *loader = setup_loader(shard.path, &options);
        batches_collect(&all, loader, 1);
        sluice_loader_close(loader);
        assert_int_equal(all.end, policy == SLUICE_BAD_FAIL ? SLUICE_CORRUPT : SLUICE_END);
        assert_int_equal(all.rows, policy == SLUICE_BAD_FAIL ? 0 : FEW);
        for (uint64_t i = 0; i < all.rows; i++) {
            const bool replaced = all.indices[i] != WITHOUT_CLASS;
            assert_true(all.labels[i] < FEW_CLASSES);
            assert_true(i == WITHOUT_CLASS ? replaced || !all.mask[i] : all.mask[i]);
        }
        batches_free(&all);
    }
    file_free(&shard);
    remove_tree(folder);
}
