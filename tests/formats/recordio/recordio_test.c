/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RecordIO files through the public interface: walked, by MXNet's index, and by one that is kept;
 * records in parts; every sample once in an epoch, whichever file it is in; damage. What records
 * may look like is tested more widely in Python (test_recordio.py).
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

enum { FILES = 5, SAMPLES = 7, ALL = FILES * SAMPLES, HEAD = 24 };

static const uint8_t magic[4] = {0x0a, 0x23, 0xd7, 0xce};

static char root[256];

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static size_t put_part(uint8_t *to, unsigned kind, const uint8_t *bytes, size_t size)
{
    memcpy(to, magic, 4);
    put(to + 4, kind << 29 | size, 4);
    memcpy(to + 8, bytes, size);
    memset(to + 8 + size, 0, (4 - size % 4) % 4);
    return 8 + (size + 3) / 4 * 4;
}

/* The payload of sample `number`: `number` letters, magic numbers between them. */
static size_t make_payload(uint8_t *to, unsigned number)
{
    size_t size = 0;
    for (unsigned i = 0; i < number; i++) {
        if (i % 4 == 0 && number % 3 == 0) {
            memcpy(to + size, magic, 4);
            size += 4;
        }
        to[size++] = (uint8_t)('a' + number % 26);
    }
    return size;
}

/* IRHeader: the label is the number, the id 1000 more. Split as dmlc-core does it. */
static size_t put_record(uint8_t *to, unsigned number)
{
    uint8_t all[1024] = {0};
    const float label = (float)number;
    size_t at = 0;
    size_t begin = 0;
    unsigned kind = 0;
    memcpy(all + 4, &label, 4);
    put(all + 8, 1000 + number, 8);
    const size_t size = HEAD + make_payload(all + HEAD, number);
    for (size_t i = 0; i + 4 <= size; i += 4) {
        if (memcmp(all + i, magic, 4) == 0) {
            at += put_part(to + at, kind == 0 ? 1 : 2, all + begin, i - begin);
            begin = i + 4;
            kind = 3;
        }
    }
    return at + put_part(to + at, kind, all + begin, size - begin);
}

static void path_of(char *path, size_t bytes, const char *what)
{
    (void)snprintf(path, bytes, "%s/%s", root, what);
}

/* Sample i of file f has the number f x SAMPLES + i. */
static void make_files(bool indexes)
{
    static uint8_t file[SAMPLES * 2048];
    for (unsigned f = 0; f < FILES; f++) {
        char path[512];
        char name[32];
        char text[512];
        size_t at = 0;
        int length = 0;
        for (unsigned i = 0; i < SAMPLES; i++) {
            length +=
                snprintf(text + length, sizeof(text) - (size_t)length, "%u\t%zu\n", 1000 - i, at);
            at += put_record(file + at, f * SAMPLES + i);
        }
        (void)snprintf(name, sizeof(name), "set-%u.rec", f);
        path_of(path, sizeof(path), name);
        write_file(path, file, (uint32_t)at);
        (void)snprintf(name, sizeof(name), "set-%u.idx", f);
        path_of(path, sizeof(path), name);
        if (indexes) {
            write_file(path, text, (uint32_t)length);
        } else {
            (void)remove(path);
        }
    }
}

static sluice_dataset *open_set(void)
{
    const char *given = root;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_open(&dataset, &given, 1, NULL, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return dataset;
}

static void check_samples(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "recordio");
    assert_int_equal(info.samples, ALL);
    assert_int_equal(info.shards, FILES);
    assert_int_equal(info.fields, 3);
    for (unsigned i = 0; i < ALL; i++) {
        uint8_t wanted[1024];
        uint8_t found[1024];
        int64_t id = 0;
        size_t bytes = 0;
        sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &sample, NULL), SLUICE_OK);
        assert_int_equal(sample.label, i);
        assert_int_equal(sluice_dataset_read(dataset, i, "id", &id, sizeof(id), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(id, 1000 + i);
        const size_t size = make_payload(wanted, i);
        assert_int_equal(
            sluice_dataset_read(dataset, i, "data", found, sizeof(found), &bytes, NULL), SLUICE_OK);
        assert_int_equal(bytes, size);
        assert_memory_equal(found, wanted, size);
    }
}

static void opened_walked_and_by_indexes(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        make_files(round == 2); /* 0: walked, 1: as kept or walked anew, 2: MXNet's */
        sluice_dataset *dataset = open_set();
        check_samples(dataset);
        sluice_dataset_close(dataset);
    }
}

static void each_sample_once_in_an_epoch(void **state)
{
    (void)state;
    sluice_dataset *dataset = open_set();
    sluice_columns *columns = NULL;
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    unsigned seen[ALL] = {0};
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I64), SLUICE_OK);
    assert_int_equal(sluice_columns_ragged(columns, "data", 1024), SLUICE_OK);
    options.columns = columns;
    options.batch_size = 4;
    options.workers = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, NULL), SLUICE_OK);
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor label = SLUICE_TENSOR_INIT;
        sluice_tensor offsets = SLUICE_TENSOR_INIT;
        sluice_tensor data = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "label", &label), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "data.offsets", &offsets), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "data", &data), SLUICE_OK);
        const int64_t *labels = label.data;
        const int64_t *ends = offsets.data;
        for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
            uint8_t wanted[1024];
            assert_in_range(labels[row], 0, ALL - 1);
            const size_t size = make_payload(wanted, (unsigned)labels[row]);
            assert_int_equal(ends[row + 1] - ends[row], size);
            assert_memory_equal((const uint8_t *)data.data + ends[row], wanted, size);
            seen[labels[row]]++;
        }
        sluice_batch_release(batch);
    }
    for (unsigned i = 0; i < ALL; i++) {
        assert_int_equal(seen[i], 1);
    }
    sluice_loader_close(loader);
}

/* Cut anywhere, the file is refused, or ends with a whole record. */
static void cut_short_anywhere(void **state)
{
    (void)state;
    uint8_t file[4096];
    size_t ends[4] = {0};
    char path[512];
    const char *given = path;
    for (unsigned i = 0; i < 3; i++) {
        ends[i + 1] = ends[i] + put_record(file + ends[i], 6 + 3 * i);
    }
    path_of(path, sizeof(path), "cut.rec");
    for (size_t size = 1; size <= ends[3]; size++) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        write_file(path, file, (uint32_t)size);
        const bool whole = size == ends[1] || size == ends[2] || size == ends[3];
        const sluice_status status = sluice_dataset_open(&dataset, &given, 1, NULL, &error);
        assert_int_equal(status, whole ? SLUICE_OK : SLUICE_CORRUPT);
        if (!whole) {
            assert_non_null(strstr(error.file, "cut.rec"));
            assert_in_range(error.offset, 0, size);
        }
        sluice_dataset_close(dataset);
    }
    assert_int_equal(remove(path), 0);
}

int main(void)
{
    char cache[300];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_walked_and_by_indexes),
        cmocka_unit_test(each_sample_once_in_an_epoch),
        cmocka_unit_test(cut_short_anywhere),
    };
    temporary_directory(root, sizeof(root));
    (void)snprintf(cache, sizeof(cache), "%s/.cache", root);
    if (setenv("SLUICE_CACHE_DIR", cache, 1) != 0) {
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_tree(root);
    return failed;
}
