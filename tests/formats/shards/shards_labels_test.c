/* SPDX-License-Identifier: Apache-2.0 */
/* Tests labels outside the classes: a sample with one is bad for a loader that requests labels. */
#include "dataset_checks.h"
#include "jpeg_make.h"
#include "packed.h"
#include "photo_folder.h"
#include "shard_bytes.h"
#include "snapshot.h"
#include "test.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>

/* Offsets in a sample with the fields image, label and key. */
enum { LABEL_CELL = 32, SAMPLES = 6, CLASSES = 3, BAD = 4 };

static char folder[256];
static file_bytes shard;

/* Gives sample BAD of the shard this label, with correct checksums. */
static void give_label(int64_t label)
{
    put64(&shard, sample_at(&shard, BAD) + LABEL_CELL, (uint64_t)label);
    seal_samples(&shard);
    file_store(&shard, shard.size);
}

static void set_up(uint32_t classes)
{
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = SAMPLES, .classes = classes});
    file_load(&shard, folder, "shard-000000.sluice");
}

static void tear_down(void)
{
    file_free(&shard);
    remove_tree(folder);
}

/* The last finding, and the number of findings. */
static sluice_error finding;
static uint64_t findings;

static void note(void *user, const sluice_error *found)
{
    (void)user;
    finding = *found;
    findings++;
}

static void expect_refused(const sluice_error *error)
{
    assert_int_equal(error->status, SLUICE_CORRUPT);
    assert_int_equal(error->sample, BAD);
    assert_int_equal(error->offset, sample_at(&shard, BAD) + LABEL_CELL);
    assert_string_equal(error->file, shard.path);
    assert_non_null(strstr(error->text, "label out of range"));
}

TEST(labels_beyond_the_classes_are_refused)
{
    const int64_t wrong[] = {CLASSES, -2, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
    set_up(CLASSES);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
        const sluice_verify_options options = {
            .struct_size = sizeof(options), .workers = 1, .on_finding = note};
        sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
        uint8_t bytes[4096];
        size_t size = 0;
        give_label(wrong[i]);
        findings = 0;
        sluice_dataset *dataset = dataset_opened(shard.path);
        assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
        assert_int_equal(findings, 1);
        assert_int_equal(result.samples, SAMPLES);
        expect_refused(&finding);
        assert_int_equal(sluice_dataset_get_sample(dataset, BAD, &info, &error), SLUICE_CORRUPT);
        expect_refused(&error);
        assert_int_equal(
            sluice_dataset_read(dataset, BAD, "label", bytes, sizeof(bytes), &size, &error),
            SLUICE_CORRUPT);
        expect_refused(&error);
        /* The image is sound. */
        assert_int_equal(
            sluice_dataset_read(dataset, BAD, "image", bytes, sizeof(bytes), &size, &error),
            SLUICE_OK);
        sluice_dataset_close(dataset);
    }
    tear_down();
}

TEST(no_class_is_a_label_and_all_are_without_names)
{
    const int64_t right[] = {-1, 0, CLASSES - 1};
    set_up(CLASSES);
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        give_label(right[i]);
        sluice_dataset *dataset = dataset_opened(shard.path);
        assert_int_equal(snapshot_verify(dataset), 0);
        sluice_dataset_close(dataset);
    }
    tear_down();
    set_up(0);
    give_label(1000);
    sluice_dataset *dataset = dataset_opened(shard.path);
    assert_int_equal(snapshot_verify(dataset), 0);
    sluice_dataset_close(dataset);
    tear_down();
}

TEST(writers_refuse_them)
{
    static const char *const names[] = {"a", "b"};
    temporary_directory(folder, sizeof(folder));
    jpeg_file file = jpeg_make_pattern(16, 16, 1, NULL);
    sluice_writer *writer;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    options.classes = names;
    options.class_count = 2;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, &error), SLUICE_OK);
    sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
    sample.image = file.data;
    sample.image_bytes = file.size;
    sample.label = 2;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "label 2 is out of range: there are 2 classes"));
    for (sample.label = -1; sample.label < 2; sample.label++) {
        assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    sluice_dataset *dataset = dataset_opened(folder);
    assert_int_equal(snapshot_verify(dataset), 0);
    sluice_dataset_close(dataset);
    jpeg_free(&file);
    remove_tree(folder);
}
