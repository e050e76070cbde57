/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the loader over packed shards: the same batches as from the folder, over every backend,
 * with good or bad samples, and damage that stays local. */
#include "batches.h"
#include "loader_setup.h"
#include "packed.h"
#include "test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASSES   5
#define PER_CLASS 40
#define SAMPLES   (CLASSES * PER_CLASS)
/* Number of samples that an index block locates (docs/format.md). */
#define BLOCK_SAMPLES 503

static photo_folder photos;
static char packed[300];

static void pack(const char *to)
{
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    options.keep_order = 1;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_pack(dataset, to, &options, NULL, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
}

static int setup(void **state)
{
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    temporary_directory(packed, sizeof(packed));
    pack(packed);
    return 0;
}

static int teardown(void **state)
{
    remove_tree(packed);
    photo_folder_remove(&photos);
    return 0;
}

static void run(batches *all, const char *path, const sluice_loader_options *options)
{
    sluice_loader *loader = setup_loader(path, options);
    batches_collect(all, loader, 1);
    sluice_loader_close(loader);
}

static void expect_equal_to_folder(const sluice_loader_options *options)
{
    batches folder;
    batches shards;
    run(&folder, photos.path, options);
    run(&shards, packed, options);
    assert_int_equal(folder.end, SLUICE_END);
    assert_int_equal(shards.end, SLUICE_END);
    assert_int_equal(folder.rows, SAMPLES);
    assert_true(batches_equal(&folder, &shards));
    batches_free(&folder);
    batches_free(&shards);
}

/* Each shuffle with each reading method; under a sanitizer, a selection that covers each of
 * both. */
TEST(equal_to_folder)
{
    enum { SHUFFLES = SLUICE_SHUFFLE_NONE + 1, CACHES = SLUICE_CACHE_DROP, BACKENDS = 2 };
    for (int32_t i = 0; i < SHUFFLES * CACHES * BACKENDS; i += TEST_AMOUNT(1, 5)) {
        sluice_loader_options options = setup_options();
        options.shuffle = i % SHUFFLES;
        options.block_samples = 7;
        options.window_blocks = 5;
        options.page_cache = SLUICE_CACHE_BUFFERED + i / SHUFFLES % CACHES;
        options.io_backend = i / SHUFFLES / CACHES * 2;
        expect_equal_to_folder(&options);
    }
}

/* A read buffer of the minimum size holds a fraction of the read-ahead: slower, but the same
 * batches. */
TEST(tiny_read_buffer)
{
    sluice_loader_options options = setup_options();
    options.read_buffer_bytes = (uint64_t)1 << 20;
    options.io_depth = 64;
    expect_equal_to_folder(&options);
}

/* ---- damage on disk ---- */

static char damaged[300], shard[400];

static void make_damaged(void)
{
    temporary_directory(damaged, sizeof(damaged));
    pack(damaged);
    snprintf(shard, sizeof(shard), "%s/shard-000000.sluice", damaged);
}

static uint64_t read_u64(FILE *file, long offset)
{
    uint8_t bytes[8];
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fread(bytes, 1, 8, file), 8);
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static void flip_byte(FILE *file, long offset)
{
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_not_equal(byte, EOF);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 0x10, file), EOF);
}

/* One flipped byte in the second index block: its samples cannot be trusted, the others can. */
TEST(index_damage_costs_one_block)
{
    const packed_options two_blocks = {.samples = BLOCK_SAMPLES + 9, .raw_every = 1};
    temporary_directory(damaged, sizeof(damaged));
    packed_make(damaged, &two_blocks);
    snprintf(shard, sizeof(shard), "%s/shard-000000.sluice", damaged);
    FILE *file = fopen(shard, "r+b");
    assert_non_null(file);
    const uint64_t index_offset = read_u64(file, 48);
    flip_byte(file, (long)index_offset + 4096 + 20);
    fclose(file);
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    batches all;
    run(&all, damaged, &options);
    assert_int_equal(all.end, SLUICE_END);
    for (uint64_t i = 0; i < all.rows; i++) {
        const bool lost = all.indices[i] >= BLOCK_SAMPLES;
        assert_int_equal(all.status[i], lost ? SLUICE_ROW_BAD : SLUICE_ROW_OK);
    }
    batches_free(&all);
    options.on_bad_sample = SLUICE_BAD_FAIL;
    sluice_loader *loader = setup_loader(damaged, &options);
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_CORRUPT);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.file, "shard-000000.sluice"));
    sluice_loader_close(loader);
    batches_free(&all);
    remove_tree(damaged);
}

/* One flipped byte in the data: one bad sample, found by its checksum. */
TEST(data_damage_costs_one_sample)
{
    make_damaged();
    sluice_dataset *dataset = setup_dataset(damaged);
    sluice_sample_info info = {.struct_size = sizeof(info)};
    assert_int_equal(sluice_dataset_get_sample(dataset, 77, &info, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    FILE *file = fopen(shard, "r+b");
    assert_non_null(file);
    flip_byte(file, (long)(info.offset + info.bytes / 2));
    fclose(file);
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    batches all;
    run(&all, damaged, &options);
    for (uint64_t i = 0; i < all.rows; i++) {
        assert_int_equal(all.mask[i], all.indices[i] != 77);
    }
    batches_free(&all);
    remove_tree(damaged);
}

/* The shard loses its second half while the loader is open. */
TEST(shrinks_while_read)
{
    make_damaged();
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.prefetch = 2;
    options.page_cache = SLUICE_CACHE_BUFFERED; /* not kept in memory */
    sluice_loader *loader = setup_loader(damaged, &options);
    batches all;
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_END);
    batches_free(&all);
    struct stat size;
    assert_int_equal(stat(shard, &size), 0);
    assert_int_equal(truncate(shard, size.st_size / 2), 0);
    batches_collect(&all, loader, 5);
    assert_int_equal(all.end, SLUICE_END);
    assert_int_equal(all.rows, SAMPLES);
    uint64_t masked = 0;
    for (uint64_t i = 0; i < all.rows; i++) {
        masked += !all.mask[i];
    }
    assert_in_range(masked, SAMPLES / 4, SAMPLES);
    sluice_loader_close(loader);
    batches_free(&all);
    remove_tree(damaged);
}

TEST_GROUP(setup, teardown)
