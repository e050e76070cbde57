/* SPDX-License-Identifier: Apache-2.0 */
#include "record_files.h"

#include "epochs.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const record_files *made; /* the callbacks of epochs_run get no other context */

size_t record_little_endian(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> 8 * i);
    }
    return bytes;
}

sluice_dataset *record_open(const char *name, const sluice_dataset_options *options)
{
    const char *path = test_path("%s", name);
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_open(&dataset, &path, 1, options, &error) != SLUICE_OK) {
        fail_msg("%s: %s", path, error.text);
    }
    return dataset;
}

static const char *path_of_file(unsigned number)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return test_path(made->name, number);
#pragma GCC diagnostic pop
}

void record_files_begin(const record_files *files)
{
    static uint8_t file[(RECORD_SAMPLES + 1) * RECORD_MOST];
    made = files;
    (void)test_folder_make(NULL);
    if (setenv("SLUICE_CACHE_DIR", test_path(".cache"), 1) != 0) {
        abort();
    }
    for (unsigned f = 0; f < RECORD_FILES; f++) {
        size_t at = 0;
        for (unsigned i = 0; i < RECORD_SAMPLES; i++) {
            at += files->put(file + at, 100 * f + i);
        }
        at += files->put_end != NULL ? files->put_end(file + at) : 0;
        write_file(path_of_file(f), file, (uint32_t)at);
    }
}

void record_files_end(void)
{
    (void)test_folder_remove(NULL);
}

static void check_samples(const record_files *files, const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, files->format);
    assert_int_equal(info.samples, RECORD_FILES * RECORD_SAMPLES);
    assert_int_equal(info.shards, RECORD_FILES);
    assert_non_null(strstr(sluice_dataset_describe(dataset), files->words));
    for (uint64_t i = 0; i < info.samples; i++) {
        static uint8_t found[RECORD_MOST];
        static uint8_t wanted[RECORD_MOST];
        size_t bytes = 0;
        sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
        const unsigned label = (unsigned)(100 * (i / RECORD_SAMPLES) + i % RECORD_SAMPLES);
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &sample, NULL), SLUICE_OK);
        assert_int_equal(sample.label, label);
        assert_int_equal(
            sluice_dataset_read(dataset, i, files->field, found, sizeof(found), &bytes, NULL),
            SLUICE_OK);
        assert_int_equal(bytes, files->payload(wanted, label));
        assert_memory_equal(found, wanted, bytes);
        if (files->check != NULL) {
            files->check(dataset, i, label);
        }
    }
}

void records_walked_and_from_an_index(void **state)
{
    const record_files *files = *state;
    for (unsigned round = 0; round < 3; round++) {
        if (files->round != NULL) {
            files->round(round);
        }
        sluice_dataset *dataset =
            record_open(round == 2 || files->range == NULL ? "" : files->range, NULL);
        check_samples(files, dataset);
        sluice_dataset_close(dataset);
    }
}

static bool is_label(int64_t label)
{
    return label < (int64_t)100 * RECORD_FILES && label % 100 < RECORD_SAMPLES;
}

static void look_at_row(int64_t label, const uint8_t *bytes, size_t size)
{
    static uint8_t wanted[RECORD_MOST];
    assert_int_equal(size, made->payload(wanted, (unsigned)label));
    assert_memory_equal(bytes, wanted, size);
}

void records_once_in_an_epoch(void **state)
{
    const record_files *files = *state;
    const epochs what = {.key = "label",
                         .is_key = is_label,
                         .column = files->field,
                         .most = 4096,
                         .element = files->element,
                         .look = look_at_row};
    epochs_run(&what, record_open("", NULL));
}

void records_cut_short_anywhere(void **state)
{
    const record_files *files = *state;
    static uint8_t file[3 * RECORD_MOST];
    size_t ends[4] = {0};
    char path[512];
    const char *given = path;
    (void)snprintf(path, sizeof(path), "%s", path_of_file(77));
    for (unsigned i = 0; i < 3; i++) {
        ends[i + 1] = ends[i] + files->put(file + ends[i], 6 + 3 * i);
    }
    for (size_t size = 1; size <= ends[3]; size++) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        write_file(path, file, (uint32_t)size);
        const bool whole = size == ends[1] || size == ends[2] || size == ends[3];
        const sluice_status status = sluice_dataset_open(&dataset, &given, 1, NULL, &error);
        assert_int_equal(status, whole ? SLUICE_OK : SLUICE_CORRUPT);
        if (!whole) {
            assert_string_equal(error.file, path);
            assert_in_range(error.offset, 0, size);
        }
        sluice_dataset_close(dataset);
    }
    assert_int_equal(remove(path), 0);
}

void records_first_bad_file_is_told(void **state)
{
    (void)state;
    const char *path = test_folder();
    for (unsigned bad = 6; bad >= 2; bad -= 2) { /* whichever thread reads it */
        write_file(path_of_file(bad), "no record at all", 16);
    }
    for (unsigned i = 0; i < 20; i++) { /* and whichever is read first */
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_CORRUPT);
        assert_null(dataset);
        assert_string_equal(error.file, path_of_file(2));
    }
}
