/* SPDX-License-Identifier: Apache-2.0 */
/* Tests headerless tensor files: cut into records, read, and fed to a loader. */
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 3, ROOM = 8192 };

typedef struct fixture {
    char folder[256];
    char paths[FILES][300];
    const char *list[FILES];
} fixture;

/* Files with 2500, 7 and 1000 u16 values, numbered consecutively across the files. */
static void fixture_make(fixture *f)
{
    static const uint32_t counts[FILES] = {2500, 7, 1000};
    static uint16_t data[ROOM];
    uint16_t next = 0;
    temporary_directory(f->folder, sizeof(f->folder));
    for (size_t i = 0; i < FILES; i++) {
        (void)snprintf(f->paths[i], sizeof(f->paths[i]), "%s/part%zu.bin", f->folder, i);
        f->list[i] = f->paths[i];
        for (uint32_t k = 0; k < counts[i]; k++) {
            data[k] = next++;
        }
        write_file(f->paths[i], data, counts[i] * 2);
    }
}

static void fixture_remove(fixture *f)
{
    remove_tree(f->folder);
}

static sluice_field tensor(uint32_t dims, int64_t a, int64_t b)
{
    sluice_field field = SLUICE_FIELD_INIT;
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_U16;
    field.dims = dims;
    field.shape[0] = a;
    field.shape[1] = b;
    return field;
}

static sluice_status open_flat(const fixture *f, size_t count, const sluice_field *field,
                               sluice_dataset **dataset, sluice_error *error)
{
    const sluice_dataset_options options = {.struct_size = sizeof(options), .flat = field};
    return sluice_dataset_open(dataset, f->list, count, &options, error);
}

static void expect_record(const sluice_dataset *dataset, uint64_t index, uint16_t first,
                          uint16_t count)
{
    uint16_t got[ROOM];
    size_t bytes;
    assert_int_equal(sluice_dataset_read(dataset, index, "tensor", got, sizeof(got), &bytes, NULL),
                     SLUICE_OK);
    assert_int_equal(bytes, count * 2);
    for (uint16_t i = 0; i < count; i++) {
        assert_int_equal(got[i], first + i);
    }
}

/* Records of 1000: 1000, 1000, 500; 7; 1000. */
TEST(files_are_cut_into_records)
{
    fixture f;
    sluice_dataset *dataset;
    sluice_field field = tensor(1, 1000, 0);
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    fixture_make(&f);
    assert_int_equal(open_flat(&f, FILES, &field, &dataset, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, 5);
    assert_int_equal(info.bytes, 3507 * 2);
    assert_string_equal(info.format, "flat");
    assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
    assert_int_equal(field.shape[0], 0);
    assert_int_equal(field.dtype, SLUICE_U16);
    expect_record(dataset, 0, 0, 1000);
    expect_record(dataset, 1, 1000, 1000);
    expect_record(dataset, 2, 2000, 500);
    expect_record(dataset, 3, 2500, 7);
    expect_record(dataset, 4, 2507, 1000);
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, 2, &sample, NULL), SLUICE_OK);
    assert_string_equal(sample.file, f.paths[0]);
    assert_int_equal(sample.offset, 4000);
    assert_int_equal(sample.label, -1);
    assert_null(sluice_dataset_class_name(dataset, 0));
    const sluice_verify_options options = {.struct_size = sizeof(options)};
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.bad, 0);
    assert_int_equal(result.samples, 5);
    sluice_dataset_close(dataset);

    field = tensor(2, 50, 10); /* fits the first and the last, and keeps the shape */
    f.list[1] = f.paths[2];
    assert_int_equal(open_flat(&f, 2, &field, &dataset, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, 7);
    assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
    assert_int_equal(field.dims, 2);
    assert_int_equal(field.shape[1], 10);
    expect_record(dataset, 5, 2507, 500);
    sluice_dataset_close(dataset);
    fixture_remove(&f);
}

static void expect_refused(const fixture *f, const sluice_field *field, sluice_status expected,
                           const char *why)
{
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(open_flat(f, FILES, field, &dataset, &error), expected);
    assert_null(dataset);
    if (strstr(error.text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, why);
    }
}

TEST(what_does_not_fit_is_refused)
{
    fixture f;
    fixture_make(&f);
    sluice_field field = tensor(2, 5, 10);
    expect_refused(&f, &field, SLUICE_INVALID, "14 bytes, not a multiple of records");
    field = tensor(2, 5, 0);
    expect_refused(&f, &field, SLUICE_INVALID, "dimension 1");
    field = tensor(1, -1, 0);
    expect_refused(&f, &field, SLUICE_INVALID, "dimension 0");
    field = tensor(2, 1 << 15, 1 << 16);
    expect_refused(&f, &field, SLUICE_INVALID, "2^31 - 1");
    field = tensor(9, 1, 1);
    expect_refused(&f, &field, SLUICE_INVALID, "dims");
    field = tensor(1, 10, 0);
    field.type = SLUICE_FIELD_TEXT;
    expect_refused(&f, &field, SLUICE_INVALID, "tensor");
    field = tensor(1, 10, 0);
    field.dtype = 13;
    expect_refused(&f, &field, SLUICE_INVALID, "dtype");
    field = tensor(1, 10, 0);
    write_file(f.paths[1], "odd", 3);
    expect_refused(&f, &field, SLUICE_INVALID, "3 bytes, not a multiple of elements");
    write_file(f.paths[1], "", 0);
    expect_refused(&f, &field, SLUICE_INVALID, "empty");
    f.list[1] = f.folder;
    expect_refused(&f, &field, SLUICE_IO, "");
    f.list[1] = "/nowhere/at/all";
    expect_refused(&f, &field, SLUICE_IO, "");
    fixture_remove(&f);
}

/* It would be cut at other places: an error rather than other records. */
TEST(a_file_that_changes_is_an_error)
{
    fixture f;
    sluice_dataset *dataset;
    const sluice_field field = tensor(1, 1000, 0);
    uint16_t got[ROOM];
    size_t bytes;
    fixture_make(&f);
    assert_int_equal(open_flat(&f, FILES, &field, &dataset, NULL), SLUICE_OK);
    assert_int_equal(truncate(f.paths[0], 4000), 0);
    assert_int_equal(sluice_dataset_read(dataset, 2, "tensor", got, sizeof(got), &bytes, NULL),
                     SLUICE_CORRUPT);
    sluice_dataset_close(dataset);
    fixture_remove(&f);
}

/* Through the page cache or past it: the end of a file is not a multiple of a page. */
static void load(const fixture *f, int32_t page_cache)
{
    sluice_dataset *dataset;
    sluice_loader *loader;
    sluice_batch *batch;
    sluice_columns *columns;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_field field = tensor(1, 100, 0);
    assert_int_equal(open_flat(f, FILES, &field, &dataset, NULL), SLUICE_OK);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_padded(columns, "tensor", 100), SLUICE_OK);
    sluice_loader_options options = setup_options();
    options.columns = columns;
    options.last_batch = SLUICE_LAST_SHORT;
    options.page_cache = page_cache;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    uint32_t elements = 0;
    uint64_t sum = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor values = SLUICE_TENSOR_INIT;
        sluice_tensor lengths = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "tensor", &values), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "tensor.lengths", &lengths), SLUICE_OK);
        for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
            elements += (uint32_t)((const int64_t *)lengths.data)[row];
            for (uint32_t i = 0; i < 100; i++) {
                sum += ((const uint16_t *)values.data)[row * 100 + i];
            }
        }
        sluice_batch_release(batch);
    }
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_OK);
    assert_int_equal(elements, 3507);
    assert_int_equal(sum, 3507 * 3506 / 2);
    sluice_loader_close(loader);
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
}

TEST(loaders_take_them)
{
    fixture f;
    fixture_make(&f);
    load(&f, SLUICE_CACHE_BUFFERED);
    load(&f, SLUICE_CACHE_DIRECT);
    fixture_remove(&f);
}
