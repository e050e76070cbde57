/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes and their fields, from made-up samples: differing lengths, dropped boxes, and invalid
 * numbers.
 */
#include "columns_follow_rig.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* Fields of boxes may hold fewer rows than the boxes: the excess is an error, or dropped, and
 * nothing is written past the row. */
static void add_owned(const follow_rig *f, uint64_t length, sluice_column_too_long too_long)
{
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = BOXES_MAX});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_PADDED,
                           .field = "labels",
                           .length = length,
                           .too_long = too_long,
                           .follows = "boxes"});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_POINTS,
                           .field = "points",
                           .length = BOXES_MAX,
                           .padded = 1,
                           .follows = "boxes"});
    must_bind(f->rig);
}

static const float four[4][4] = {{0, 0, 5, 5}, {20, 0, 25, 5}, {1, 1, 4, 4}, {2, 0, 4, 3}};
static const int64_t numbers[6] = {11, 22, 33, 44, 55, 66};
static const float places[6][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 1}};

static void set_owned(const follow_rig *f, uint64_t boxes, uint64_t labels, uint64_t points)
{
    set_boxes(f, four, boxes);
    set_labels(f, numbers, labels);
    set_rows(f, POINTS, places, points, 2, sizeof(float));
}

TEST_WITH(labels_of_more_boxes_than_they_have_room_for, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    add_owned(f, 1, SLUICE_TOO_LONG_BAD);
    set_owned(f, 4, 4, 4);
    const int64_t *labels = array(f->rig, "labels");
    sluice_error error;
    assert_int_equal(make(f->rig, ROWS - 1, &error), SLUICE_UNSUPPORTED);
    assert_non_null(
        strstr(error.text, "\"labels\" is too long: length 3, the column holds at most 1"));
    set_owned(f, 2, 2, 2); /* one of these is kept */
    must_make(f->rig, 0);
    assert_int_equal(labels[0], 11);
}

TEST_WITH(labels_that_are_cut_off, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    add_owned(f, 2, SLUICE_TOO_LONG_TRUNCATE);
    set_owned(f, 4, 4, 4);
    must_make(f->rig, ROWS - 1);
    const int64_t *labels = (const int64_t *)array(f->rig, "labels") + (size_t)2 * (ROWS - 1);
    const float *points =
        (const float *)array(f->rig, "points") + (size_t)2 * BOXES_MAX * (ROWS - 1);
    assert_int_equal(labels[0], 11);
    assert_int_equal(labels[1], 33);
    assert_int_equal(((int64_t *)array(f->rig, "labels.lengths"))[ROWS - 1], 2);
    assert_memory_equal(points, ((float[]){1, 1, 3, 3, 4, 4, 0, 0}), 8 * sizeof(float));
    assert_int_equal(((int64_t *)array(f->rig, "points.lengths"))[ROWS - 1], 3);
}

TEST_WITH(more_or_fewer_labels_than_boxes, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    add_owned(f, BOXES_MAX, SLUICE_TOO_LONG_BAD);
    set_owned(f, 4, 6, 4);
    says(f, SLUICE_CORRUPT, LABELS, "\"labels\" has length 6, but there are 4 boxes");
    set_owned(f, 4, 0, 4);
    says(f, SLUICE_CORRUPT, LABELS, "\"labels\" has length 0, but there are 4 boxes");
    set_owned(f, 4, 4, 5);
    says(f, SLUICE_CORRUPT, POINTS, "\"points\" has length 5, but there are 4 boxes");
    set_owned(f, 0, 0, 0);
    must_make(f->rig, 0);
    assert_int_equal(*(int64_t *)array(f->rig, "labels.lengths"), 0);
    set_owned(f, 4, 4, 4); /* valid as before */
    must_make(f->rig, 0);
    assert_int_equal(*(int64_t *)array(f->rig, "labels.lengths"), 3);
}

/* Labels are stored for all boxes, though some were dropped. */
TEST_WITH(boxes_that_are_cut_off, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "boxes",
                           .length = 2,
                           .padded = 1,
                           .too_long = SLUICE_TOO_LONG_TRUNCATE});
    add(f, (sluice_column){
               .kind = SLUICE_COLUMN_PADDED, .field = "labels", .length = 2, .follows = "boxes"});
    must_bind(f->rig);
    set_owned(f, 4, 4, 0);
    must_make(f->rig, 0);
    assert_int_equal(*(int64_t *)array(f->rig, "boxes.lengths"), 1);
    assert_int_equal(*(int64_t *)array(f->rig, "labels"), 11);
    set_owned(f, 4, 2, 0);
    says(f, SLUICE_CORRUPT, LABELS, "\"labels\" has length 2, but there are 4 boxes");
}

TEST_WITH(boxes_that_are_none, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    static const struct {
        float box[4];
        const char *words;
    } bad[] = {
        {{0, 0, INFINITY, 1}, "box 1 of \"boxes\" contains a number that is not finite"},
        {{0, NAN, 1, 1}, "contains a number that is not finite"},
        {{-INFINITY, 0, 1, 1}, "contains a number that is not finite"},
        {{5, 0, 4, 1.5F},
         "has its right edge left of the left one, or its lower edge above the upper one: it is 5, "
         "0, 4, 1.5 (xyxy)"},
    };
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = BOXES_MAX});
    must_bind(f->rig);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        float boxes[2][4] = {{1, 1, 2, 2}};
        memcpy(boxes[1], bad[i].box, sizeof(boxes[1]));
        set_boxes(f, (const float(*)[4])boxes, 2);
        says(f, SLUICE_CORRUPT, BOXES, bad[i].words);
    }
}

/* The error shows the numbers as stored, also for a format that is converted. */
TEST_WITH(boxes_of_negative_size, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    const float boxes[][4] = {{1, 1, 2, 2}, {5, 0, -0.5F, 1}};
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "boxes",
                           .length = BOXES_MAX,
                           .box_format = SLUICE_BOX_XYWH});
    must_bind(f->rig);
    set_boxes(f, boxes, 2);
    says(f, SLUICE_CORRUPT, BOXES,
         "box 1 of \"boxes\" has a width or height below 0: it is 5, 0, -0.5, 1 (xywh); correct");
}

/* As binary64 or fractions of an image: too large once converted to binary32 pixels. */
TEST_WITH(boxes_beyond_floats, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    const double precise[][4] = {{0, 0, 1e300, 1}};
    const float shares[][4] = {{0, 0, 1e38F, 1}};
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "precise",
                           .length = BOXES_MAX,
                           .missing = SLUICE_MISSING_BLANK});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "boxes",
                           .length = BOXES_MAX,
                           .relative = 1,
                           .missing = SLUICE_MISSING_BLANK});
    must_bind(f->rig);
    set_rows(f, PRECISE, precise, 1, 4, sizeof(double));
    says(f, SLUICE_CORRUPT, PRECISE, "box 0 of \"precise\" contains a number that is not finite");
    value(f->rig, PRECISE)->present = false;
    set_boxes(f, shares, 1);
    says(f, SLUICE_CORRUPT, BOXES,
         "box 0 of \"boxes\" contains a number that is not finite in pixels");
}

/* A whole box is wholly visible, regardless of how its numbers are rounded. */
TEST_WITH(whole_boxes, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    add_image(f, "resize", 7, 11);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                           .field = "boxes",
                           .length = BOXES_MAX,
                           .padded = 1,
                           .min_visibility = 1});
    must_bind(f->rig);
    for (uint32_t i = 0; i < 1000; i++) {
        const float x = (float)(i % 23) / 7;
        const float y = (float)(i % 17) / 9;
        const float boxes[4][4] = {{x, y, x + 4.1F, y + 3.3F},
                                   {0, 0, WIDTH, HEIGHT},
                                   {x, y, WIDTH, HEIGHT},
                                   {x, y, WIDTH + 0.01F, HEIGHT}};
        set_boxes(f, boxes, 4);
        must_make(f->rig, 0);
        assert_int_equal(*(int64_t *)array(f->rig, "boxes.lengths"), 3);
    }
}
