/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns requested without options: a field's meaning is the default, fields of boxes follow them,
 * and options that contradict a field or cannot be meant are reported.
 */
#include "columns_rig.h"
#include "error.h"
#include "png_make.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 10, ROWS = 16 };
enum { IMAGE, BOXES, OTHERS, LABELS, KEYPOINTS, TEXT, SIDE, FIELDS };

typedef struct meaning_rig {
    sl_field fields[FIELDS];
    columns_rig *rig;
    png_file picture;
} meaning_rig;

static sl_field tensor_of(const char *name, sluice_dtype dtype, uint32_t inner)
{
    sl_field field = {.type = SLUICE_FIELD_TENSOR,
                      .dtype = dtype,
                      .dims = inner > 1 ? 2 : 1,
                      .shape = {0, inner > 1 ? inner : 0}};
    (void)snprintf(field.name, sizeof(field.name), "%s", name);
    return field;
}

static int meaning_setup(void **state)
{
    meaning_rig *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    m->fields[IMAGE] = (sl_field){.name = "image", .type = SLUICE_FIELD_IMAGE};
    m->fields[BOXES] = tensor_of("boxes", SLUICE_F32, 4);
    m->fields[OTHERS] = tensor_of("others", SLUICE_F32, 4);
    m->fields[LABELS] = tensor_of("labels", SLUICE_I64, 1);
    m->fields[LABELS].meaning.per_box = true;
    m->fields[KEYPOINTS] = tensor_of("keypoints", SLUICE_F32, 3);
    m->fields[KEYPOINTS].meaning = (sl_meaning){.role = SLUICE_ROLE_POINTS, .per_box = true};
    m->fields[TEXT] = (sl_field){.name = "segmentation", .type = SLUICE_FIELD_TEXT};
    m->fields[TEXT].meaning = (sl_meaning){.role = SLUICE_ROLE_SHAPES, .per_box = true};
    m->fields[SIDE] = (sl_field){.name = "width", .type = SLUICE_FIELD_INT};
    m->fields[SIDE].meaning.role = SLUICE_ROLE_WIDTH;
    m->rig = columns_rig_open(m->fields, FIELDS, ROWS);
    m->rig->notices = sl_notices_open();
    assert_non_null(m->rig->notices);
    m->picture = png_make(WIDTH, HEIGHT, 1, &(png_options){.colour = 2});
    set_bytes(m->rig, IMAGE, m->picture.data, m->picture.size);
    *state = m;
    return 0;
}

static int meaning_teardown(void **state)
{
    meaning_rig *m = *state;
    void *rig = m->rig;
    columns_rig_close(&rig);
    png_make_free(&m->picture);
    free(m);
    return 0;
}

static void ask(const meaning_rig *m, sluice_column column)
{
    sluice_error error = SLUICE_ERROR_INIT;
    column.struct_size = sizeof(column);
    if (sluice_columns_add(m->rig->asked, &column) != SLUICE_OK) {
        sluice_columns_get_error(m->rig->asked, &error);
        fail_msg("%s", error.text);
    }
}

static void ask_for_image(const meaning_rig *m, const char *name, uint32_t width, uint32_t height)
{
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "center_crop", (const double[]){width, height}, 2),
                     SLUICE_OK);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_IMAGE,
                           .field = "image",
                           .name = name,
                           .recipe = recipe,
                           .dtype = SLUICE_U8});
    sluice_augment_destroy(recipe);
}

static void give(const meaning_rig *m, uint32_t field, const void *numbers, uint64_t count,
                 uint64_t inner, size_t element)
{
    set_bytes(m->rig, field, numbers, count * inner * element);
    value(m->rig, field)->shape[0] = count;
    value(m->rig, field)->shape[1] = inner;
}

static void has_notice(const meaning_rig *m, uint32_t number, const char *words)
{
    sluice_error notice;
    if (!sl_notices_get(m->rig->notices, number, &notice)) {
        fail_msg("there is no notice %u: %s", number, words);
    }
    if (strstr(notice.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, notice.text);
    }
}

static void has_notices(const meaning_rig *m, uint32_t count)
{
    sluice_error notice;
    if (sl_notices_get(m->rig->notices, count, &notice)) {
        fail_msg("more than %u: %s", count, notice.text);
    }
    assert_true(count == 0 || sl_notices_get(m->rig->notices, count - 1, &notice));
}

static const sluice_column boxes_alone = {.kind = SLUICE_COLUMN_BOXES, .field = "boxes"};

/* ---- formats and coordinates ---- */

static void takes(meaning_rig *m, sluice_box_format format, sluice_coordinates coordinates,
                  const float stored[4])
{
    m->fields[BOXES].meaning =
        (sl_meaning){.role = format != SLUICE_BOX_AUTO ? SLUICE_ROLE_BOXES : SLUICE_ROLE_NONE,
                     .box_format = format,
                     .coordinates = coordinates};
    m->rig->asked->count = 0;
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, boxes_alone);
    must_bind(m->rig);
    give(m, BOXES, stored, 1, 4, sizeof(float));
    must_make(m->rig, 0);
    for (size_t i = 0; i < 4; i++) {
        const float expected[] = {2, 1, 12, 6};
        assert_true(fabsf(((const float *)array(m->rig, "boxes"))[i] - expected[i]) < 1e-5F);
    }
    sl_row_close(&m->rig->set, m->rig->row);
    for (size_t i = 0; i < SL_PARTS_MAX; i++) {
        free(m->rig->parts[i]);
        m->rig->parts[i] = NULL;
    }
    sl_columns_close(&m->rig->set);
}

TEST_WITH(boxes_are_as_their_field_says, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    takes(m, SLUICE_BOX_AUTO, SLUICE_COORDINATES_AUTO, (const float[]){2, 1, 12, 6});
    takes(m, SLUICE_BOX_XYXY, SLUICE_COORDINATES_PIXELS, (const float[]){2, 1, 12, 6});
    takes(m, SLUICE_BOX_XYWH, SLUICE_COORDINATES_PIXELS, (const float[]){2, 1, 10, 5});
    takes(m, SLUICE_BOX_CXCYWH, SLUICE_COORDINATES_PIXELS, (const float[]){7, 3.5F, 10, 5});
    takes(m, SLUICE_BOX_CXCYWH, SLUICE_COORDINATES_RELATIVE,
          (const float[]){0.35F, 0.35F, 0.5F, 0.5F});
    has_notices(m, 0);
}

TEST_WITH(an_argument_wins_and_is_told, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    m->fields[BOXES].meaning = (sl_meaning){.role = SLUICE_ROLE_BOXES,
                                            .box_format = SLUICE_BOX_CXCYWH,
                                            .coordinates = SLUICE_COORDINATES_RELATIVE,
                                            .orientation = SLUICE_ORIENTATION_UPRIGHT};
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "boxes",
                           .box_format = SLUICE_BOX_XYWH,
                           .relative = SLUICE_COORDINATES_PIXELS,
                           .orientation = SLUICE_ORIENTATION_STORED});
    must_bind(m->rig);
    has_notice(m, 0, "box_format says xywh, but the dataset says cxcywh for \"boxes\"");
    has_notice(m, 1, "relative says pixels, but the dataset says fractions of the image size");
    has_notice(m, 2, "orientation says stored, but the dataset says upright for \"boxes\"");
    has_notices(m, 3);
    give(m, BOXES, (const float[]){2, 1, 10, 5}, 1, 4, sizeof(float));
    must_make(m->rig, 0);
    assert_memory_equal(array(m->rig, "boxes"), ((const float[]){2, 1, 12, 6}), 16);
}

TEST_WITH(an_argument_that_agrees_is_not_told, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    m->fields[BOXES].meaning = (sl_meaning){.box_format = SLUICE_BOX_XYWH,
                                            .coordinates = SLUICE_COORDINATES_PIXELS,
                                            .orientation = SLUICE_ORIENTATION_BY_SIZE};
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "boxes",
                           .box_format = SLUICE_BOX_XYWH,
                           .relative = SLUICE_COORDINATES_PIXELS,
                           .orientation = SLUICE_ORIENTATION_UPRIGHT});
    must_bind(m->rig);
    has_notices(m, 0);
}

TEST_WITH(boxes_are_no_numbers_of_pixels, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "boxes",
                           .relative = SLUICE_COORDINATES_INDICES});
    refuses(m->rig, "not in pixel indices");
}

TEST_WITH(boxes_of_an_unknown_format_are_not_guessed, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    m->fields[BOXES].meaning = (sl_meaning){.role = SLUICE_ROLE_BOXES};
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, boxes_alone);
    refuses(m->rig, "does not say in which format: write box_format xywh");
}

/* ---- fields that follow ---- */

TEST_WITH(what_belongs_to_boxes_follows_them, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    ask_for_image(m, "image", 10, HEIGHT); /* columns 5 to 15 */
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 7});
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .field = "labels"});
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_POINTS, .field = "keypoints"});
    must_bind(m->rig);
    assert_int_equal(m->rig->set.columns[2].owner, 1);
    assert_int_equal(m->rig->set.columns[2].request.length, 7);
    assert_int_equal(m->rig->set.columns[3].owner, 1);
    const float boxes[][4] = {{0, 0, 4, 4}, {6, 2, 9, 8}};
    const int64_t labels[] = {30, 40};
    const float points[][3] = {{1, 1, 2}, {7, 3, 2}};
    give(m, BOXES, boxes, 2, 4, sizeof(float));
    give(m, LABELS, labels, 2, 1, sizeof(int64_t));
    give(m, KEYPOINTS, points, 2, 3, sizeof(float));
    must_make(m->rig, 0);
    assert_int_equal(*(int64_t *)array(m->rig, "labels"), 40);
    assert_int_equal(((int64_t *)array(m->rig, "labels.offsets"))[1], 1);
    assert_memory_equal(array(m->rig, "keypoints"), ((const float[]){2, 3, 2}), 12);
}

TEST_WITH(without_boxes_nothing_follows_them, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .field = "labels", .length = 3});
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_POINTS, .field = "keypoints"});
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .field = "segmentation", .length = 3});
    must_bind(m->rig);
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(m->rig->set.columns[i].owner, SL_COLUMN_NONE);
    }
}

TEST_WITH(a_text_of_shapes_is_bytes_and_follows_nothing, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, boxes_alone);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .field = "segmentation", .length = 99});
    ask(m, (sluice_column){
               .kind = SLUICE_COLUMN_INSTANCES, .field = "segmentation", .name = "i", .length = 3});
    must_bind(m->rig);
    assert_int_equal(m->rig->set.columns[2].owner, SL_COLUMN_NONE);
    assert_int_equal(m->rig->set.columns[3].owner, 1);
}

TEST_WITH(which_boxes_is_never_guessed, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    const sluice_column labels = {.kind = SLUICE_COLUMN_RAGGED, .field = "labels", .length = 3};
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, boxes_alone);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "others"});
    ask(m, labels);
    refuses(m->rig, "there are several columns of boxes: choose the one it follows (follows)");
    sl_columns_close(&m->rig->set);
    (void)strcpy(m->fields[LABELS].meaning.of, "others");
    must_bind(m->rig);
    assert_int_equal(m->rig->set.columns[3].owner, 2);
    sl_row_close(&m->rig->set, m->rig->row);
    sl_columns_close(&m->rig->set);
    for (size_t i = 0; i < SL_PARTS_MAX; i++) {
        free(m->rig->parts[i]);
        m->rig->parts[i] = NULL;
    }
    m->rig->asked->count = 0;
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, labels);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "others"});
    refuses(m->rig, "column \"labels\": it has an element for each box: put the column of boxes");
}

/* ---- lengths ---- */

TEST_WITH(lengths_that_nobody_gave, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, boxes_alone);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .field = "labels"});
    must_bind(m->rig);
    assert_int_equal(m->rig->set.columns[1].request.length, 1024);
    assert_int_equal(m->rig->set.columns[2].request.length, 1024);
    sl_row_close(&m->rig->set, m->rig->row);
    sl_columns_close(&m->rig->set);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_PADDED, .field = "labels", .name = "p"});
    refuses(m->rig, "column \"p\": it needs a length");
    sl_columns_close(&m->rig->set);
    m->rig->asked->count = 1;
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .field = "segmentation"});
    refuses(m->rig, "column \"segmentation\": it needs a length");
}

/* ---- notices ---- */

TEST_WITH(a_batch_that_lost_its_boxes, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    uint64_t sizes[SL_RAGGED_MAX];
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, (sluice_column){
               .kind = SLUICE_COLUMN_BOXES, .field = "boxes", .box_format = SLUICE_BOX_CXCYWH});
    must_bind(m->rig);
    const float shares[4] = {0.5F, 0.5F, 0.2F, 0.2F};
    for (uint32_t kept = 1; kept < 2; kept--) { /* a batch in which one row keeps its box */
        give(m, BOXES, (const float[]){5, 5, 4, 4}, kept, 4, sizeof(float));
        must_make(m->rig, 0);
        give(m, BOXES, shares, 1, 4, sizeof(float));
        must_make(m->rig, 1);
        blank(m->rig, 2);
        sl_columns_finish(&m->rig->set, 3, 0, m->rig->parts, sizes);
        has_notices(m, 1 - kept);
    }
    has_notice(m, 0,
               "dropped all 1 boxes of a batch; they were read as cxcywh in pixels: write "
               "relative 1 if they are stored in fractions");
    give(m, BOXES, shares, 0, 4, sizeof(float)); /* nothing could be lost; and only once */
    must_make(m->rig, 0);
    sl_columns_finish(&m->rig->set, 1, 0, m->rig->parts, sizes);
    has_notices(m, 1);
}

TEST_WITH(boxes_that_are_mostly_none, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    enum { EACH = 100 };
    float boxes[EACH][4];
    sluice_error error;
    for (uint32_t i = 0; i < EACH; i++) { /* 60 of 100 have x2 < x1 in xyxy */
        const float stored[4] = {i < 60 ? 15 : 1, 1, 4, 5};
        memcpy(boxes[i], stored, sizeof(stored));
    }
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, boxes_alone);
    must_bind(m->rig);
    for (uint32_t i = 0; i < 10; i++) {
        has_notices(m, 0);
        give(m, BOXES, boxes, EACH, 4, sizeof(float));
        assert_int_equal(make(m->rig, 0, &error), SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, "write box_format xywh"));
    }
    has_notice(m, 0,
               "600 of the first 1000 boxes of \"boxes\" are invalid in the format xyxy; "
               "they are likely stored as xywh (box_format)");
    assert_int_equal(make(m->rig, 0, &error), SLUICE_CORRUPT);
    has_notices(m, 1);
}

/* Compares rows of a field that may belong to boxes, `lengths` long, with as many boxes. */
static void compare(meaning_rig *m, const uint32_t (*lengths)[2], uint32_t rows, uint32_t notices)
{
    static const float boxes[8][4] = {{1, 1, 5, 5}, {1, 1, 5, 5}, {1, 1, 5, 5}, {1, 1, 5, 5},
                                      {1, 1, 5, 5}, {1, 1, 5, 5}, {1, 1, 5, 5}, {1, 1, 5, 5}};
    static const int64_t labels[8];
    m->fields[LABELS].meaning.per_box = false;
    ask_for_image(m, "image", WIDTH, HEIGHT);
    ask(m, boxes_alone);
    ask(m, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .field = "labels", .length = 9});
    must_bind(m->rig);
    for (uint32_t i = 0; i < rows; i++) {
        give(m, BOXES, boxes, lengths[i][0], 4, sizeof(float));
        give(m, LABELS, labels, lengths[i][1], 1, sizeof(int64_t));
        must_make(m->rig, i);
    }
    has_notices(m, notices);
}

TEST_WITH(labels_that_should_follow, meaning_setup, meaning_teardown)
{
    compare(*state, (const uint32_t[][2]){{1, 1}, {3, 3}, {3, 3}, {0, 0}, {2, 2}}, 5, 1);
    has_notice(*state, 0, "column \"labels\" has as many elements as the sample has boxes");
    has_notice(*state, 0, "write follows \"boxes\"");
}

TEST_WITH(labels_of_something_else, meaning_setup, meaning_teardown)
{
    compare(*state, (const uint32_t[][2]){{1, 1}, {3, 3}, {0, 1}, {4, 4}, {2, 2}, {5, 5}, {6, 6}},
            7, 0);
}

TEST_WITH(labels_of_one_length, meaning_setup, meaning_teardown)
{
    compare(*state,
            (const uint32_t[][2]){
                {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}},
            10, 0);
}

TEST_WITH(a_mean_of_eight_bits, meaning_setup, meaning_teardown)
{
    meaning_rig *m = *state;
    static const float means[][3] = {{0.485F, 0.456F, 1}, {123.675F, 116.28F, 103.53F}};
    static const float deviation[] = {1, 1, 1};
    for (uint32_t i = 0; i < 2; i++) {
        sluice_augment *recipe;
        assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
        assert_int_equal(sluice_augment_add(recipe, "resize", (const double[]){8, 8}, 2),
                         SLUICE_OK);
        assert_int_equal(sluice_augment_normalize(recipe, means[i], deviation, 3), SLUICE_OK);
        m->rig->asked->count = 0;
        ask(m, (sluice_column){.kind = SLUICE_COLUMN_IMAGE,
                               .field = "image",
                               .recipe = recipe,
                               .dtype = SLUICE_F32});
        must_bind(m->rig);
        sl_row_close(&m->rig->set, m->rig->row);
        sl_columns_close(&m->rig->set);
        for (size_t k = 0; k < SL_PARTS_MAX; k++) {
            free(m->rig->parts[k]);
            m->rig->parts[k] = NULL;
        }
        sluice_augment_destroy(recipe);
        has_notices(m, i);
    }
    has_notice(m, 0, "has the mean 123.675, 116.28, 103.53");
    has_notice(m, 0, "divide mean and deviation by 255");
}

TEST_WITH(sides_of_images_are_no_natural_columns, meaning_setup, meaning_teardown)
{
    const meaning_rig *m = *state;
    sl_column_set set;
    sluice_error error;
    const sl_columns_config config = {.fields = &m->fields[SIDE], .field_count = 1};
    assert_int_equal(sl_columns_bind(&set, &config, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "no field of the dataset has a default column"));
    sl_columns_close(&set);
}
