/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar archives through the public interface, opened by several threads, with and without indexes
 * that are kept: every sample once in an epoch, whichever archive it is in. What archives may look
 * like is tested against other people's (python/tests/test_tar.py).
 */
#include "record_files.h"
#include "tar_make.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static size_t put_text(uint8_t *to, unsigned label)
{
    memset(to, 'a' + (int)(label % 100), label);
    return label;
}

static size_t put_sample(uint8_t *to, unsigned label)
{
    char name[64];
    char number[16];
    char text[1024] = "";
    size_t at = 0;
    (void)put_text((uint8_t *)text, label);
    (void)snprintf(number, sizeof(number), "%u", label);
    (void)snprintf(name, sizeof(name), "%u-%u.cls", label / 100, label % 100);
    at += tar_put(to, name, number, strlen(number));
    (void)snprintf(name, sizeof(name), "%u-%u.txt", label / 100, label % 100);
    return at + tar_put(to + at, name, text, label);
}

static void check_key(const sluice_dataset *dataset, uint64_t index, unsigned label)
{
    char key[32];
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, index, &sample, NULL), SLUICE_OK);
    (void)snprintf(key, sizeof(key), "%u-%u", label / 100, label % 100);
    assert_string_equal(sample.key, key);
}

static record_files files = {.format = "tar",
                             .words = "tar archives",
                             .name = "set-%02u.tar",
                             .range = "set-{00..08}.tar",
                             .put = put_sample,
                             .put_end = tar_put_end,
                             .field = "txt",
                             .element = 1,
                             .payload = put_text,
                             .check = check_key};

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORD_TEST(records_walked_and_from_an_index, &files),
        RECORD_TEST(records_once_in_an_epoch, &files),
        RECORD_TEST(records_first_bad_file_is_told, &files),
    };
    record_files_begin(&files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    record_files_end();
    return failed;
}
