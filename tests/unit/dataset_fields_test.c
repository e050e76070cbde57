/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of one sample, by name, in every format; keys and paths of maximum length. */
#include "dataset_checks.h"
#include "packed.h"
#include "photo_folder.h"
#include "test.h"

#include <sluice/sluice.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 16 };

static uint8_t image[ROOM];
static uint8_t got[ROOM];

/* For any capacity from none to enough, the size is reported and nothing is written past the
 * capacity. */
static void expect_field(const sluice_dataset *dataset, uint64_t index, const char *field,
                         const void *expected, size_t size)
{
    for (size_t capacity = 0; capacity <= size; capacity += capacity + 8 < size ? 7 : 1) {
        size_t bytes = 0;
        memset(got, 0xC3, sizeof(got));
        assert_int_equal(sluice_dataset_read(dataset, index, field, got, capacity, &bytes, NULL),
                         capacity < size ? SLUICE_AGAIN : SLUICE_OK);
        assert_int_equal(bytes, size);
        assert_int_equal(got[capacity], 0xC3);
    }
    assert_memory_equal(got, expected, size);
}

static void expect_refused(const sluice_dataset *dataset, uint64_t index, const char *field,
                           sluice_status expected)
{
    sluice_error error = SLUICE_ERROR_INIT;
    size_t bytes = 0;
    assert_int_equal(sluice_dataset_read(dataset, index, field, got, sizeof(got), &bytes, &error),
                     expected);
    assert_int_equal(error.status, expected);
    assert_true(error.text[0] != '\0');
    const bool told = dataset != NULL && field != NULL && index < 100;
    assert_true(!told || strstr(error.text, field) != NULL);
}

static void expect_fields(const sluice_dataset *dataset, uint64_t samples)
{
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    size_t bytes;
    for (uint64_t i = 0; i < samples; i++) {
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &info, NULL), SLUICE_OK);
        expect_field(dataset, i, "label", &info.label, sizeof(info.label));
        expect_field(dataset, i, "key", info.key, strlen(info.key));
    }
    assert_int_equal(sluice_dataset_read(dataset, 0, "image", image, ROOM, &bytes, NULL),
                     SLUICE_OK);
    expect_field(dataset, 0, "image", image, bytes);
    static const char *const names[] = {"", "images", "imag", "Label", "caption"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        expect_refused(dataset, 0, names[i], SLUICE_INVALID);
    }
    static const char *const fields[] = {"image", "label", "key"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        expect_refused(dataset, samples + 1000, fields[i], SLUICE_INVALID);
    }
    expect_refused(dataset, 0, NULL, SLUICE_INVALID);
    expect_refused(NULL, 0, "label", SLUICE_INVALID);
    assert_int_equal(sluice_dataset_read(dataset, 0, "label", NULL, 8, &bytes, NULL),
                     SLUICE_INVALID);
    assert_int_equal(sluice_dataset_read(dataset, 0, "label", got, 8, NULL, NULL), SLUICE_INVALID);
}

TEST(folders_have_their_fields)
{
    photo_folder photos;
    photo_folder_make(&photos, 2, 3);
    sluice_dataset *dataset = dataset_opened(photos.path);
    expect_fields(dataset, 6);
    sluice_dataset_close(dataset);
    photo_folder_remove(&photos);
}

TEST(shards_have_their_fields)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    const packed_options options = {.samples = 7, .classes = 3, .raw_every = 2, .zstd_level = 1};
    packed_make(folder, &options);
    sluice_dataset *dataset = dataset_opened(folder);
    expect_fields(dataset, 7);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

/* For an image with a path longer than 512 bytes, the path once lacked its beginning. */
TEST(long_paths_are_told_whole)
{
    char folder[256];
    char path[PATH_MAX];
    char name[201];
    temporary_directory(folder, sizeof(folder));
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    int length = snprintf(path, sizeof(path), "%s", folder);
    for (int depth = 0; depth < 15; depth++) {
        length += snprintf(path + length, sizeof(path) - (size_t)length, "/%s", name);
        assert_int_equal(mkdir(path, 0777), 0);
    }
    (void)snprintf(path + length, sizeof(path) - (size_t)length, "/picture.jpg");
    write_file(path, "x", 1);
    sluice_dataset *dataset = dataset_opened(folder);
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, 0, &info, NULL), SLUICE_OK);
    assert_string_equal(info.file, path);
    assert_string_equal(info.key, path + strlen(folder) + 1);
    expect_field(dataset, 0, "key", info.key, strlen(info.key));
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

/* ---- as large as a field gets ---- */

/* Writes a tensor of zeros packed as a frame, without memory for the zeros. */
static void write_zeros(const char *folder, size_t size)
{
    void *zeros = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(zeros != MAP_FAILED);
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "zeros");
    field.type = SLUICE_FIELD_TENSOR;
    field.dims = 1;
    field.compression = SLUICE_COMPRESSION_ALWAYS;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = &field;
    options.field_count = 1;
    options.zstd_level = 1;
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, &error), SLUICE_OK);
    sluice_value value = SLUICE_VALUE_INIT;
    value.data = zeros;
    value.bytes = size;
    if (sluice_writer_add_values(writer, &value, 1, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    munmap(zeros, size);
}

TEST(what_is_written_can_be_read)
{
    const size_t size = ((size_t)1 << 30) + 4096;
    char folder[256];
    size_t bytes = 0;
    temporary_directory(folder, sizeof(folder));
    write_zeros(folder, size);
    sluice_dataset *dataset = dataset_opened(folder);
    assert_int_equal(sluice_dataset_read(dataset, 0, "zeros", NULL, 0, &bytes, NULL), SLUICE_AGAIN);
    assert_int_equal(bytes, size);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}
