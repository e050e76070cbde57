/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar archives through the public interface, opened by several threads, with and without indexes
 * that are kept: every sample once in an epoch, whichever archive it is in. What archives may look
 * like is tested against other people's (python/tests/test_tar.py).
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

enum { BLOCK = 512, ARCHIVES = 9, SAMPLES = 7, ALL = ARCHIVES * SAMPLES };

static char root[256];

/* A member: its header and payload, behind one another. */
static size_t add(uint8_t *to, const char *name, const char *payload)
{
    const size_t bytes = strlen(payload);
    const size_t padded = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    uint32_t sum = 0;
    memset(to, 0, BLOCK + padded);
    (void)snprintf((char *)to, 100, "%s", name);
    (void)snprintf((char *)to + 124, 12, "%011o", (unsigned)bytes & 07777777U);
    memset(to + 148, ' ', 8);
    to[156] = '0';
    (void)snprintf((char *)to + 257, 6, "ustar");
    for (size_t i = 0; i < BLOCK; i++) {
        sum += to[i];
    }
    (void)snprintf((char *)to + 148, 8, "%06o", sum & 0777777U);
    for (size_t i = 0; i < bytes; i++) {
        to[BLOCK + i] = (uint8_t)payload[i];
    }
    return BLOCK + padded;
}

static void path_of(char *path, size_t bytes, const char *what)
{
    (void)snprintf(path, bytes, "%s/%s", root, what);
}

/* Sample i of archive a has the label 100 a + i and as many letters of text. */
static void make_archives(void)
{
    static uint8_t archive[SAMPLES * 6 * BLOCK + 2 * BLOCK];
    for (unsigned a = 0; a < ARCHIVES; a++) {
        char path[512];
        char file[32];
        size_t at = 0;
        for (unsigned i = 0; i < SAMPLES; i++) {
            char name[64];
            char label[16];
            char text[1024] = "";
            memset(text, 'a' + (int)i, 100 * a + i);
            (void)snprintf(label, sizeof(label), "%u", 100 * a + i);
            (void)snprintf(name, sizeof(name), "%u-%u.cls", a, i);
            at += add(archive + at, name, label);
            (void)snprintf(name, sizeof(name), "%u-%u.txt", a, i);
            at += add(archive + at, name, text);
        }
        memset(archive + at, 0, (size_t)2 * BLOCK);
        (void)snprintf(file, sizeof(file), "set-%02u.tar", a);
        path_of(path, sizeof(path), file);
        write_file(path, archive, (uint32_t)at + 2 * BLOCK);
    }
}

static sluice_dataset *open_set(const char *paths)
{
    char path[512];
    const char *given = path;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    path_of(path, sizeof(path), paths);
    if (sluice_dataset_open(&dataset, &given, 1, NULL, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return dataset;
}

static void check_samples(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "tar");
    assert_int_equal(info.samples, ALL);
    assert_int_equal(info.shards, ARCHIVES);
    assert_non_null(strstr(sluice_dataset_describe(dataset), "tar archives"));
    for (uint64_t i = 0; i < ALL; i++) {
        char text[1024];
        char key[32];
        size_t bytes = 0;
        sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
        const uint64_t label = 100 * (i / SAMPLES) + i % SAMPLES;
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &sample, NULL), SLUICE_OK);
        assert_int_equal(sample.label, label);
        (void)snprintf(key, sizeof(key), "%u-%u", (unsigned)(i / SAMPLES), (unsigned)(i % SAMPLES));
        assert_string_equal(sample.key, key);
        assert_int_equal(sluice_dataset_read(dataset, i, "txt", text, sizeof(text), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(bytes, label);
        assert_true(label == 0 || text[label - 1] == (char)('a' + i % SAMPLES));
    }
}

static void opened_walked_and_from_an_index(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        sluice_dataset *dataset = open_set(round == 2 ? "" : "set-{00..08}.tar");
        check_samples(dataset);
        sluice_dataset_close(dataset);
    }
}

static void take_epoch(sluice_loader *loader, uint64_t epoch, unsigned seen[100 * ARCHIVES])
{
    sluice_batch *batch = NULL;
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor label = SLUICE_TENSOR_INIT;
        sluice_tensor offsets = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "label", &label), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "txt.offsets", &offsets), SLUICE_OK);
        const int64_t *labels = label.data;
        const int64_t *ends = offsets.data;
        for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
            assert_in_range(labels[row], 0, 100 * ARCHIVES - 1);
            assert_int_equal(ends[row + 1] - ends[row], labels[row]);
            seen[labels[row]]++;
        }
        sluice_batch_release(batch);
    }
}

static void each_sample_once_in_an_epoch(void **state)
{
    (void)state;
    sluice_dataset *dataset = open_set("");
    sluice_columns *columns = NULL;
    sluice_loader *loader = NULL;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I64), SLUICE_OK);
    assert_int_equal(sluice_columns_ragged(columns, "txt", 1024), SLUICE_OK);
    options.columns = columns;
    options.batch_size = 4;
    options.workers = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, NULL), SLUICE_OK);
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        unsigned seen[100 * ARCHIVES] = {0};
        take_epoch(loader, epoch, seen);
        for (unsigned label = 0; label < 100 * ARCHIVES; label++) {
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
        (void)snprintf(file, sizeof(file), "set-%02u.tar", bad);
        path_of(path, sizeof(path), file);
        write_file(path, "no archive", 10);
    }
    path_of(path, sizeof(path), "");
    for (unsigned i = 0; i < 20; i++) { /* and whichever it began with */
        assert_int_equal(sluice_dataset_open(&dataset, &given, 1, NULL, &error), SLUICE_CORRUPT);
        assert_null(dataset);
        assert_non_null(strstr(error.file, "set-02.tar"));
    }
}

int main(void)
{
    char cache[300];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_walked_and_from_an_index),
        cmocka_unit_test(each_sample_once_in_an_epoch),
        cmocka_unit_test(the_first_bad_one_is_told),
    };
    temporary_directory(root, sizeof(root));
    (void)snprintf(cache, sizeof(cache), "%s/.cache", root);
    if (setenv("SLUICE_CACHE_DIR", cache, 1) != 0) {
        return 1;
    }
    make_archives();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_tree(root);
    return failed;
}
