/* SPDX-License-Identifier: Apache-2.0 */
/* Tests shards of version 1 of the format, which is no longer written: they are still read bit for
 * bit and verified, and damage in them is still found.
 *
 *   shards_version1_test FOLDER           the test; FOLDER: tests/data/before
 *   shards_version1_test FOLDER --print   prints the table below for this build
 */
#include "photo_folder.h"
#include "shard_bytes.h"
#include "snapshot.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SAMPLES = 13, FILES = 3 };

static const char *const names[FILES] = {"manifest.sluice", "shard-000000.sluice",
                                         "shard-000001.sluice"};

static char before[1024];

/* The samples' contents when they were written. */
static const struct {
    uint64_t image;
    uint32_t bytes, width, height;
    int64_t label;
    const char *key;
} expected[SAMPLES] = {
    {0xa2072842cc0b0784, 36, 3, 4, 0, "c0/p0.jpg"},
    {0x71de2007687c9ac5, 638, 9, 9, 1, "c1/p1.jpg"},
    {0x0725b0e05381211e, 638, 10, 10, 0, "c0/p2.jpg"},
    {0x356582e7c23c0c65, 72, 6, 4, 1, "c1/p3.jpg"},
    {0x99e9f0fef80ac55f, 642, 12, 12, 0, "c0/p4.jpg"},
    {0x0c1da47e4461c802, 647, 13, 13, 1, "c1/p5.jpg"},
    {0xaabc75da60bf260d, 48, 4, 4, 0, "c0/p6.jpg"},
    {0x291910a9b8ec8565, 638, 15, 8, 1, "c1/p7.jpg"},
    {0xa4c8fcfb54071a1b, 642, 16, 9, 0, "c0/p8.jpg"},
    {0xd1acc2f58c475983, 84, 7, 4, 1, ""},
    {0xa59d075900a97048, 641, 9, 11, 0, "c0/p10.jpg"},
    {0x5b8452fb4a8ba6c3, 645, 10, 12, 1, "c1/p11.jpg"},
    {0x808e46a4dff7608c, 60, 5, 4, 0, "c0/p12.jpg"},
};

static void copy_of(char *folder, size_t bytes)
{
    temporary_directory(folder, (uint32_t)bytes);
    for (size_t i = 0; i < FILES; i++) {
        file_bytes file;
        file_load(&file, before, names[i]);
        (void)snprintf(file.path, sizeof(file.path), "%s/%s", folder, names[i]);
        file_store(&file, file.size);
        file_free(&file);
    }
}

TEST(samples_are_as_they_were)
{
    snapshot all;
    sluice_dataset *dataset;
    const char *path = before;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, SAMPLES);
    assert_int_equal(info.shards, 2);
    assert_int_equal(info.classes, 2);
    assert_int_equal(info.fields, 3);
    assert_string_equal(sluice_dataset_class_name(dataset, 1), "class1");
    assert_int_equal(snapshot_verify(dataset), 0);
    sluice_dataset_close(dataset);
    snapshot_take(&all, before);
    assert_int_equal(all.count, SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const snapshot_sample *got = &all.samples[i];
        assert_int_equal(got->bytes, expected[i].bytes);
        assert_true(XXH3_64bits(got->image, got->bytes) == expected[i].image);
        assert_int_equal(got->info.width, expected[i].width);
        assert_int_equal(got->info.height, expected[i].height);
        assert_int_equal(got->info.label, expected[i].label);
        assert_string_equal(got->info.key, expected[i].key);
    }
    snapshot_free(&all);
}

/* Opened as a folder or as a single file, it fails, reads with errors or verifies with findings,
 * but never silently returns other samples. */
static void expect_noticed(const snapshot *all, const file_bytes *file, size_t at, const char *path)
{
    sluice_dataset *dataset;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, NULL) != SLUICE_OK) {
        return;
    }
    const snapshot_difference difference = snapshot_compare(all, dataset);
    const uint64_t findings = snapshot_verify(dataset);
    sluice_dataset_close(dataset);
    if (findings == 0 || difference.silent + difference.missing > 0) {
        fail_msg("%s: a flip of byte %zu was %s", file->path, at,
                 findings == 0 ? "not noticed" : "read as another sample");
    }
}

TEST(every_flipped_byte_is_noticed)
{
    char folder[256];
    snapshot all;
    copy_of(folder, sizeof(folder));
    snapshot_take(&all, folder);
    for (size_t i = 0; i < FILES; i++) {
        file_bytes file;
        file_load(&file, folder, names[i]);
        for (size_t at = 0; at < file.size;) {
            file_store_byte(&file, at, file.data[at] ^ (uint8_t)(1U << at % 8));
            expect_noticed(&all, &file, at, folder);
            file_store_byte(&file, at, file.data[at]);
            const bool ends = at < 160 || at + 500 > file.size;
            at += ends ? TEST_AMOUNT(1, 3) : TEST_AMOUNT(13, 61);
        }
        file_free(&file);
    }
    snapshot_free(&all);
    remove_tree(folder);
}

/* Checks that sample 0 of the dataset at `path`, or opening it, fails at byte `at` of the first
 * shard. */
static void expect_corrupt(const char *path, const file_bytes *shard, int64_t at, const char *why)
{
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_sample_info info = {.struct_size = sizeof(info)};
    sluice_status status = sluice_dataset_open(&dataset, &path, 1, NULL, &error);
    if (status == SLUICE_OK) {
        status = sluice_dataset_get_sample(dataset, 0, &info, &error);
        assert_true(snapshot_verify(dataset) > 0);
        sluice_dataset_close(dataset);
    }
    assert_int_equal(status, SLUICE_CORRUPT);
    assert_string_equal(error.file, shard->path);
    assert_int_equal(error.offset, at);
    assert_non_null(strstr(error.text, why));
}

/* An index in which everything is in place, but whose entries have another size than their fields
 * require: in a lone shard, and in one that the manifest replaces. */
TEST(an_entry_has_the_size_of_its_fields)
{
    char folder[256];
    file_bytes shard;
    file_bytes manifest;
    copy_of(folder, sizeof(folder));
    file_load(&shard, folder, names[1]);
    file_load(&manifest, folder, names[0]);
    const uint32_t entry_bytes = get32(&shard, 104) + 8;
    put32(&shard, 104, entry_bytes);
    put32(&shard, 108, 4032 / entry_bytes);
    seal_header(&shard);
    file_store(&shard, shard.size);
    expect_corrupt(shard.path, &shard, 104, "does not match its fields");
    put64(&manifest, 4096 + 40, get64(&shard, 4088));
    seal_manifest(&manifest);
    file_store(&manifest, manifest.size);
    expect_corrupt(folder, &shard, 104, "does not match its fields");
    file_free(&shard);
    file_free(&manifest);
    remove_tree(folder);
}

TEST(a_label_is_one_of_the_classes)
{
    char folder[256];
    file_bytes shard;
    copy_of(folder, sizeof(folder));
    file_load(&shard, folder, names[1]);
    const size_t entry = get64(&shard, SHARD_INDEX_OFFSET_AT);
    put64(&shard, entry + 24 + 16, 2);
    seal_shard(&shard);
    file_store(&shard, shard.size);
    expect_corrupt(shard.path, &shard, (int64_t)get64(&shard, entry), "label out of range");
    file_free(&shard);
    remove_tree(folder);
}

/* Repacked into version 2, which holds the same samples; the two cannot be joined. */
TEST(they_can_be_packed_again)
{
    char folder[256];
    snapshot all;
    snapshot_difference difference;
    sluice_dataset *dataset;
    const char *paths[2] = {before, folder};
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    temporary_directory(folder, sizeof(folder));
    assert_int_equal(sluice_dataset_open(&dataset, paths, 1, NULL, NULL), SLUICE_OK);
    options.keep_order = 1;
    options.keep_bytes = 1;
    assert_int_equal(sluice_pack(dataset, folder, &options, NULL, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    snapshot_take(&all, before);
    assert_int_equal(snapshot_compare_path(&all, folder, &difference), SLUICE_OK);
    assert_int_equal(difference.errors + difference.silent + difference.missing, 0);
    assert_int_equal(sluice_dataset_open(&dataset, paths, 2, NULL, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "version"));
    snapshot_free(&all);
    remove_tree(folder);
}

static void print_table(void)
{
    snapshot all;
    snapshot_take(&all, before);
    for (uint64_t i = 0; i < all.count; i++) {
        const snapshot_sample *sample = &all.samples[i];
        printf("    {0x%016llx, %zu, %u, %u, %lld, \"%s\"},\n",
               (unsigned long long)XXH3_64bits(sample->image, sample->bytes), sample->bytes,
               sample->info.width, sample->info.height, (long long)sample->info.label,
               sample->info.key);
    }
    snapshot_free(&all);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)printf("usage: %s FOLDER [--print]\n", argv[0]);
        return 2;
    }
    (void)snprintf(before, sizeof(before), "%s/shards", argv[1]);
    if (argc == 3 && strcmp(argv[2], "--print") == 0) {
        print_table();
        return 0;
    }
    return test_run(NULL, NULL);
}
