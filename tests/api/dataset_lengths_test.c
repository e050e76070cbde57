/* SPDX-License-Identifier: Apache-2.0 */
/* Tests lengths of tensors, from an index and from samples; the result of packing them; stops and
 * errors. */
#include "test.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 5000, LONGEST = 50 }; /* more samples than a thread looks up at once */

static uint64_t length_of(uint32_t number)
{
    return number % 7 == 3 ? 0 : number * 13 % LONGEST;
}

/* Writes tokens and, with two fields, a table of two columns that every fifth sample lacks. */
static sluice_dataset *write_tokens(const char *name, uint32_t field_count)
{
    static const uint16_t zeros[LONGEST * 2] = {0};
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer;
    sluice_dataset *dataset;
    const char *path = test_path("%s", name);
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(fields[i].name, sizeof(fields[i].name), "%s", i == 0 ? "tokens" : "table");
        fields[i].type = SLUICE_FIELD_TENSOR;
        fields[i].dtype = SLUICE_U16;
        fields[i].dims = i + 1;
        fields[i].shape[1] = i == 0 ? 0 : 2;
    }
    options.fields = fields;
    options.field_count = field_count;
    options.zstd_level = SLUICE_ZSTD_OFF;
    assert_int_equal(sluice_writer_open(&writer, path, &options, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        values[0].data = zeros;
        values[0].bytes = length_of(i) * 2;
        values[1].absent = i % 5 == 0;
        values[1].data = zeros;
        values[1].bytes = length_of(i + 1) * 4;
        assert_int_equal(sluice_writer_add_values(writer, values, field_count, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    return dataset;
}

static uint64_t lengths[SAMPLES];

static void check_tokens(const sluice_dataset *dataset)
{
    sluice_error error = SLUICE_ERROR_INIT;
    memset(lengths, 0xFF, sizeof(lengths));
    assert_int_equal(sluice_dataset_read_lengths(dataset, "tokens", lengths, NULL, &error),
                     SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(lengths[i], length_of(i));
    }
}

TEST_WITH(lengths_are_those_that_were_written, test_folder_make, test_folder_remove)
{
    sluice_dataset *plain = write_tokens("plain", 1);
    sluice_dataset *both = write_tokens("both", 2);
    assert_int_equal(sluice_dataset_lengths_source(plain, "tokens"), SLUICE_LENGTHS_INDEX);
    assert_int_equal(sluice_dataset_lengths_source(both, "tokens"), SLUICE_LENGTHS_SAMPLES);
    assert_int_equal(sluice_dataset_lengths_source(plain, "nothing"), SLUICE_LENGTHS_NONE);
    assert_int_equal(sluice_dataset_lengths_source(NULL, "tokens"), SLUICE_LENGTHS_NONE);
    check_tokens(plain);
    check_tokens(both);
    assert_int_equal(sluice_dataset_read_lengths(both, "table", lengths, NULL, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(lengths[i], i % 5 == 0 ? 0 : length_of(i + 1));
    }
    sluice_dataset_close(plain);
    sluice_dataset_close(both);
}

static int32_t stop_at_once(void *user)
{
    (*(uint32_t *)user)++;
    return 1;
}

TEST_WITH(stops_and_refusals, test_folder_make, test_folder_remove)
{
    sluice_dataset *plain = write_tokens("plain", 1);
    sluice_scan_options scan = SLUICE_SCAN_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    scan.should_stop = stop_at_once;
    for (int turn = 0; turn < 500; turn++) { /* other threads may take all the work first */
        uint32_t asked = 0;
        scan.user = &asked;
        assert_int_equal(sluice_dataset_read_lengths(plain, "tokens", lengths, &scan, &error),
                         SLUICE_CANCELED);
        assert_true(asked > 0);
    }
    assert_int_equal(sluice_dataset_read_lengths(plain, "nothing", lengths, NULL, &error),
                     SLUICE_INVALID);
    assert_int_equal(sluice_dataset_read_lengths(plain, "tokens", NULL, NULL, &error),
                     SLUICE_INVALID);
    sluice_dataset_close(plain);
}

TEST(a_report_of_packing)
{
    static const uint64_t five[5] = {7, 0, 20, 5, 4};
    sluice_packing_options options = SLUICE_PACKING_OPTIONS_INIT;
    sluice_packing_report report = SLUICE_PACKING_REPORT_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    uint32_t asked = 0;
    options.length = 16;
    options.align = 4;
    assert_int_equal(sluice_packing_count(five, 5, &options, &report, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "the longest document, 2, has 20 elements"));
    options.cut = SLUICE_CUT_LONG;
    assert_int_equal(sluice_packing_count(five, 5, &options, &report, &error), SLUICE_OK);
    /* 16 | 8 + 8 | 4 + 4: a whole row, then 7 and 5 aligned, then 4 and the rest. */
    assert_int_equal(report.rows, 3);
    assert_int_equal(report.pieces, 5);
    assert_int_equal(report.tokens, 36);
    assert_int_equal(report.targets, 32);
    assert_int_equal(report.align_padding, 4);
    assert_int_equal(report.end_padding, 8);
    assert_int_equal(report.cut, 1);
    assert_int_equal(report.empty, 1);
    assert_int_equal(report.longest_document, 2);
    options.cut = 3;
    assert_int_equal(sluice_packing_count(five, 5, &options, &report, &error), SLUICE_INVALID);
    options.cut = SLUICE_CUT_SPLIT;
    options.should_stop = stop_at_once;
    options.user = &asked;
    assert_int_equal(sluice_packing_count(five, 5, &options, &report, &error), SLUICE_CANCELED);
    assert_true(asked > 0);
}
