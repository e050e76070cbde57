/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that follow an image, from made-up samples: arrays, widths, blank rows, tensors that do
 * not match their shapes, and errors. Boxes have their own test; augment_trail_test.c and
 * python/tests/test_follow_rules.py test the geometry.
 */
#include "columns_follow_rig.h"
#include "error.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

TEST_WITH(arrays_of_each_kind, follow_setup, follow_teardown)
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

static bool is_all(const void *bytes, size_t size, uint8_t byte)
{
    const uint8_t *at = bytes;
    return size == 0 || (at[0] == byte && memcmp(at, at + 1, size - 1) == 0);
}

static bool is_zero(const void *bytes, size_t size)
{
    return is_all(bytes, size, 0);
}

TEST_WITH(rows_without_a_sample_are_blank, follow_setup, follow_teardown)
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
    value(f->rig, IMAGE)->present = false; /* the image may be missing: then nothing follows it */
    must_make(f->rig, 2);
    static const struct {
        const char *name;
        size_t bytes;
    } arrays[] = {{"boxes", (size_t)BOXES_MAX * 16},
                  {"boxes.lengths", 8},
                  {"g", 72},
                  {"g.size", 16},
                  {"g.box", 16},
                  {"g.scale", 8},
                  {"g.flip", 2}};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
        const uint8_t *rows = array(f->rig, arrays[i].name);
        const size_t bytes = arrays[i].bytes;
        assert_false(is_zero(rows, bytes) && i != 6);
        assert_true(is_zero(rows + bytes, 2 * bytes));
    }
    const uint8_t *masks = array(f->rig, "m");
    assert_false(is_all(masks, PIXELS, 200)); /* rows without an image are all outside value */
    assert_true(is_all(masks + PIXELS, 2 * (size_t)PIXELS, 200));
    assert_int_equal(*(int64_t *)array(f->rig, "boxes.lengths"), 1);
    assert_memory_equal(array(f->rig, "boxes"), boxes, sizeof(boxes));
    assert_true(is_zero((uint8_t *)array(f->rig, "boxes") + sizeof(boxes),
                        (size_t)BOXES_MAX * 16 - sizeof(boxes)));
}

/* ---- hostile tensors ---- */

TEST_WITH(shapes_that_lie, follow_setup, follow_teardown)
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
        says(f, SLUICE_CORRUPT, WIDE_MAP, "which does not match its shape");
    }
    value(f->rig, WIDE_MAP)->shape[0] = value(f->rig, WIDE_MAP)->shape[1] = 1;
    says(f, SLUICE_UNSUPPORTED, WIDE_MAP,
         "\"wide\" is 1 x 1 (height x width), but its image \"image\"");
    value(f->rig, WIDE_MAP)->shape[1] = 0;
    value(f->rig, WIDE_MAP)->bytes.size = 0;
    says(f, SLUICE_UNSUPPORTED, WIDE_MAP, "\"wide\" is 1 x 0 (height x width)");
    value(f->rig, WIDE_MAP)->present = false;
    set_rows(f, FLAT, pixels, 2, WIDE, sizeof(float));
    says(f, SLUICE_UNSUPPORTED, FLAT, "\"flat\" is 2 x 64 (height x width)");
}

TEST_WITH(masks_that_are_no_pngs, follow_setup, follow_teardown)
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
    for (size_t size = 0; size < f->mask.size; size++) { /* truncated anywhere */
        uint8_t *bytes = malloc(size + 1);
        assert_non_null(bytes);
        memcpy(bytes, f->mask.data, size);
        set_bytes(f->rig, MASK, bytes, size);
        (void)make(f->rig, 0, &error);
        free(bytes);
    }
    set_bytes(f->rig, MASK, f->picture.data, f->picture.size);
    says(f, SLUICE_UNSUPPORTED, MASK, "\"mask\" has 3 values per pixel, the column wants 1");
    set_bytes(f->rig, MASK, f->mask.data, f->mask.size);
    must_make(f->rig, 0);
}

/* ---- errors ---- */

TEST_WITH(fills_that_are_none, follow_setup, follow_teardown)
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
            .asked = f->rig->asked, .fields = follow_fields, .field_count = FIELDS};
        status = status == SLUICE_OK ? sl_columns_bind(&f->rig->set, &config, &error) : status;
        if ((status == SLUICE_OK) != cases[i].good) {
            fail_msg("fill %g is %s", cases[i].fill, cases[i].good ? "refused" : "taken");
        }
        sl_columns_close(&f->rig->set);
    }
}

/* Each fails when it is added, with a reason; `of` does not matter there. */
TEST_WITH(columns_that_are_refused_at_once, follow_setup, follow_teardown)
{
    const follow_rig *f = *state;
    static const uint32_t twice[] = {0, 0};
    static const uint32_t far[] = {0, 2};
    static const uint32_t swapped[] = {1, 0};
    static const char long_name[] = "a field's name that is longer than 31 bytes";
    const sluice_column bad[] = {
        {.kind = SLUICE_COLUMN_GEOMETRY},
        {.kind = SLUICE_COLUMN_GEOMETRY, .field = "image", .name = "g"},
        {.kind = SLUICE_COLUMN_GEOMETRY + 1, .field = "image"},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .padded = 1},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .relative = 4},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .orientation = 3},
        {.kind = SLUICE_COLUMN_IMAGE, .field = "image", .orientation = 1},
        {.kind = SLUICE_COLUMN_INSTANCES, .field = "text"},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .min_visibility = 1.5},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .min_size = NAN},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .max_aspect = 0.5},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .box_format = 4},
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
        {.kind = SLUICE_COLUMN_POINTS, .field = "points", .length = 1, .shapes = "text"},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .shapes = ""},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .labels = "labels"},
        {.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .length = 1, .partner = 32},
        {.kind = SLUICE_COLUMN_MASK, .field = "text", .labels = long_name},
        {.kind = SLUICE_COLUMN_MASK, .field = "text", .labels = "labels", .crowds = long_name},
        {.kind = SLUICE_COLUMN_MASK, .field = "text", .labels = "labels", .overlap = 2},
        {.kind = SLUICE_COLUMN_MASK, .field = "text", .labels = "labels", .ignore = NAN},
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

/* Sixty-three columns following one image. */
TEST_WITH(many_columns, follow_setup, follow_teardown)
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
