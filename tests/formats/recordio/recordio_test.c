/* SPDX-License-Identifier: Apache-2.0 */
/* Tests RecordIO files through the public interface: scanned, by MXNet's index, and by a cached
 * index; records in parts; every sample once per epoch from whichever file; damage.
 * test_recordio.py (Python) covers more kinds of records. */
#include "record_files.h"
#include "test_folder.h"

#include <sluice/datasets.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = 24 };

static const uint8_t magic[4] = {0x0a, 0x23, 0xd7, 0xce};

static size_t put_part(uint8_t *to, unsigned kind, const uint8_t *bytes, size_t size)
{
    memcpy(to, magic, 4);
    (void)record_little_endian(to + 4, kind << 29 | size, 4);
    memcpy(to + 8, bytes, size);
    memset(to + 8 + size, 0, (4 - size % 4) % 4);
    return 8 + (size + 3) / 4 * 4;
}

/* The payload of sample `number`: `number` letters with magic numbers between them. */
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

/* IRHeader: the label is the number, the id is 1000 more. Splits records as dmlc-core does. */
static size_t put_record(uint8_t *to, unsigned number)
{
    uint8_t all[4096] = {0};
    const float label = (float)number;
    size_t at = 0;
    size_t begin = 0;
    unsigned kind = 0;
    memcpy(all + 4, &label, 4);
    (void)record_little_endian(all + 8, 1000 + number, 8);
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

static void check_id(const sluice_dataset *dataset, uint64_t index, unsigned label)
{
    int64_t id = 0;
    size_t bytes = 0;
    assert_int_equal(sluice_dataset_read(dataset, index, "id", &id, sizeof(id), &bytes, NULL),
                     SLUICE_OK);
    assert_int_equal(id, 1000 + label);
}

/* 0: scanned, 1: cached or scanned again, 2: MXNet's indexes. */
static void write_indexes(unsigned round)
{
    static uint8_t record[RECORD_MOST];
    for (unsigned f = 0; round == 2 && f < RECORD_FILES; f++) {
        char text[512];
        size_t at = 0;
        int length = 0;
        for (unsigned i = 0; i < RECORD_SAMPLES; i++) {
            length +=
                snprintf(text + length, sizeof(text) - (size_t)length, "%u\t%zu\n", 1000 - i, at);
            at += put_record(record, 100 * f + i);
        }
        write_file(test_path("set-%u.idx", f), text, (uint32_t)length);
    }
}

static record_files files = {.format = "recordio",
                             .words = "RecordIO files",
                             .name = "set-%u.rec",
                             .put = put_record,
                             .field = "data",
                             .element = 1,
                             .payload = make_payload,
                             .check = check_id,
                             .round = write_indexes};

/* Label lists of several lengths are counted record by record. */
static void labels_of_several_lengths(void **state)
{
    enum { RECORDS = 3 };
    uint8_t file[1024];
    size_t size = 0;
    int64_t counts[RECORDS] = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    (void)state;
    for (unsigned i = 0; i < RECORDS; i++) {
        uint8_t record[HEAD + 4 * RECORDS + 1] = {0};
        (void)record_little_endian(record, i + 1, 4);
        for (unsigned k = 0; k <= i; k++) {
            const float label = (float)k + 0.5F;
            memcpy(record + HEAD + (size_t)4 * k, &label, 4);
        }
        size += put_part(file + size, 0, record, HEAD + (size_t)4 * (i + 1) + 1);
    }
    (void)mkdir(test_path("lists"), 0700);
    write_file(test_path("lists/a.rec"), file, (uint32_t)size);
    sluice_dataset *dataset = record_open("lists", NULL);
    assert_int_equal(sluice_dataset_read_numbers(dataset, "label", counts, NULL, NULL, &error),
                     SLUICE_OK);
    for (unsigned i = 0; i < RECORDS; i++) {
        assert_int_equal(counts[i], i + 1);
    }
    sluice_dataset_close(dataset);
    remove_tree(test_path("lists"));
}

/* Records that are only images. */
static void images_without_headers(void **state)
{
    static const uint8_t jpeg[64] = {0xff, 0xd8, 0xff, 0xe0};
    uint8_t file[1024];
    size_t size = 0;
    sluice_field field = SLUICE_FIELD_INIT;
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        size += put_part(file + size, 0, jpeg, sizeof(jpeg) - i);
    }
    (void)mkdir(test_path("plain"), 0700);
    write_file(test_path("plain/a.rec"), file, (uint32_t)size);
    sluice_dataset *dataset = record_open("plain", NULL);
    assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
    assert_string_equal(field.name, "image");
    assert_int_equal(field.type, SLUICE_FIELD_IMAGE);
    sluice_dataset_close(dataset);
    remove_tree(test_path("plain"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORD_TEST(records_walked_and_from_an_index, &files),
        cmocka_unit_test(labels_of_several_lengths),
        cmocka_unit_test(images_without_headers),
        RECORD_TEST(records_once_in_an_epoch, &files),
        RECORD_TEST(records_cut_short_anywhere, &files),
        RECORD_TEST(records_first_bad_file_is_told, &files),
    };
    record_files_begin(&files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    record_files_end();
    return failed;
}
