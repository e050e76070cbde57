/* SPDX-License-Identifier: Apache-2.0 */
/* Tests unconverted tensors, small and large, from memory and from files: they equal the written
 * ones bit for bit, and only a damaged one is bad, not its neighbours. */
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 90, BATCH = 8, DAMAGED = 41, EPOCHS = TEST_AMOUNT(4, 1) };

static sluice_dtype dtype; /* of the tensors of this run */

TEST_OWN_MEMORY static uint8_t byte_of(uint64_t sample, uint64_t at)
{
    const uint64_t any = sample * 37 + at * 11 + (at >> 8) * sample;
    return (uint8_t)(dtype == SLUICE_BOOL ? any & 1 : any);
}

TEST_OWN_MEMORY static void fill(uint8_t *bytes, uint64_t sample, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = byte_of(sample, i);
    }
}

/* Tensors of `rows` x 1024, and a number. */
static void write_tensors(const char *path, int64_t rows)
{
    const size_t size = (size_t)rows * 1024;
    uint8_t *bytes = malloc(size);
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    (void)snprintf(fields[0].name, sizeof(fields[0].name), "label");
    fields[0].type = SLUICE_FIELD_INT;
    (void)snprintf(fields[1].name, sizeof(fields[1].name), "block");
    fields[1].type = SLUICE_FIELD_TENSOR;
    fields[1].dtype = dtype;
    fields[1].dims = 2;
    fields[1].shape[0] = rows;
    fields[1].shape[1] = 1024;
    fields[1].compression = SLUICE_COMPRESSION_NEVER;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 2;
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_writer_open(&writer, path, &options, &error), SLUICE_OK);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        fill(bytes, i, size);
        if (dtype == SLUICE_BOOL && i == DAMAGED) {
            bytes[size - 5] = 2;
        }
        values[0].integer = (int64_t)i * 3;
        values[1].data = bytes;
        values[1].bytes = size;
        assert_int_equal(sluice_writer_add_values(writer, values, 2, &error), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    free(bytes);
}

static void damage(const char *path)
{
    sluice_dataset *dataset = setup_dataset(path);
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, DAMAGED, &info, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    FILE *file = fopen(info.file, "r+b");
    assert_non_null(file);
    const long at = (long)(info.offset + info.bytes - 5);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    fclose(file);
}

static const void *column_of(const sluice_batch *batch, const char *name, uint64_t bytes)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    assert_int_equal(tensor.size_bytes, bytes);
    return tensor.data;
}

static void check(const sluice_batch *batch, size_t size, bool damaged)
{
    const uint32_t rows = sluice_batch_rows(batch);
    const int64_t *index = column_of(batch, "index", rows * sizeof(int64_t));
    const int64_t *label = column_of(batch, "label", rows * sizeof(int64_t));
    const uint8_t *mask = column_of(batch, "mask", rows);
    const uint8_t *blocks = column_of(batch, "block", rows * size);
    uint8_t *expected = malloc(size);
    for (uint32_t i = 0; i < rows; i++) {
        const bool bad = damaged && index[i] == DAMAGED;
        assert_int_equal(mask[i], !bad);
        assert_int_equal(label[i], bad ? -1 : index[i] * 3);
        memset(expected, 0, size);
        if (!bad) {
            fill(expected, (uint64_t)index[i], size);
        }
        assert_memory_equal(blocks + i * size, expected, size);
    }
    free(expected);
}

static void run(const char *path, size_t size, bool damaged)
{
    sluice_loader_options options = setup_options();
    options.batch_size = BATCH;
    options.last_batch = SLUICE_LAST_SHORT;
    options.on_bad_sample = SLUICE_BAD_MASK;
    for (options.page_cache = SLUICE_CACHE_AUTO; options.page_cache <= SLUICE_CACHE_DIRECT;
         options.page_cache++) {
        sluice_dataset *dataset = setup_dataset(path);
        sluice_loader *loader = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_OK);
        uint64_t rows = 0;
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            sluice_batch *batch;
            assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
            while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
                check(batch, size, damaged);
                rows += sluice_batch_rows(batch);
                sluice_batch_release(batch);
            }
        }
        assert_int_equal(rows, EPOCHS * SAMPLES);
        sluice_loader_close(loader);
        sluice_dataset_close(dataset);
    }
}

static void as_they_were_written(void **state)
{
    static const int64_t rows[] = {1, 4, 16, 17, 300};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[300];
        temporary_directory(path, sizeof(path));
        write_tensors(path, rows[i]);
        run(path, (size_t)rows[i] * 1024, false);
        damage(path);
        run(path, (size_t)rows[i] * 1024, true);
        remove_tree(path);
    }
}

/* A byte that is not a bool is detected by its value alone, on every code path that copies it. */
static void bools_are_0_or_1(void **state)
{
    static const int64_t rows[] = {1, 300};
    dtype = SLUICE_BOOL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[300];
        temporary_directory(path, sizeof(path));
        write_tensors(path, rows[i]);
        run(path, (size_t)rows[i] * 1024, true);
        remove_tree(path);
    }
    dtype = SLUICE_U8;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_they_were_written),
                                       cmocka_unit_test(bools_are_0_or_1)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
