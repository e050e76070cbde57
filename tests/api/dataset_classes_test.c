/* SPDX-License-Identifier: Apache-2.0 */
/* Tests changes of classes through the public interface: joining and mixing by class name, adding
 * to a packed dataset, by a list, by renaming and by a file; and errors.
 * python/tests/test_labels.py covers all formats, orders and joins of joins. */
#include "dataset_checks.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <stdio.h>
#include <string.h>

enum { PETS = 3, BIRDS = 4, ALL = PETS + BIRDS };

static const char *const pet_names[] = {"cat", "dog"};
static const char *const bird_names[] = {"dog", "emu", "cat"};
static const int64_t pet_labels[PETS] = {0, 1, -1};
static const int64_t bird_labels[BIRDS] = {2, 0, 1, 1};

static sluice_dataset *parts[2];

static sluice_dataset *write_labels(const char *name, const char *const *classes, uint32_t count,
                                    const int64_t *labels, uint32_t samples)
{
    sluice_writer *writer = NULL;
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    (void)strcpy(field.name, "label");
    field.type = SLUICE_FIELD_INT;
    options.fields = &field;
    options.field_count = 1;
    options.classes = classes;
    options.class_count = count;
    assert_int_equal(sluice_writer_open(&writer, test_path("%s", name), &options, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < samples; i++) {
        sluice_value value = SLUICE_VALUE_INIT;
        value.integer = labels[i];
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    return dataset_opened(test_path("%s", name));
}

static int set_up(void **state)
{
    test_folder_make(NULL);
    parts[0] = write_labels("pets", pet_names, 2, pet_labels, PETS);
    parts[1] = write_labels("birds", bird_names, 3, bird_labels, BIRDS);
    return 0;
}

static int tear_down(void **state)
{
    sluice_dataset_close(parts[0]);
    sluice_dataset_close(parts[1]);
    test_folder_remove(NULL);
    return 0;
}

static sluice_status join(sluice_dataset **joined, const sluice_label_options *labels,
                          sluice_error *error)
{
    sluice_concat_options options = SLUICE_CONCAT_OPTIONS_INIT;
    options.labels = labels;
    return sluice_dataset_concat(joined, parts, 2, &options, error);
}

static void expect_refused(const sluice_label_options *labels, sluice_status status,
                           const char *words)
{
    sluice_dataset *joined = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(join(&joined, labels, &error), status);
    assert_null(joined);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
}

/* Reads the classes, then the labels. Closes the dataset. */
static void expect(sluice_dataset *dataset, const char *const *classes, uint32_t count,
                   const int64_t *labels, uint32_t samples)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.classes, count);
    assert_int_equal(info.samples, samples);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(sluice_dataset_class_name(dataset, i), classes[i]);
    }
    assert_null(sluice_dataset_class_name(dataset, count));
    assert_null(sluice_dataset_class_name(dataset, -1));
    for (uint32_t i = 0; i < samples; i++) {
        int64_t label = 77;
        size_t size = 0;
        assert_int_equal(
            sluice_dataset_read(dataset, i, "label", &label, sizeof(label), &size, NULL),
            SLUICE_OK);
        assert_int_equal(label, labels[i]);
    }
    sluice_dataset_close(dataset);
}

static const char *const all_names[] = {"cat", "dog", "emu"};
static const int64_t all_labels[ALL] = {0, 1, -1, 0, 1, 2, 2};

TEST(test_classes_are_joined_by_their_names)
{
    const sluice_label_options labels = SLUICE_LABEL_OPTIONS_INIT;
    sluice_dataset *joined = NULL;
    expect_refused(NULL, SLUICE_INVALID, "a label must mean the same in all");
    assert_int_equal(join(&joined, &labels, NULL), SLUICE_OK);
    expect(joined, all_names, 3, all_labels, ALL);
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    options.labels = &labels;
    assert_int_equal(sluice_dataset_mix(&joined, parts, 2, &options, NULL), SLUICE_OK);
    expect(joined, all_names, 3, all_labels, ALL);
}

TEST(test_a_list_and_new_names)
{
    static const char *const order[] = {"emu", "yak", "dog", "cat"};
    static const int64_t ordered[ALL] = {3, 2, -1, 3, 2, 0, 0};
    static const char *const from[] = {"emu", "cat"};
    static const char *const to[] = {NULL, "dog"};
    static const char *const left[] = {"dog"};
    static const int64_t renamed[ALL] = {0, 0, -1, 0, 0, -1, -1};
    sluice_label_options labels = SLUICE_LABEL_OPTIONS_INIT;
    sluice_dataset *joined = NULL;
    labels.classes = order;
    labels.class_count = 4;
    assert_int_equal(join(&joined, &labels, NULL), SLUICE_OK);
    expect(joined, order, 4, ordered, ALL);
    labels = (sluice_label_options)SLUICE_LABEL_OPTIONS_INIT;
    labels.rename_from = from;
    labels.rename_to = to;
    labels.rename_count = 2;
    assert_int_equal(join(&joined, &labels, NULL), SLUICE_OK);
    expect(joined, left, 1, renamed, ALL);
    labels.classes = all_names; /* both: the renamed classes, in this order */
    labels.class_count = 3;
    static const int64_t both[ALL] = {1, 1, -1, 1, 1, -1, -1};
    assert_int_equal(join(&joined, &labels, NULL), SLUICE_OK);
    expect(joined, all_names, 3, both, ALL);
}

static void put_file(const char *content)
{
    write_file(test_path("labels.json"), content, (uint32_t)strlen(content));
}

TEST(test_a_file_says_the_same)
{
    static const char *const order[] = {"emu", "dog", "cat"};
    static const int64_t ordered[ALL] = {2, 1, -1, 2, 1, 0, 0};
    static const struct {
        const char *content;
        sluice_status status;
        const char *words;
    } wrong[] = {{"[]", SLUICE_INVALID, "not a file of class names"},
                 {"{}", SLUICE_INVALID, "not a file of class names"},
                 {"[\"cat\", 3]", SLUICE_INVALID, "not a file of class names"},
                 {"{\"cat\": 3}", SLUICE_INVALID, "not a file of class names"},
                 {"{\"cat\": \"\"}", SLUICE_INVALID, "a name is empty"},
                 {"[\"cat\", \"dog\"]", SLUICE_INVALID, "\"emu\" of dataset 2 is not one"},
                 {"[\"cat\"", SLUICE_CORRUPT, "not valid JSON"},
                 {"", SLUICE_CORRUPT, "not valid JSON"}};
    char path[300];
    (void)snprintf(path, sizeof(path), "%s", test_path("labels.json"));
    sluice_label_options labels = SLUICE_LABEL_OPTIONS_INIT;
    sluice_dataset *joined = NULL;
    labels.file = path;
    expect_refused(&labels, SLUICE_IO, "");
    put_file("[\"emu\", \"dog\", \"cat\"]");
    assert_int_equal(join(&joined, &labels, NULL), SLUICE_OK);
    expect(joined, order, 3, ordered, ALL);
    put_file("{\"emu\": \"dog\", \"dog\": \"emu\"}");
    static const char *const swapped[] = {"cat", "emu", "dog"};
    assert_int_equal(join(&joined, &labels, NULL), SLUICE_OK);
    expect(joined, swapped, 3, all_labels, ALL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        put_file(wrong[i].content);
        expect_refused(&labels, wrong[i].status, wrong[i].words);
    }
}

TEST(test_what_makes_no_sense)
{
    static const char *const missing[] = {"cat", NULL, "dog"};
    sluice_label_options labels = SLUICE_LABEL_OPTIONS_INIT;
    labels.class_count = 2;
    expect_refused(&labels, SLUICE_INVALID, "class_count");
    labels.classes = missing;
    expect_refused(&labels, SLUICE_INVALID, "class_count");
    labels = (sluice_label_options)SLUICE_LABEL_OPTIONS_INIT;
    labels.rename_from = all_names;
    labels.rename_count = 1;
    expect_refused(&labels, SLUICE_INVALID, "rename_to");
    labels.rename_to = missing;
    labels.rename_from = missing + 1;
    expect_refused(&labels, SLUICE_INVALID, "rename_from");
    labels.rename_from = all_names;
    labels.file = "labels.json";
    expect_refused(&labels, SLUICE_INVALID, "a file excludes");
    labels = (sluice_label_options)SLUICE_LABEL_OPTIONS_INIT;
    labels.allow_case_duplicates = 2;
    expect_refused(&labels, SLUICE_INVALID, "allow_case_duplicates");
    labels = (sluice_label_options)SLUICE_LABEL_OPTIONS_INIT;
    labels.struct_size = 2;
    expect_refused(&labels, SLUICE_INVALID, "struct_size");
}

TEST(test_others_are_added_to_what_is_packed)
{
    char packed[300];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pack_result result = SLUICE_PACK_RESULT_INIT;
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    const sluice_label_options labels = SLUICE_LABEL_OPTIONS_INIT;
    (void)snprintf(packed, sizeof(packed), "%s", test_path("packed"));
    options.keep_order = 1;
    assert_int_equal(sluice_pack(parts[0], packed, &options, NULL, &error), SLUICE_OK);
    options.labels = &labels;
    assert_int_equal(sluice_pack(parts[1], packed, &options, NULL, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "append"));
    options.append = 1;
    options.labels = NULL;
    assert_int_equal(sluice_pack(parts[1], packed, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "the classes must be the same"));
    options.labels = &labels;
    assert_int_equal(sluice_pack(parts[1], packed, &options, &result, &error), SLUICE_OK);
    assert_int_equal(result.complete, 1);
    expect(dataset_opened(packed), all_names, 3, all_labels, ALL);
    /* Any damage to it is noticed. */
    sluice_dataset *whole = dataset_opened(packed);
    sluice_verify_result verified = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(whole, NULL, &verified, &error), SLUICE_OK);
    assert_int_equal(verified.bad, 0);
    assert_int_equal(verified.samples, ALL);
    sluice_dataset_close(whole);
}

TEST_GROUP(set_up, tear_down)
