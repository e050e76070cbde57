/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets over others: subsets and windows have the meanings of their dataset, joined ones must
 * agree, and omissions of opening are counted once. The fields are those of a writer.
 */
#include "dataset.h"
#include "dataset_checks.h"
#include "meaning.h"
#include "source_columns.h"
#include "test.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>

enum { IMAGE, BOXES, LABELS, WIDTH, HEIGHT, FIELDS };

static char root[256];

static sluice_field field_named(const char *name, sluice_field_type type)
{
    sluice_field field = SLUICE_FIELD_INIT;
    snprintf(field.name, sizeof(field.name), "%s", name);
    field.type = (int32_t)type;
    return field;
}

/* The same as COCO's. */
static void describe(sluice_field fields[FIELDS])
{
    fields[IMAGE] = field_named("image", SLUICE_FIELD_IMAGE);
    fields[BOXES] = field_named("boxes", SLUICE_FIELD_TENSOR);
    fields[BOXES].dtype = SLUICE_F32;
    fields[BOXES].dims = 2;
    fields[BOXES].shape[1] = 4;
    fields[BOXES].role = SLUICE_ROLE_BOXES;
    fields[BOXES].box_format = SLUICE_BOX_XYWH;
    fields[BOXES].coordinates = SLUICE_COORDINATES_PIXELS;
    fields[LABELS] = field_named("labels", SLUICE_FIELD_TENSOR);
    fields[LABELS].dtype = SLUICE_I64;
    fields[LABELS].dims = 1;
    fields[LABELS].per_box = 1;
    fields[WIDTH] = field_named("width", SLUICE_FIELD_INT);
    fields[WIDTH].role = SLUICE_ROLE_WIDTH;
    fields[HEIGHT] = field_named("height", SLUICE_FIELD_INT);
    fields[HEIGHT].role = SLUICE_ROLE_HEIGHT;
    fields[IMAGE].orientation = fields[BOXES].orientation = SLUICE_ORIENTATION_BY_SIZE;
}

/* Opens a dataset of two samples; the caller closes it. */
static sluice_dataset *dataset_of(const sluice_field *fields)
{
    static int number;
    static const uint8_t data[16];
    char path[300];
    sluice_error error = SLUICE_ERROR_INIT;
    snprintf(path, sizeof(path), "%s/%d", root, number++);
    sluice_writer *writer;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = FIELDS;
    if (sluice_writer_open(&writer, path, &options, &error) < 0) {
        fail_msg("%s", error.text);
    }
    sluice_value values[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        values[i] = (sluice_value)SLUICE_VALUE_INIT;
        values[i].data = data;
        values[i].bytes = 16;
        values[i].absent = i == IMAGE;
    }
    assert_int_equal(sluice_writer_add_values(writer, values, FIELDS, &error), SLUICE_OK);
    assert_int_equal(sluice_writer_add_values(writer, values, FIELDS, &error), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    return dataset_opened(path);
}

static int set_up(void **state)
{
    (void)state;
    temporary_directory(root, sizeof(root));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(root);
    return 0;
}

static sl_dataset *inside(sluice_dataset *dataset)
{
    return (sl_dataset *)(void *)dataset;
}

static void expect_same_meaning(sluice_dataset *a, sluice_dataset *b)
{
    assert_int_equal(inside(a)->info.fields, inside(b)->info.fields);
    for (uint32_t i = 0; i < inside(a)->info.fields; i++) {
        assert_true(
            sl_meaning_is_same(&inside(a)->fields[i].meaning, &inside(b)->fields[i].meaning));
    }
}

/* Joins a and b with these fields (NULL: all) and closes them; NULL: the join failed. */
static sluice_dataset *join(sluice_dataset *a, sluice_dataset *b, const char *const *fields,
                            uint32_t count, sluice_error *error)
{
    sluice_dataset *made = NULL;
    sluice_dataset *const both[2] = {a, b};
    sluice_concat_options options = SLUICE_CONCAT_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = count;
    const sluice_status status = sluice_dataset_concat(&made, both, 2, &options, error);
    assert_true((made != NULL) == (status == SLUICE_OK));
    sluice_dataset_close(a);
    sluice_dataset_close(b);
    return made;
}

TEST_WITH(a_subset_and_its_join_mean_the_same, set_up, tear_down)
{
    sluice_field fields[FIELDS];
    sluice_error error = SLUICE_ERROR_INIT;
    describe(fields);
    sluice_dataset *dataset = dataset_of(fields);
    sluice_dataset *subset = NULL;
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    options.ranges = "1:";
    assert_int_equal(sluice_dataset_subset(&subset, dataset, &options, &error), SLUICE_OK);
    expect_same_meaning(dataset, subset);
    sluice_dataset *joined = join(subset, dataset_of(fields), NULL, 0, &error);
    expect_same_meaning(dataset, joined);
    sluice_dataset_close(joined);
    sluice_dataset_close(dataset);
}

/* Expects joining to fail with both meanings if one member of the fields differs. */
static void expect_refusal(const sluice_field *changed, const char *words)
{
    sluice_field fields[FIELDS];
    sluice_error error = SLUICE_ERROR_INIT;
    describe(fields);
    assert_null(join(dataset_of(fields), dataset_of(changed), NULL, 0, &error));
    assert_int_equal(error.status, SLUICE_INVALID);
    if (strstr(error.text, words) == NULL || strstr(error.text, "rewrite one of them") == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
}

TEST_WITH(other_meanings_are_refused, set_up, tear_down)
{
    sluice_field fields[FIELDS];
    describe(fields);
    fields[BOXES].box_format = SLUICE_BOX_CXCYWH;
    expect_refusal(fields, "field \"boxes\" means \"boxes, cxcywh in pixels");
    describe(fields);
    fields[BOXES].coordinates = SLUICE_COORDINATES_RELATIVE;
    expect_refusal(fields, "boxes, xywh relative");
    describe(fields);
    fields[BOXES].orientation = SLUICE_ORIENTATION_UPRIGHT;
    expect_refusal(fields, "boxes, xywh in pixels, of the upright image");
    describe(fields);
    fields[IMAGE].orientation = SLUICE_ORIENTATION_STORED;
    expect_refusal(fields, "field \"image\" means \"annotated as stored\" in dataset 2 and "
                           "\"annotated as stored or upright, by width and height\"");
    describe(fields);
    fields[LABELS].per_box = 0;
    expect_refusal(fields, "field \"labels\" means \"not known\" in dataset 2 and \"one per box\" "
                           "in dataset 1");
    describe(fields);
    fields[BOXES] = field_named("boxes", SLUICE_FIELD_TENSOR);
    fields[BOXES].dtype = SLUICE_F32;
    fields[BOXES].dims = 2;
    fields[BOXES].shape[1] = 4;
    fields[LABELS].per_box = 0;
    expect_refusal(fields, "field \"boxes\" means \"not known\" in dataset 2");
}

/* The only image, and the image named explicitly, are the same. */
TEST_WITH(a_name_says_no_more_than_the_only_one, set_up, tear_down)
{
    sluice_field fields[FIELDS];
    sluice_field other[FIELDS];
    sluice_error error = SLUICE_ERROR_INIT;
    describe(fields);
    describe(other);
    snprintf(other[BOXES].of, sizeof(other[BOXES].of), "image");
    snprintf(other[LABELS].of, sizeof(other[LABELS].of), "boxes");
    sluice_dataset *joined = join(dataset_of(fields), dataset_of(other), NULL, 0, &error);
    assert_non_null(joined);
    sluice_dataset_close(joined);
}

TEST_WITH(chosen_fields_keep_what_holds, set_up, tear_down)
{
    static const char *const some[] = {"image", "labels"};
    static const char *const boxes[] = {"image", "boxes"};
    sluice_field fields[FIELDS];
    sluice_field other[FIELDS];
    sluice_error error = SLUICE_ERROR_INIT;
    describe(fields);
    describe(other);
    snprintf(fields[LABELS].of, sizeof(fields[LABELS].of), "boxes");
    snprintf(other[LABELS].of, sizeof(other[LABELS].of), "boxes");
    other[IMAGE].orientation = other[BOXES].orientation = SLUICE_ORIENTATION_UPRIGHT;
    /* without boxes, the orientation of the annotations does not matter */
    sluice_dataset *joined = join(dataset_of(fields), dataset_of(other), some, 2, &error);
    assert_non_null(joined);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(sl_meaning_is_empty(&inside(joined)->fields[i].meaning));
    }
    sluice_dataset_close(joined);
    assert_null(join(dataset_of(fields), dataset_of(fields), boxes, 2, &error));
    assert_non_null(strstr(error.text, "width and height"));
    joined = join(dataset_of(other), dataset_of(other), boxes, 2, &error);
    assert_int_equal(inside(joined)->fields[1].meaning.orientation, SLUICE_ORIENTATION_UPRIGHT);
    sluice_dataset_close(joined);
}

/* Subsets of one dataset have the same omissions. */
TEST_WITH(what_was_left_out_is_counted_once, set_up, tear_down)
{
    sluice_field fields[FIELDS];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_left_out found = SLUICE_LEFT_OUT_INIT;
    describe(fields);
    sluice_dataset *first = dataset_of(fields);
    sluice_dataset *second = dataset_of(fields);
    sluice_dataset *subset = NULL;
    sl_omit_many(&inside(first)->omissions, SL_OMITTED_THINGS, "links", "a", 3);
    sl_omit_many(&inside(second)->omissions, SL_OMITTED_IMAGES, "links", "b", 4);
    sl_warnings_add(&inside(second)->warnings, "a warning");
    sluice_subset_options options = SLUICE_SUBSET_OPTIONS_INIT;
    options.ranges = ":1";
    assert_int_equal(sluice_dataset_subset(&subset, second, &options, &error), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_left_out(subset, 0, &found), SLUICE_OK);
    assert_int_equal(found.count, 4);
    assert_string_equal(sluice_dataset_get_warning(subset, 0), "a warning");
    sluice_dataset *const all[] = {second, first, subset, first};
    sluice_dataset *joined = NULL;
    sluice_dataset *again = NULL;
    assert_int_equal(sluice_dataset_concat(&joined, all, 4, NULL, &error), SLUICE_OK);
    sluice_dataset *const more[] = {joined, subset};
    assert_int_equal(sluice_dataset_concat(&again, more, 2, NULL, &error), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_left_out(again, 0, &found), SLUICE_OK);
    assert_int_equal(found.count, 7);
    assert_true(found.images);
    assert_string_equal(found.example, "b");
    assert_int_equal(sluice_dataset_get_left_out(again, 1, &found), SLUICE_END);
    assert_string_equal(sluice_dataset_get_warning(again, 0), "a warning");
    assert_null(sluice_dataset_get_warning(again, 1));
    sluice_dataset_close(again);
    sluice_dataset_close(joined);
    sluice_dataset_close(subset);
    sluice_dataset_close(second);
    sluice_dataset_close(first);
}

/* ---- columns that become fields ---- */

enum { COLUMNS = 4 };

static const sl_source_column columns[COLUMNS] = {
    {.name = "photo", .field = {.type = SLUICE_FIELD_IMAGE}},
    {.name = "objects.bbox",
     .field = {.type = SLUICE_FIELD_TENSOR,
               .dtype = SLUICE_F32,
               .dims = 2,
               .shape = {0, 4},
               .meaning = {.role = SLUICE_ROLE_BOXES, .of = "photo"}}},
    {.name = "objects.kind",
     .field = {.type = SLUICE_FIELD_TENSOR,
               .dtype = SLUICE_I64,
               .dims = 1,
               .meaning = {.per_box = true, .of = "objects.bbox"}}},
    {.name = "objects.area",
     .field = {.type = SLUICE_FIELD_TENSOR,
               .dtype = SLUICE_F32,
               .dims = 1,
               .meaning = {.per_box = true}}},
};

static void find(sl_source_fields *found, const char *const *choices, uint32_t count)
{
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    options.fields = choices;
    options.field_count = count;
    assert_int_equal(sl_source_fields_find(found, columns, COLUMNS, &options, "x", NULL),
                     SLUICE_OK);
}

TEST(a_renamed_field_is_followed)
{
    static const char *const renamed[] = {"b=objects.bbox", "k=objects.kind", "i=photo"};
    static const char *const bytes[] = {"k=objects.kind", "a=objects.area", "i=photo:bytes"};
    sl_source_fields found;
    find(&found, NULL, 0);
    assert_string_equal(found.fields[1].meaning.of, "image");
    assert_string_equal(found.fields[2].meaning.of, "objects.bbox");
    assert_true(found.fields[3].meaning.per_box);
    find(&found, renamed, 3);
    assert_string_equal(found.fields[0].meaning.of, "i");
    assert_string_equal(found.fields[1].meaning.of, "b");
    assert_true(found.fields[1].meaning.per_box);
    find(&found, bytes, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(sl_meaning_is_empty(&found.fields[i].meaning));
    }
}
