/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecords through the public interface, opened by several threads, with and without indexes that
 * are kept: every sample once in an epoch, whichever file it is in. What records may look like is
 * tested against other writers (python/tests/test_tfrecord.py).
 */
#include "loader_setup.h"
#include "photo_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILES = 9, SAMPLES = 7, ALL = FILES * SAMPLES, LABELS = 100 * FILES };

static char root[256];

/* Bit by bit: nothing of the library's. */
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

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static size_t put_message(uint8_t *to, uint8_t tag, const uint8_t *bytes, size_t size)
{
    to[0] = tag;
    to[1] = (uint8_t)(size % 128 | 0x80); /* two bytes, also where one would do */
    to[2] = (uint8_t)(size / 128);
    memcpy(to + 3, bytes, size);
    return 3 + size;
}

/* A feature: a list of the kind `kind` with the values `values`, packed or the one there is. */
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

/* A label, as many letters of text, and as many numbers, all of them the label. */
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
    const size_t bytes = put_message(to + 12, 0x0a, features, at);
    put(to, bytes, 8);
    put(to + 8, masked_crc(to, 8), 4);
    put(to + 12 + bytes, masked_crc(to + 12, bytes), 4);
    return bytes + 16;
}

static void path_of(char *path, size_t bytes, const char *what)
{
    (void)snprintf(path, bytes, "%s/%s", root, what);
}

/* Sample i of file f has the label 100 f + i. */
static void make_files(void)
{
    static uint8_t file[SAMPLES * 8192];
    for (unsigned f = 0; f < FILES; f++) {
        char path[512];
        char name[32];
        size_t at = 0;
        for (unsigned i = 0; i < SAMPLES; i++) {
            at += put_record(file + at, 100 * f + i);
        }
        (void)snprintf(name, sizeof(name), "set-%05u-of-00009", f);
        path_of(path, sizeof(path), name);
        write_file(path, file, (uint32_t)at);
    }
}

static sluice_dataset *open_set(const char *paths, const sluice_dataset_options *options)
{
    char path[512];
    const char *given = path;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    path_of(path, sizeof(path), paths);
    if (sluice_dataset_open(&dataset, &given, 1, options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return dataset;
}

static void check_samples(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "tfrecord");
    assert_int_equal(info.samples, ALL);
    assert_int_equal(info.shards, FILES);
    assert_non_null(strstr(sluice_dataset_describe(dataset), "TFRecord files"));
    for (uint64_t i = 0; i < ALL; i++) {
        char text[1024];
        int64_t ids[1024];
        size_t bytes = 0;
        sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
        const uint64_t label = 100 * (i / SAMPLES) + i % SAMPLES;
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &sample, NULL), SLUICE_OK);
        assert_int_equal(sample.label, label);
        assert_int_equal(sluice_dataset_read(dataset, i, "text", text, sizeof(text), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(bytes, label);
        assert_true(label == 0 || text[label - 1] == (char)('a' + i % SAMPLES));
        assert_int_equal(sluice_dataset_read(dataset, i, "ids", ids, sizeof(ids), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(bytes, label * sizeof(*ids));
        assert_true(label == 0 || ids[label - 1] == (int64_t)label);
    }
}

static void opened_walked_and_from_an_index(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        sluice_dataset *dataset = open_set(round == 2 ? "" : "set-{00000..00008}-of-00009", NULL);
        check_samples(dataset);
        sluice_dataset_close(dataset);
    }
}

static void fields_that_are_chosen(void **state)
{
    (void)state;
    const char *const fields[] = {"class=image/class/label:int", "rows=ids:i64[]"};
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const char *path = root;
    options.fields = fields;
    options.field_count = 2;
    dataset = open_set("", &options);
    assert_int_equal(sluice_dataset_get_field(dataset, 1, &field), SLUICE_OK);
    assert_string_equal(field.name, "rows");
    assert_int_equal(field.type, SLUICE_FIELD_TENSOR);
    assert_int_equal(sluice_dataset_get_field(dataset, 2, &field), SLUICE_INVALID);
    sluice_dataset_close(dataset);
    options.fields = NULL;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, &options, &error), SLUICE_INVALID);
    assert_null(dataset);
}

static void take_epoch(sluice_loader *loader, uint64_t epoch, unsigned seen[LABELS])
{
    sluice_batch *batch = NULL;
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor label = SLUICE_TENSOR_INIT;
        sluice_tensor offsets = SLUICE_TENSOR_INIT;
        sluice_tensor ids = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "label", &label), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "ids.offsets", &offsets), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "ids", &ids), SLUICE_OK);
        const int64_t *labels = label.data;
        const int64_t *ends = offsets.data;
        const int64_t *numbers = ids.data;
        for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
            assert_in_range(labels[row], 0, LABELS - 1);
            assert_int_equal(ends[row + 1] - ends[row], labels[row]);
            for (int64_t i = ends[row]; i < ends[row + 1]; i++) {
                assert_int_equal(numbers[i], labels[row]);
            }
            seen[labels[row]]++;
        }
        sluice_batch_release(batch);
    }
}

static void each_sample_once_in_an_epoch(void **state)
{
    (void)state;
    sluice_dataset *dataset = open_set("", NULL);
    sluice_columns *columns = NULL;
    sluice_loader *loader = NULL;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I64), SLUICE_OK);
    assert_int_equal(sluice_columns_ragged(columns, "ids", 1024), SLUICE_OK);
    options.columns = columns;
    options.batch_size = 4;
    options.workers = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, NULL), SLUICE_OK);
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        unsigned seen[LABELS] = {0};
        take_epoch(loader, epoch, seen);
        for (unsigned label = 0; label < LABELS; label++) {
            assert_int_equal(seen[label], label % 100 < SAMPLES);
        }
    }
    sluice_loader_close(loader);
}

static void the_first_bad_one_is_told(void **state)
{
    (void)state;
    char path[512];
    const char *given = path;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    for (unsigned bad = 6; bad >= 2; bad -= 2) { /* whichever thread meets which */
        char file[32];
        (void)snprintf(file, sizeof(file), "set-%05u-of-00009", bad);
        path_of(path, sizeof(path), file);
        write_file(path, "no record at all", 16);
    }
    path_of(path, sizeof(path), "");
    assert_int_equal(sluice_dataset_open(&dataset, &given, 1, NULL, &error), SLUICE_CORRUPT);
    assert_null(dataset);
    assert_non_null(strstr(error.file, "set-00002-of-00009"));
}

int main(void)
{
    char cache[300];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_walked_and_from_an_index),
        cmocka_unit_test(fields_that_are_chosen),
        cmocka_unit_test(each_sample_once_in_an_epoch),
        cmocka_unit_test(the_first_bad_one_is_told),
    };
    temporary_directory(root, sizeof(root));
    (void)snprintf(cache, sizeof(cache), "%s/.cache", root);
    if (setenv("SLUICE_CACHE_DIR", cache, 1) != 0) {
        return 1;
    }
    make_files();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_tree(root);
    return failed;
}
