/* SPDX-License-Identifier: Apache-2.0 */
/* Tests TFRecords through the public interface, opened by several threads, with and without cached
 * indexes: every sample once per epoch, from whichever file. python/tests/test_tfrecord.py tests
 * records of other writers. */
#include "record_files.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Bit by bit, without the library's code. */
static uint32_t masked_crc(const uint8_t *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
        }
    }
    return ((~crc >> 15) | (~crc << 17)) + 0xa282ead8U;
}

static size_t put_message(uint8_t *to, uint8_t tag, const uint8_t *bytes, size_t size)
{
    to[0] = tag;
    to[1] = (uint8_t)(size % 128 | 0x80); /* two bytes, even where one would do */
    to[2] = (uint8_t)(size / 128);
    memcpy(to + 3, bytes, size);
    return 3 + size;
}

/* A feature: a list of kind `kind` with the values `values`, packed or with a single value. */
static size_t put_feature(uint8_t *to, const char *key, uint8_t kind, const uint8_t *values,
                          size_t size)
{
    static uint8_t list[8192];
    static uint8_t feature[8192];
    static uint8_t entry[8192];
    const size_t list_bytes = put_message(list, 0x0a, values, size);
    const size_t feature_bytes = put_message(feature, kind, list, list_bytes);
    size_t at = put_message(entry, 0x0a, (const uint8_t *)key, strlen(key));
    at += put_message(entry + at, 0x12, feature, feature_bytes);
    return put_message(to, 0x0a, entry, at);
}

/* Adds lengths and checksums around the `bytes` bytes of a message at to + 12. */
static size_t put_frame(uint8_t *to, size_t bytes)
{
    (void)record_little_endian(to, bytes, 8);
    (void)record_little_endian(to + 8, masked_crc(to, 8), 4);
    (void)record_little_endian(to + 12 + bytes, masked_crc(to + 12, bytes), 4);
    return bytes + 16;
}

/* A label, that many letters of text, and that many numbers, all equal to the label. */
static size_t put_record(uint8_t *to, unsigned label)
{
    static uint8_t features[8192];
    static uint8_t values[4096];
    const uint8_t number[2] = {(uint8_t)(label % 128 | 0x80), (uint8_t)(label / 128)};
    size_t at = put_feature(features, "image/class/label", 0x1a, number, 2);
    memset(values, 'a' + (int)(label % 100), label);
    at += put_feature(features + at, "text", 0x0a, values, label);
    for (unsigned i = 0; i < label; i++) {
        memcpy(values + (size_t)2 * i, number, 2);
    }
    at += put_feature(features + at, "ids", 0x1a, values, (size_t)2 * label);
    return put_frame(to, put_message(to + 12, 0x0a, features, at));
}

static size_t put_ids(uint8_t *to, unsigned label)
{
    for (unsigned i = 0; i < label; i++) {
        (void)record_little_endian(to + (size_t)8 * i, label, 8);
    }
    return (size_t)8 * label;
}

static void check_text(const sluice_dataset *dataset, uint64_t index, unsigned label)
{
    char text[1024];
    size_t bytes = 0;
    assert_int_equal(sluice_dataset_read(dataset, index, "text", text, sizeof(text), &bytes, NULL),
                     SLUICE_OK);
    assert_int_equal(bytes, label);
    assert_true(label == 0 || text[label - 1] == (char)('a' + label % 100));
}

static record_files files = {.format = "tfrecord",
                             .words = "TFRecord files",
                             .name = "set-%05u-of-00009",
                             .range = "set-{00000..00008}-of-00009",
                             .put = put_record,
                             .field = "ids",
                             .element = 8,
                             .payload = put_ids,
                             .check = check_text};

static void fields_that_are_chosen(void **state)
{
    const char *const fields[] = {"class=image/class/label:int", "rows=ids:i64[]"};
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    const char *path = test_path("%s", "");
    options.fields = fields;
    options.field_count = 2;
    sluice_dataset *dataset = record_open("", &options);
    assert_int_equal(sluice_dataset_get_field(dataset, 1, &field), SLUICE_OK);
    assert_string_equal(field.name, "rows");
    assert_int_equal(field.type, SLUICE_FIELD_TENSOR);
    assert_int_equal(sluice_dataset_get_field(dataset, 2, &field), SLUICE_INVALID);
    sluice_dataset_close(dataset);
    options.fields = NULL;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, &options, &error), SLUICE_INVALID);
    assert_null(dataset);
}

enum { SEQUENCES = 40, STEPS_MAX = 7 };

/* A SequenceExample of `number` % STEPS_MAX steps, each with two numbers: `number` and 5. */
static size_t put_sequence(uint8_t *to, unsigned number)
{
    uint8_t list[128];
    uint8_t steps[512];
    uint8_t entry[1024];
    size_t steps_bytes = 0;
    const uint8_t numbers[2] = {(uint8_t)number, 5};
    for (unsigned i = 0; i < number % STEPS_MAX; i++) {
        uint8_t feature[64];
        const size_t list_bytes = put_message(list, 0x0a, numbers, 2);
        const size_t feature_bytes = put_message(feature, 0x1a, list, list_bytes);
        steps_bytes += put_message(steps + steps_bytes, 0x0a, feature, feature_bytes);
    }
    size_t at = put_message(entry, 0x0a, (const uint8_t *)"pair", 4);
    at += put_message(entry + at, 0x12, steps, steps_bytes);
    const size_t lists_bytes = put_message(steps, 0x0a, entry, at);
    return put_frame(to, put_message(to + 12, 0x12, steps, lists_bytes));
}

static void check_sequences(const sluice_batch *batch)
{
    sluice_tensor pair = SLUICE_TENSOR_INIT;
    sluice_tensor offsets = SLUICE_TENSOR_INIT;
    sluice_tensor index = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "pair", &pair), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(batch, "pair.offsets", &offsets), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
    const int64_t *at = offsets.data;
    for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
        const int64_t number = ((const int64_t *)index.data)[row];
        assert_int_equal(at[row + 1] - at[row], number % STEPS_MAX);
        for (int64_t i = at[row]; i < at[row + 1]; i++) {
            const int64_t wanted[2] = {number, 5};
            assert_memory_equal((const int64_t *)pair.data + 2 * i, wanted, sizeof(wanted));
        }
    }
}

/* A list is chosen by its key, with or without the prefix for lists, but not by similar names. */
static void choose_lists(void)
{
    static const struct {
        const char *field;
        sluice_status status;
    } choices[] = {{"rows=pair", SLUICE_OK},
                   {"rows=feature_lists/pair", SLUICE_OK},
                   {"rows=feature_lists.pair", SLUICE_INVALID},
                   {"rows=feature_list/pair", SLUICE_INVALID},
                   {"rows=feature_lists/pai", SLUICE_INVALID}};
    for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
        const char *path = test_path("sequences");
        options.fields = &choices[i].field;
        options.field_count = 1;
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, &options, &error),
                         choices[i].status);
        sluice_dataset_close(dataset);
    }
}

/* Steps of sequences, read by several workers. */
static void steps_of_sequences(void **state)
{
    static uint8_t bytes[SEQUENCES * 1024];
    size_t size = 0;
    sluice_columns *columns;
    sluice_loader *loader;
    sluice_batch *batch;
    uint32_t rows = 0;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    for (unsigned i = 0; i < SEQUENCES; i++) {
        size += put_sequence(bytes + size, i);
    }
    (void)mkdir(test_path("sequences"), 0700);
    write_file(test_path("sequences/a.tfrecord"), bytes, (uint32_t)size);
    choose_lists();
    sluice_dataset *dataset = record_open("sequences", NULL);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_ragged(columns, "pair", STEPS_MAX), SLUICE_OK);
    options.batch_size = 7;
    options.workers = 4;
    options.last_batch = SLUICE_LAST_SHORT;
    options.columns = columns;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, NULL), SLUICE_OK);
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        check_sequences(batch);
        rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
    assert_int_equal(rows, SEQUENCES);
    sluice_loader_close(loader);
    remove_tree(test_path("sequences"));
}

/* Samples without a field among samples with it, read by one thread. */
static void fields_that_are_missing(void **state)
{
    enum { RECORDS = 6 };
    static uint8_t bytes[RECORDS * 256];
    size_t size = 0;
    int64_t values[RECORDS];
    uint8_t present[RECORDS];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_scan_options options = SLUICE_SCAN_OPTIONS_INIT;
    (void)state;
    options.workers = 1;
    for (unsigned i = 0; i < RECORDS; i++) {
        uint8_t features[128];
        const uint8_t number = (uint8_t)i;
        const size_t at = i % 2 == 0 ? put_feature(features, "number", 0x1a, &number, 1) : 0;
        size += put_frame(bytes + size, put_message(bytes + size + 12, 0x0a, features, at));
    }
    (void)mkdir(test_path("missing"), 0700);
    write_file(test_path("missing/a.tfrecord"), bytes, (uint32_t)size);
    sluice_dataset *dataset = record_open("missing", NULL);
    assert_int_equal(
        sluice_dataset_read_numbers(dataset, "number", values, present, &options, &error),
        SLUICE_OK);
    for (unsigned i = 0; i < RECORDS; i++) {
        assert_int_equal(present[i], i % 2 == 0);
        assert_int_equal(values[i], i % 2 == 0 ? i : 0);
    }
    sluice_dataset_close(dataset);
    remove_tree(test_path("missing"));
}

/* A key with numbers in one record and bytes in another is not a field. */
static void keys_of_several_kinds(void **state)
{
    static const uint8_t value = 5;
    uint8_t bytes[1024];
    size_t size = 0;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const char *path = test_path("kinds");
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        uint8_t features[128];
        size_t at = put_feature(features, "number", 0x1a, &value, 1);
        at += put_feature(features + at, "other", i % 2 == 0 ? 0x1a : 0x0a, &value, 1);
        size += put_frame(bytes + size, put_message(bytes + size + 12, 0x0a, features, at));
    }
    (void)mkdir(path, 0700);
    write_file(test_path("kinds/a.tfrecord"), bytes, (uint32_t)size);
    path = test_path("kinds");
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "\"other\" has values of several kinds"));
    remove_tree(test_path("kinds"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORD_TEST(records_walked_and_from_an_index, &files),
        cmocka_unit_test(fields_that_are_chosen),
        cmocka_unit_test(steps_of_sequences),
        cmocka_unit_test(fields_that_are_missing),
        cmocka_unit_test(keys_of_several_kinds),
        RECORD_TEST(records_once_in_an_epoch, &files),
        RECORD_TEST(records_cut_short_anywhere, &files),
        RECORD_TEST(records_first_bad_file_is_told, &files),
    };
    record_files_begin(&files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    record_files_end();
    return failed;
}
