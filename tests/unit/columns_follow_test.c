/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that follow a picture, of made-up samples: arrays, widths, blank rows, and what is
 * refused; lengths that differ between boxes and what belongs to them. Their geometry has tests of
 * its own (augment_trail_test.c, python/tests/test_follow_rules.py).
 */
#include "columns_rig.h"
#include "error.h"
#include "png_make.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, WIDTH = 9, HEIGHT = 6, PIXELS = WIDTH * HEIGHT, BOXES_MAX = 4, WIDE = 64 };
enum { IMAGE, MASK, WIDE_MAP, FLAT, BOXES, PRECISE, LABELS, POINTS, FIELDS };

static const sl_field fields[FIELDS] = {
    [IMAGE] = {.name = "image", .type = SLUICE_FIELD_IMAGE},
    [MASK] = {.name = "mask", .type = SLUICE_FIELD_IMAGE},
    [WIDE_MAP] = {.name = "wide",
                  .type = SLUICE_FIELD_TENSOR,
                  .dtype = SLUICE_F64,
                  .dims = 3,
                  .shape = {0, 0, WIDE}},
    [FLAT] = {.name = "flat", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 2},
    [BOXES] = {.name = "boxes",
               .type = SLUICE_FIELD_TENSOR,
               .dtype = SLUICE_F32,
               .dims = 2,
               .shape = {0, 4}},
    [PRECISE] = {.name = "precise",
                 .type = SLUICE_FIELD_TENSOR,
                 .dtype = SLUICE_F64,
                 .dims = 2,
                 .shape = {0, 4}},
    [LABELS] = {.name = "labels", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I64, .dims = 1},
    [POINTS] = {.name = "points",
                .type = SLUICE_FIELD_TENSOR,
                .dtype = SLUICE_F32,
                .dims = 2,
                .shape = {0, 2}},
};

typedef struct follow_rig {
    columns_rig *rig;
    png_file picture, mask;
} follow_rig;

static int setup(void **state)
{
    follow_rig *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->rig = columns_rig_open(fields, FIELDS, ROWS);
    f->picture = png_make(WIDTH, HEIGHT, 1, &(png_options){.colour = 2});
    f->mask = png_make(WIDTH, HEIGHT, 2, &(png_options){.is_grey = true});
    set_bytes(f->rig, IMAGE, f->picture.data, f->picture.size);
    set_bytes(f->rig, MASK, f->mask.data, f->mask.size);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    follow_rig *f = *state;
    void *rig = f->rig;
    columns_rig_close(&rig);
    png_make_free(&f->picture);
    png_make_free(&f->mask);
    free(f);
    return 0;
}

static void add(const follow_rig *f, sluice_column column)
{
    sluice_error error = SLUICE_ERROR_INIT;
    column.struct_size = sizeof(column);
    if (sluice_columns_add(f->rig->asked, &column) != SLUICE_OK) {
        sluice_columns_get_error(f->rig->asked, &error);
        fail_msg("%s", error.text);
    }
}

/* Of one step and two numbers. */
static void add_image(const follow_rig *f, const char *step, double first, double second)
{
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, step, (const double[]){first, second}, 2),
                     SLUICE_OK);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_IMAGE,
                           .field = "image",
                           .recipe = recipe,
                           .dtype = SLUICE_U8,
                           .missing = SLUICE_MISSING_BLANK});
    sluice_augment_destroy(recipe);
}

/* As it is stored. */
static void add_whole_image(const follow_rig *f)
{
    add_image(f, "center_crop", WIDTH, HEIGHT);
}

static void set_rows(const follow_rig *f, uint32_t field, const void *numbers, uint64_t count,
                     uint64_t inner, size_t element)
{
    set_bytes(f->rig, field, numbers, count * inner * element);
    value(f->rig, field)->shape[0] = count;
    value(f->rig, field)->shape[1] = inner;
}

static void set_boxes(const follow_rig *f, const float (*boxes)[4], uint64_t count)
{
    set_rows(f, BOXES, boxes, count, 4, sizeof(float));
}

static void set_labels(const follow_rig *f, const int64_t *labels, uint64_t count)
{
    set_rows(f, LABELS, labels, count, 1, sizeof(*labels));
}

static void says(const follow_rig *f, sluice_status status, uint32_t field, const char *words)
{
    sluice_error error;
    assert_int_equal(make(f->rig, 0, &error), status);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, error.text);
    }
    assert_ptr_equal(f->rig->row->blame, value(f->rig, field));
}

/* ---- arrays ---- */

static void is_part(const follow_rig *f, const char *name, sluice_dtype dtype, uint32_t dims,
                    const int64_t *shape, uint64_t row_bytes)
{
    const sl_part *part = &f->rig->set.parts[part_named(f->rig, name)];
    assert_int_equal(part->dtype, dtype);
    assert_int_equal(part->dims, dims);
    for (uint32_t i = 0; i < dims; i++) {
        assert_int_equal(part->shape[i], shape[i]);
    }
    assert_int_equal(part->row_bytes, row_bytes);
}

TEST_WITH(arrays_of_each_kind, setup, teardown)
{
    const follow_rig *f = *state;
    const int64_t picture[] = {20, 30, WIDE};
    const int64_t boxes[] = {BOXES_MAX, 4};
    add_image(f, "resize", 30, 20);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_MASK, .field = "mask", .name = "m"});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_MASK, .field = "flat", .dtype = SLUICE_F64});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_MASK, .field = "wide", .channels = WIDE});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = BOXES_MAX});
    add(f, (sluice_column){
               .kind = SLUICE_COLUMN_BOXES, .field = "precise", .length = BOXES_MAX, .padded = 1});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_POINTS,
                           .field = "points",
                           .length = BOXES_MAX,
                           .follows = "boxes"});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_GEOMETRY, .name = "g"});
    must_bind(f->rig);
    is_part(f, "m", SLUICE_U8, 2, picture, (uint64_t)20 * 30);
    is_part(f, "flat", SLUICE_F64, 2, picture, (uint64_t)20 * 30 * 8);
    is_part(f, "wide", SLUICE_F64, 3, picture, (uint64_t)20 * 30 * WIDE * 8);
    is_part(f, "boxes", SLUICE_F32, 1, boxes + 1, (uint64_t)BOXES_MAX * 16);
    is_part(f, "boxes.offsets", SLUICE_I64, 0, NULL, 8);
    is_part(f, "precise", SLUICE_F32, 2, boxes, (uint64_t)BOXES_MAX * 16);
    is_part(f, "precise.lengths", SLUICE_I64, 0, NULL, 8);
    is_part(f, "points", SLUICE_F32, 1, (const int64_t[]){2}, (uint64_t)BOXES_MAX * 8);
    is_part(f, "g", SLUICE_F64, 2, (const int64_t[]){3, 3}, 72);
    is_part(f, "g.size", SLUICE_I64, 1, (const int64_t[]){2}, 16);
    is_part(f, "g.box", SLUICE_F32, 1, boxes + 1, 16);
    is_part(f, "g.scale", SLUICE_F32, 1, (const int64_t[]){2}, 8);
    is_part(f, "g.flip", SLUICE_U8, 1, (const int64_t[]){2}, 2);
}

/* ---- rows ---- */

static bool is_zero(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    return size == 0 || (at[0] == 0 && memcmp(at, at + 1, size - 1) == 0);
}

TEST_WITH(rows_without_a_sample_are_blank, setup, teardown)
{
    const follow_rig *f = *state;
    const float boxes[][4] = {{1, 1, 5, 5}};
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_MASK, .field = "mask", .name = "m", .fill = 200});
    add(f, (sluice_column){
               .kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = BOXES_MAX, .padded = 1});
    add(f, (sluice_column){.kind = SLUICE_COLUMN_GEOMETRY, .name = "g"});
    must_bind(f->rig);
    set_boxes(f, boxes, 1);
    must_make(f->rig, 0);
    blank(f->rig, 1);
    set_bytes(f->rig, IMAGE, NULL, 0);
    value(f->rig, IMAGE)->present = false; /* which it may miss: then nothing follows it */
    must_make(f->rig, 2);
    static const struct {
        const char *name;
        size_t bytes;
    } arrays[] = {{"m", PIXELS},        {"boxes", (size_t)BOXES_MAX * 16},
                  {"boxes.lengths", 8}, {"g", 72},
                  {"g.size", 16},       {"g.box", 16},
                  {"g.scale", 8},       {"g.flip", 2}};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
        const uint8_t *rows = array(f->rig, arrays[i].name);
        const size_t bytes = arrays[i].bytes;
        assert_false(is_zero(rows, bytes) && i != 7);
        assert_true(is_zero(rows + bytes, 2 * bytes));
    }
    assert_int_equal(*(int64_t *)array(f->rig, "boxes.lengths"), 1);
    assert_memory_equal(array(f->rig, "boxes"), boxes, sizeof(boxes));
    assert_true(is_zero((uint8_t *)array(f->rig, "boxes") + sizeof(boxes),
                        (size_t)BOXES_MAX * 16 - sizeof(boxes)));
}

/* What belongs to boxes may have less room than they: what does not fit is refused, or left out,
 * and nothing is written behind the row. */
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

TEST_WITH(labels_of_more_boxes_than_they_have_room_for, setup, teardown)
{
    const follow_rig *f = *state;
    add_owned(f, 1, SLUICE_TOO_LONG_BAD);
    set_owned(f, 4, 4, 4);
    const int64_t *labels = array(f->rig, "labels");
    sluice_error error;
    assert_int_equal(make(f->rig, ROWS - 1, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "\"labels\" has a length of 3, the column holds 1"));
    set_owned(f, 2, 2, 2); /* of which one is kept */
    must_make(f->rig, 0);
    assert_int_equal(labels[0], 11);
}

TEST_WITH(labels_that_are_cut_off, setup, teardown)
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

TEST_WITH(more_or_fewer_labels_than_boxes, setup, teardown)
{
    const follow_rig *f = *state;
    add_owned(f, BOXES_MAX, SLUICE_TOO_LONG_BAD);
    set_owned(f, 4, 6, 4);
    says(f, SLUICE_CORRUPT, LABELS, "\"labels\" has a length of 6, and there are 4 boxes");
    set_owned(f, 4, 0, 4);
    says(f, SLUICE_CORRUPT, LABELS, "\"labels\" has a length of 0, and there are 4 boxes");
    set_owned(f, 4, 4, 5);
    says(f, SLUICE_CORRUPT, POINTS, "\"points\" has a length of 5, and there are 4 boxes");
    set_owned(f, 0, 0, 0);
    must_make(f->rig, 0);
    assert_int_equal(*(int64_t *)array(f->rig, "labels.lengths"), 0);
    set_owned(f, 4, 4, 4); /* as good as ever */
    must_make(f->rig, 0);
    assert_int_equal(*(int64_t *)array(f->rig, "labels.lengths"), 3);
}

/* Labels are of all boxes that are stored, though some were cut off. */
TEST_WITH(boxes_that_are_cut_off, setup, teardown)
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
    says(f, SLUICE_CORRUPT, LABELS, "\"labels\" has a length of 2, and there are 4 boxes");
}

TEST_WITH(boxes_that_are_none, setup, teardown)
{
    const follow_rig *f = *state;
    static const struct {
        float box[4];
        const char *words;
    } bad[] = {
        {{0, 0, INFINITY, 1}, "box 1 of \"boxes\" is not of finite numbers"},
        {{0, NAN, 1, 1}, "is not of finite numbers"},
        {{-INFINITY, 0, 1, 1}, "is not of finite numbers"},
        {{5, 0, 4, 1}, "has its right or lower edge before the other"},
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

/* Of binary64, or in shares of a picture: too large once they are of binary32, and in pixels. */
TEST_WITH(boxes_beyond_floats, setup, teardown)
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
    says(f, SLUICE_CORRUPT, PRECISE, "box 0 of \"precise\" is not of finite numbers");
    value(f->rig, PRECISE)->present = false;
    set_boxes(f, shares, 1);
    says(f, SLUICE_CORRUPT, BOXES, "box 0 of \"boxes\" is not of finite numbers, in pixels");
}

/* A whole box is wholly visible, whatever its numbers are rounded to. */
TEST_WITH(whole_boxes, setup, teardown)
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

/* ---- hostile tensors ---- */

TEST_WITH(shapes_that_lie, setup, teardown)
{
    const follow_rig *f = *state;
    const double pixels[WIDE] = {0};
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_MASK,
                           .field = "wide",
                           .channels = WIDE,
                           .missing = SLUICE_MISSING_BLANK});
    add(f, (sluice_column){
               .kind = SLUICE_COLUMN_MASK, .field = "flat", .missing = SLUICE_MISSING_BLANK});
    must_bind(f->rig);
    static const uint64_t shapes[][2] = {{HEIGHT, WIDTH}, {UINT64_MAX, 1}, {1ULL << 63, 2}, {2, 1}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        set_bytes(f->rig, WIDE_MAP, pixels, sizeof(pixels));
        memcpy(value(f->rig, WIDE_MAP)->shape, shapes[i], sizeof(shapes[i]));
        value(f->rig, WIDE_MAP)->shape[2] = WIDE;
        says(f, SLUICE_CORRUPT, WIDE_MAP, "which is not what its shape says");
    }
    value(f->rig, WIDE_MAP)->shape[0] = value(f->rig, WIDE_MAP)->shape[1] = 1;
    says(f, SLUICE_UNSUPPORTED, WIDE_MAP, "\"wide\" is 1 x 1 (height x width), and \"image\"");
    value(f->rig, WIDE_MAP)->shape[1] = 0;
    value(f->rig, WIDE_MAP)->bytes.size = 0;
    says(f, SLUICE_UNSUPPORTED, WIDE_MAP, "\"wide\" is 1 x 0 (height x width)");
    value(f->rig, WIDE_MAP)->present = false;
    set_rows(f, FLAT, pixels, 2, WIDE, sizeof(float));
    says(f, SLUICE_UNSUPPORTED, FLAT, "\"flat\" is 2 x 64 (height x width)");
}

TEST_WITH(masks_that_are_no_pngs, setup, teardown)
{
    const follow_rig *f = *state;
    add_whole_image(f);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_MASK, .field = "mask", .name = "m"});
    must_bind(f->rig);
    must_make(f->rig, 0);
    set_bytes(f->rig, MASK, "no png", 6);
    sluice_error error;
    assert_int_not_equal(make(f->rig, 0, &error), SLUICE_OK);
    assert_ptr_equal(f->rig->row->blame, value(f->rig, MASK));
    for (size_t size = 0; size < f->mask.size; size++) { /* cut off anywhere */
        uint8_t *bytes = malloc(size + 1);
        assert_non_null(bytes);
        memcpy(bytes, f->mask.data, size);
        set_bytes(f->rig, MASK, bytes, size);
        (void)make(f->rig, 0, &error);
        free(bytes);
    }
    set_bytes(f->rig, MASK, f->picture.data, f->picture.size);
    says(f, SLUICE_UNSUPPORTED, MASK, "\"mask\" has 3 values a pixel, the column wants 1");
    set_bytes(f->rig, MASK, f->mask.data, f->mask.size);
    must_make(f->rig, 0);
}

/* ---- what is refused ---- */

TEST_WITH(fills_that_are_none, setup, teardown)
{
    const follow_rig *f = *state;
    static const struct {
        sluice_dtype dtype;
        double fill;
        bool good;
    } cases[] = {
        {SLUICE_F64, 1e300, false},  {SLUICE_F64, 0x1p53, true}, {SLUICE_F64, NAN, false},
        {SLUICE_F64, -1e-320, true}, {SLUICE_F32, 1e15, true},   {SLUICE_F32, INFINITY, false},
        {SLUICE_F16, 65519, true},   {SLUICE_F16, 65520, false}, {SLUICE_F16, -1e6, false},
        {SLUICE_F16, -65504, true},  {SLUICE_BF16, 1e15, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        sluice_error error;
        f->rig->asked->count = 0;
        sl_error_clear(&f->rig->asked->first_error);
        add_whole_image(f);
        const sluice_column column = {.struct_size = sizeof(column),
                                      .kind = SLUICE_COLUMN_MASK,
                                      .field = "flat",
                                      .dtype = (int32_t)cases[i].dtype,
                                      .fill = cases[i].fill};
        sluice_status status = sluice_columns_add(f->rig->asked, &column);
        const sl_columns_config config = {
            .asked = f->rig->asked, .fields = fields, .field_count = FIELDS};
        status = status == SLUICE_OK ? sl_columns_bind(&f->rig->set, &config, &error) : status;
        if ((status == SLUICE_OK) != cases[i].good) {
            fail_msg("fill %g is %s", cases[i].fill, cases[i].good ? "refused" : "taken");
        }
        sl_columns_close(&f->rig->set);
    }
}

/* Each is refused when it is added, with a reason; `of` does not matter there. */
TEST_WITH(columns_that_are_refused_at_once, setup, teardown)
{
    const follow_rig *f = *state;
    static const uint32_t twice[] = {0, 0};
    static const uint32_t far[] = {0, 2};
    static const uint32_t swapped[] = {1, 0};
    const sluice_column bad[] = {
        {.kind = SLUICE_COLUMN_GEOMETRY},
        {.kind = SLUICE_COLUMN_GEOMETRY, .field = "image", .name = "g"},
        {.kind = SLUICE_COLUMN_GEOMETRY + 1, .field = "image"},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes"},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .min_visibility = 1.5},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .min_size = NAN},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .max_aspect = 0.5},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .box_format = 3},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .out_format = -1},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .fill = 1},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .follows = "no name"},
        {.kind = SLUICE_COLUMN_MASK, .field = "mask", .channels = 65},
        {.kind = SLUICE_COLUMN_MASK, .field = "mask", .interpolation = 2},
        {.kind = SLUICE_COLUMN_MASK, .field = "mask", .padded = 1},
        {.kind = SLUICE_COLUMN_MASK, .field = "mask", .length = 1},
        {.kind = SLUICE_COLUMN_POINTS, .field = "points", .length = 1, .point_values = 1},
        {.kind = SLUICE_COLUMN_POINTS, .field = "points", .length = 1, .point_values = 4},
        {.kind = SLUICE_COLUMN_POINTS, .field = "points", .length = 1, .mirror_count = 2},
        {.kind = SLUICE_COLUMN_POINTS, .field = "points", .length = 1, .mirror = swapped},
        {.kind = SLUICE_COLUMN_POINTS,
         .field = "points",
         .length = 1,
         .mirror = twice,
         .mirror_count = 2},
        {.kind = SLUICE_COLUMN_POINTS,
         .field = "points",
         .length = 1,
         .mirror = far,
         .mirror_count = 2},
        {.kind = SLUICE_COLUMN_MASK, .field = "mask", .mirror = swapped, .mirror_count = 2},
        {.kind = SLUICE_COLUMN_NUMBER, .field = "label", .follows = "image"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        sluice_column column = bad[i];
        sluice_error error = SLUICE_ERROR_INIT;
        column.struct_size = sizeof(column);
        if (sluice_columns_add(f->rig->asked, &column) != SLUICE_INVALID) {
            fail_msg("column %zu is accepted", i);
        }
        assert_int_equal(sluice_columns_get_error(f->rig->asked, &error), SLUICE_INVALID);
        assert_true(error.text[0] != '\0');
        sl_error_clear(&f->rig->asked->first_error);
    }
    assert_int_equal(f->rig->asked->count, 0);
}

/* Sixty-three columns of one picture. */
TEST_WITH(many_columns, setup, teardown)
{
    const follow_rig *f = *state;
    char names[SL_COLUMNS_MAX][8];
    add_whole_image(f);
    for (uint32_t i = 1; i < SL_COLUMNS_MAX; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "m%u", i);
        add(f, (sluice_column){.kind = SLUICE_COLUMN_MASK, .field = "mask", .name = names[i]});
    }
    const sluice_column more = {
        .struct_size = sizeof(more), .kind = SLUICE_COLUMN_GEOMETRY, .name = "g"};
    assert_int_equal(sluice_columns_add(f->rig->asked, &more), SLUICE_INVALID);
    sl_error_clear(&f->rig->asked->first_error);
    must_bind(f->rig);
    must_make(f->rig, 1);
    for (uint32_t i = 2; i < SL_COLUMNS_MAX; i++) {
        assert_memory_equal((uint8_t *)array(f->rig, names[i]) + PIXELS,
                            (uint8_t *)array(f->rig, names[1]) + PIXELS, PIXELS);
    }
}
