/* SPDX-License-Identifier: Apache-2.0 */
/* Tests subsets through the public interface, by brute force over their sources: by ranges,
 * numbers, files and conditions; subsets of subsets and of joined datasets; invalid choices. */
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 500, CHOSEN_MAX = 1 << 15 };

static char root[200];
static sluice_dataset *all;
static int64_t chosen[CHOSEN_MAX];

/* Sample i has label i % 10, or none where i % 11 == 0, and score i / 100 - 2. */
static int64_t label_of(int64_t i)
{
    return i % 10;
}

static double score_of(int64_t i)
{
    return (double)i / 100 - 2;
}

static int set_up(void **state)
{
    char path[300];
    const char *where = path;
    sluice_field fields[3] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    temporary_directory(root, sizeof(root));
    (void)snprintf(path, sizeof(path), "%s/set", root);
    (void)snprintf(fields[0].name, sizeof(fields[0].name), "id");
    (void)snprintf(fields[1].name, sizeof(fields[1].name), "label");
    (void)snprintf(fields[2].name, sizeof(fields[2].name), "score");
    fields[0].type = SLUICE_FIELD_INT;
    fields[1].type = SLUICE_FIELD_INT;
    fields[2].type = SLUICE_FIELD_FLOAT;
    options.fields = fields;
    options.field_count = 3;
    if (sluice_writer_open(&writer, path, &options, NULL) != SLUICE_OK) {
        return -1;
    }
    for (int64_t i = 0; i < SAMPLES; i++) {
        sluice_value values[3] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        values[0].integer = i;
        values[1].integer = label_of(i);
        values[1].absent = i % 11 == 0;
        values[2].number = score_of(i);
        if (sluice_writer_add_values(writer, values, 3, NULL) != SLUICE_OK) {
            return -1;
        }
    }
    return sluice_writer_finish(writer, NULL) == SLUICE_OK &&
                   sluice_dataset_open(&all, &where, 1, NULL, NULL) == SLUICE_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    sluice_dataset_close(all);
    remove_tree(root);
    return 0;
}

static sluice_dataset *choose(sluice_dataset *of, const sluice_subset_options *options)
{
    sluice_dataset *subset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_subset(&subset, of, options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return subset;
}

static uint64_t samples_of(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    return info.samples;
}

static uint64_t fingerprint_of(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    return info.fingerprint;
}

static int64_t id_at(const sluice_dataset *dataset, uint64_t index)
{
    int64_t id = -1;
    size_t bytes = 0;
    assert_int_equal(sluice_dataset_read(dataset, index, "id", &id, sizeof(id), &bytes, NULL),
                     SLUICE_OK);
    return id;
}

/* Compares only the ids, since a label may be missing. */
static sluice_loader *open_loader(sluice_dataset *dataset)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_column column = SLUICE_COLUMN_INIT;
    sluice_columns *columns = NULL;
    sluice_loader *loader = NULL;
    column.kind = SLUICE_COLUMN_NUMBER;
    column.field = "id";
    options.batch_size = 32;
    options.last_batch = SLUICE_LAST_SHORT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    options.columns = columns;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, NULL), SLUICE_OK);
    sluice_columns_destroy(columns);
    return loader;
}

/* The subset has the `count` samples of `chosen`, by every reading method. */
static void expect_chosen(sluice_dataset *subset, uint64_t count)
{
    int64_t ids[CHOSEN_MAX / 8];
    assert_true(count <= sizeof(ids) / sizeof(ids[0]));
    assert_int_equal(samples_of(subset), count);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(id_at(subset, i), chosen[i]);
    }
    assert_int_equal(sluice_dataset_read_numbers(subset, "id", ids, NULL, NULL, NULL), SLUICE_OK);
    assert_memory_equal(ids, chosen, count * sizeof(*ids));

    sluice_loader *loader = open_loader(subset);
    sluice_batch *batch = NULL;
    uint64_t rows = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor index = SLUICE_TENSOR_INIT;
        sluice_tensor id = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "id", &id), SLUICE_OK);
        for (uint32_t i = 0; i < sluice_batch_rows(batch); i++) {
            assert_int_equal(((const int64_t *)id.data)[i],
                             chosen[((const int64_t *)index.data)[i]]);
        }
        rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
    assert_int_equal(rows, count);
    sluice_loader_close(loader);
}

static uint64_t add_range(uint64_t count, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        chosen[count++] = i;
    }
    return count;
}

TEST(test_ranges)
{
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    options.ranges = "10:20,490:,:3,7,-2:-1,5:5";
    sluice_dataset *subset = choose(all, &options);
    uint64_t count = add_range(0, 10, 20);
    count = add_range(count, 490, 500);
    count = add_range(count, 0, 3);
    count = add_range(count, 7, 8);
    count = add_range(count, 498, 499);
    expect_chosen(subset, count);
    sluice_dataset_close(subset);
}

/* Numbers in an irregular order, more than are kept as runs, some of them twice. */
TEST(test_numbers_in_any_order)
{
    enum { LONG = 20000 };
    static uint64_t numbers[LONG];
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    for (uint64_t i = 0; i < LONG; i++) {
        numbers[i] = i < 300 ? i % 100 : i * 7919 % SAMPLES;
        chosen[i] = (int64_t)numbers[i];
    }
    options.indices = numbers;
    options.index_count = 700;
    sluice_dataset *few = choose(all, &options);
    expect_chosen(few, 700);
    options.index_count = LONG;
    sluice_dataset *many = choose(all, &options);
    memset(numbers, 0, sizeof(numbers)); /* the dataset has a copy */
    assert_int_equal(samples_of(many), LONG);
    for (uint64_t i = 0; i < LONG; i += 17) {
        assert_int_equal(id_at(many, i), chosen[i]);
    }
    assert_int_not_equal(fingerprint_of(few), fingerprint_of(many));
    sluice_dataset_close(few);
    sluice_dataset_close(many);
}

TEST(test_subsets_of_subsets)
{
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    options.ranges = "100:300,0:50";
    sluice_dataset *subset = choose(all, &options);
    options.ranges = "190:210,5";
    sluice_dataset *inner = choose(subset, &options);
    uint64_t count = add_range(0, 290, 300);
    count = add_range(count, 0, 10);
    count = add_range(count, 105, 106);
    expect_chosen(inner, count);
    options.ranges = "290:300,0:10,105";
    sluice_dataset *same = choose(all, &options);
    assert_int_equal(fingerprint_of(same), fingerprint_of(inner));
    for (int i = 0; i < 100; i++) { /* stays flat */
        options.ranges = "0:";
        sluice_dataset *next = choose(inner, &options);
        sluice_dataset_close(inner);
        inner = next;
    }
    expect_chosen(inner, count);
    sluice_dataset_close(same);
    sluice_dataset_close(inner);
    sluice_dataset_close(subset);
}

TEST(test_over_joined_ones)
{
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    sluice_dataset *joined = NULL;
    options.ranges = "490:";
    sluice_dataset *last = choose(all, &options);
    assert_int_equal(
        sluice_dataset_concat(&joined, (sluice_dataset *[]){last, all, last}, 3, NULL, NULL),
        SLUICE_OK);
    uint64_t count = add_range(0, 490, 500);
    count = add_range(count, 0, 500);
    count = add_range(count, 490, 500);
    expect_chosen(joined, count);
    options.ranges = "5:15,508:512";
    sluice_dataset *subset = choose(joined, &options);
    count = add_range(0, 495, 500);
    count = add_range(count, 0, 5);
    count = add_range(count, 498, 500);
    count = add_range(count, 490, 492);
    expect_chosen(subset, count);
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(joined, NULL, &result, NULL), SLUICE_OK);
    assert_int_equal(result.bad, 0);
    assert_int_equal(result.samples, 520);
    sluice_dataset_close(subset);
    sluice_dataset_close(joined);
    sluice_dataset_close(last);
}

TEST(test_files_of_numbers)
{
    char path[300];
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    (void)snprintf(path, sizeof(path), "%s/numbers", root);
    options.index_file = path;
    write_file(path, "3\n 499\r\n\n0\n3", 12);
    sluice_dataset *subset = choose(all, &options);
    const int64_t expected[] = {3, 499, 0, 3};
    memcpy(chosen, expected, sizeof(expected));
    expect_chosen(subset, 4);
    sluice_dataset_close(subset);

    static const char *const wrong[] = {
        "3\n500\n",     "3\nx\n", "-1", "3,4", "\n", "3 4.5", "99999999999999999999999\n",
        "\x93NUMPY\1\0"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        write_file(path, wrong[i], (uint32_t)strlen(wrong[i]));
        assert_int_equal(sluice_dataset_subset(&subset, all, &options, &error), SLUICE_INVALID);
        assert_null(subset);
    }
    options.index_file = "/nonexistent/numbers";
    assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_IO);
}

/* ---- conditions ---- */

static bool has_label(int64_t i)
{
    return i % 11 != 0;
}

static bool below_and_high(int64_t i)
{
    return has_label(i) && label_of(i) < 4 && score_of(i) > 0.5;
}

static bool no_three(int64_t i)
{
    return has_label(i) && label_of(i) != 3;
}

static bool not_three(int64_t i)
{
    return !(has_label(i) && label_of(i) == 3);
}

static bool listed(int64_t i)
{
    return has_label(i) && (label_of(i) == 1 || label_of(i) == 5 || label_of(i) == 9);
}

static bool unlisted(int64_t i)
{
    return has_label(i) && label_of(i) != 1 && label_of(i) != 5;
}

static bool mixed(int64_t i)
{
    return (has_label(i) && label_of(i) >= 8) ||
           (score_of(i) <= -1.5 && !(has_label(i) && label_of(i) == 2));
}

static bool fraction(int64_t i)
{
    return i > 497;
}

static const struct {
    const char *text;
    bool (*holds)(int64_t i);
} conditions[] = {
    {"label < 4 and score > 0.5", below_and_high},
    {"label<4&&score>5e-1", below_and_high},
    {"label != 3", no_three},
    {"not label == 3", not_three},
    {"!(label = 3)", not_three},
    {"label in (1, 5,9)", listed},
    {"label not in (1, 5)", unlisted},
    {"label >= 8 or score <= -1.5 and not label == 2", mixed},
    {"((label >= 8)) || (score <= -1.5 && !(label == +2))", mixed},
    {"id > 497.5", fraction},
};

TEST(test_conditions)
{
    sluice_scan_options scan = SLUICE_SCAN_OPTIONS_INIT;
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    options.scan = &scan;
    for (size_t c = 0; c < sizeof(conditions) / sizeof(conditions[0]); c++) {
        uint64_t count = 0;
        for (int64_t i = 0; i < SAMPLES; i++) {
            if (conditions[c].holds(i)) {
                chosen[count++] = i;
            }
        }
        options.where = conditions[c].text;
        scan.workers = (uint32_t)(c % 3);
        sluice_dataset *subset = choose(all, &options);
        expect_chosen(subset, count);
        sluice_dataset_close(subset);
    }
}

TEST(test_conditions_that_make_no_sense)
{
    static const char *const wrong[] = {"",
                                        "label",
                                        "label <",
                                        "label < x",
                                        "label < 4 and",
                                        "nothing<4",
                                        "label << 4",
                                        "(label < 4",
                                        "label < 4)",
                                        "label in 4",
                                        "label in ()",
                                        "label in (4",
                                        "label in (4 5)",
                                        "label == \"cat\"",
                                        "label == \"cat",
                                        "label < 4 score > 1",
                                        "not",
                                        "label not 4",
                                        "label < 4x",
                                        "4 < label",
                                        "id > 1e9"};
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    sluice_dataset *subset = NULL;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        options.where = wrong[i];
        assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
        assert_null(subset);
    }
    static char deep[4001];
    memset(deep, '(', sizeof(deep) - 1);
    options.where = deep;
    assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
    memset(deep, '!', sizeof(deep) - 1);
    assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
}

TEST(test_names_of_classes)
{
    photo_folder folder;
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    photo_folder_make(&folder, 3, 4);
    sluice_dataset *photos = setup_dataset(folder.path);
    options.where = "label in (\"c02\", 'c00')";
    sluice_dataset *subset = choose(photos, &options);
    assert_int_equal(samples_of(subset), 8);
    int64_t labels[8];
    assert_int_equal(sluice_dataset_read_numbers(subset, "label", labels, NULL, NULL, NULL),
                     SLUICE_OK);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(labels[i], i < 4 ? 0 : 2);
    }
    options.where = "label == \"c03\"";
    sluice_dataset *none = NULL;
    assert_int_equal(sluice_dataset_subset(&none, photos, &options, NULL), SLUICE_INVALID);
    sluice_dataset_close(subset);
    sluice_dataset_close(photos);
    photo_folder_remove(&folder);
}

static int32_t stop(void *user)
{
    (void)user;
    return 1;
}

TEST(test_numbers)
{
    static int64_t labels[SAMPLES];
    static double scores[SAMPLES];
    static uint8_t present[SAMPLES];
    sluice_scan_options scan = SLUICE_SCAN_OPTIONS_INIT;
    assert_int_equal(sluice_dataset_read_numbers(all, "label", labels, present, &scan, NULL),
                     SLUICE_OK);
    assert_int_equal(sluice_dataset_read_numbers(all, "score", scores, NULL, NULL, NULL),
                     SLUICE_OK);
    for (int64_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(present[i], has_label(i));
        assert_int_equal(labels[i], has_label(i) ? label_of(i) : 0);
        assert_true(scores[i] == score_of(i));
    }
    assert_int_equal(sluice_dataset_read_numbers(all, "x", labels, NULL, NULL, NULL),
                     SLUICE_INVALID);
    scan.should_stop = stop;
    assert_int_equal(sluice_dataset_read_numbers(all, "id", labels, NULL, &scan, NULL),
                     SLUICE_CANCELED);
    scan.workers = 1025;
    assert_int_equal(sluice_dataset_read_numbers(all, "id", labels, NULL, &scan, NULL),
                     SLUICE_INVALID);
}

TEST(test_wrong_choices)
{
    static const char *const wrong[] = {"",     "501",   "500",  "0:501", "5:3", "x",   ":,",
                                        "1,,2", "1:2:3", "1 :2", "-501:", "5:5", "1-2", "1,"};
    sluice_dataset *subset = NULL;
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    const uint64_t numbers[] = {3, SAMPLES};
    assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_subset(&subset, all, NULL, NULL), SLUICE_INVALID);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        options.ranges = wrong[i];
        assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
    }
    options.ranges = "0:10";
    options.where = "id < 10";
    assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
    options.where = NULL;
    options.ranges = NULL;
    options.indices = numbers;
    options.index_count = 2;
    assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
    options.index_count = 0;
    assert_int_equal(sluice_dataset_subset(&subset, all, &options, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_subset(NULL, all, &options, NULL), SLUICE_INVALID);
    assert_null(subset);
}

TEST_GROUP(set_up, tear_down)
