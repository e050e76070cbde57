/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of made-up samples: their results and errors. */
#include "columns_rig.h"
#include "error.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, BYTES_MAX = 1 << 16 };

enum { LABEL, SCORE, CUBE, TOKENS, POINTS, CAPTION, BLOB, PICTURE, FIELDS };

static const sl_field fields[FIELDS] = {
    [LABEL] = {.name = "label", .type = SLUICE_FIELD_INT},
    [SCORE] = {.name = "score", .type = SLUICE_FIELD_FLOAT},
    [CUBE] = {.name = "cube",
              .type = SLUICE_FIELD_TENSOR,
              .dtype = SLUICE_U16,
              .dims = 3,
              .shape = {0, 0, 3}},
    [TOKENS] = {.name = "tokens", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U16, .dims = 1},
    [POINTS] = {.name = "points",
                .type = SLUICE_FIELD_TENSOR,
                .dtype = SLUICE_F32,
                .dims = 2,
                .shape = {0, 2}},
    [CAPTION] = {.name = "caption", .type = SLUICE_FIELD_TEXT},
    [BLOB] = {.name = "blob", .type = SLUICE_FIELD_BYTES},
    [PICTURE] = {.name = "picture", .type = SLUICE_FIELD_IMAGE},
};

typedef columns_rig rig;

static int setup(void **state)
{
    *state = columns_rig_open(fields, FIELDS, ROWS);
    return 0;
}

/* Adds an image column. */
static void add_image(rig *r, const char *name)
{
    const double size[] = {4, 4};
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "center_crop", size, 2), SLUICE_OK);
    const sluice_column image = {.struct_size = sizeof(image),
                                 .kind = SLUICE_COLUMN_IMAGE,
                                 .field = "picture",
                                 .name = name,
                                 .recipe = recipe,
                                 .dtype = SLUICE_U8};
    assert_int_equal(sluice_columns_add(r->asked, &image), SLUICE_OK);
    sluice_augment_destroy(recipe);
}

/* Image columns are numbered in order, regardless of the columns between them. */
TEST_WITH(images_are_found_by_their_numbers, setup, columns_rig_close)
{
    rig *r = *state;
    static const char *const names[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < 3; i++) {
        add_image(r, names[i]);
        if (i == 0) {
            assert_int_equal(sluice_columns_one_hot(r->asked, "label", 3, SLUICE_F32), SLUICE_OK);
        }
    }
    must_bind(r);
    for (uint32_t i = 0; i < 3; i++) {
        const sl_column *column = sl_columns_picture(&r->set, i);
        assert_ptr_equal(column, &r->set.columns[i == 0 ? 0 : i + 1]);
        assert_int_equal(column->picture, i);
    }
}

/* ---- numbers ---- */

TEST_WITH(numbers_of_every_dtype, setup, columns_rig_close)
{
    rig *r = *state;
    const sluice_dtype dtypes[] = {SLUICE_I64, SLUICE_I32, SLUICE_F32, SLUICE_F64};
    const char *const names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; i++) {
        sluice_column column = SLUICE_COLUMN_INIT;
        column.kind = SLUICE_COLUMN_NUMBER;
        column.field = "label";
        column.name = names[i];
        column.dtype = dtypes[i];
        assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    }
    assert_int_equal(sluice_columns_number(r->asked, "score", SLUICE_F32), SLUICE_OK);
    must_bind(r);
    *value(r, LABEL) = (sl_value){.present = true, .integer = -7};
    *value(r, SCORE) = (sl_value){.present = true, .number = 0.1};
    must_make(r, 2);
    blank(r, 3);
    assert_int_equal(((int64_t *)array(r, "a"))[2], -7);
    assert_int_equal(((int32_t *)array(r, "b"))[2], -7);
    assert_true(((float *)array(r, "c"))[2] == -7);
    assert_true(((double *)array(r, "d"))[2] == -7);
    assert_true(((float *)array(r, "score"))[2] == 0.1F);
    assert_int_equal(((int64_t *)array(r, "index"))[2], 1002);
    assert_int_equal(((uint8_t *)array(r, "mask"))[2], 1);
    assert_int_equal(((int64_t *)array(r, "a"))[3], -1);
    assert_true(((double *)array(r, "d"))[3] == -1);
    assert_true(((float *)array(r, "score"))[3] == 0);
    assert_int_equal(((int64_t *)array(r, "index"))[3], -1);
    assert_int_equal(((uint8_t *)array(r, "mask"))[3], 0);

    sluice_error error;
    value(r, LABEL)->integer = (int64_t)INT32_MAX + 1;
    assert_int_equal(make(r, 0, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "2147483648"));
    assert_ptr_equal(r->row->blame, value(r, LABEL));
}

TEST_WITH(one_hot, setup, columns_rig_close)
{
    rig *r = *state;
    assert_int_equal(sluice_columns_one_hot(r->asked, "label", 3, SLUICE_F32), SLUICE_OK);
    must_bind(r);
    const float *rows = array(r, "label");
    *value(r, LABEL) = (sl_value){.present = true, .integer = 2};
    must_make(r, 0);
    blank(r, 1);
    assert_memory_equal(rows, ((float[]){0, 0, 1, 0, 0, 0}), 6 * sizeof(float));
    const int64_t bad[] = {3, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        sluice_error error;
        value(r, LABEL)->integer = bad[i];
        assert_int_equal(make(r, 2, &error), SLUICE_UNSUPPORTED);
        assert_non_null(strstr(error.text, "out of range: there are 3 classes"));
    }
}

/* ---- tensors ---- */

static void add_cube(rig *r, sluice_column_part part, int64_t a, int64_t b, int64_t c)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_TENSOR;
    column.field = "cube";
    column.dtype = SLUICE_I32;
    column.part = part;
    column.dims = 3;
    column.shape[0] = a;
    column.shape[1] = b;
    column.shape[2] = c;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
}

static void set_cube(rig *r, uint64_t a, uint64_t b, const uint16_t *numbers)
{
    set_bytes(r, CUBE, numbers, a * b * 3 * sizeof(*numbers));
    value(r, CUBE)->shape[0] = a;
    value(r, CUBE)->shape[1] = b;
    value(r, CUBE)->shape[2] = 3;
}

TEST_WITH(a_part_in_the_middle, setup, columns_rig_close)
{
    rig *r = *state;
    uint16_t numbers[(size_t)6 * 7 * 3];
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        numbers[i] = (uint16_t)(i + 65400); /* some above INT16_MAX */
    }
    add_cube(r, SLUICE_PART_CENTER, 3, 4, 2);
    must_bind(r);
    set_cube(r, 6, 7, numbers);
    must_make(r, 1);
    const int32_t *made = (const int32_t *)array(r, "cube") + 24;
    for (size_t a = 0; a < 3; a++) {
        for (size_t b = 0; b < 4; b++) {
            for (size_t c = 0; c < 2; c++) {
                assert_int_equal(made[(a * 4 + b) * 2 + c], numbers[((a + 1) * 7 + b + 1) * 3 + c]);
            }
        }
    }
    sluice_error error;
    set_cube(r, 2, 7, numbers);
    assert_int_equal(make(r, 1, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "dimension 0 of \"cube\" is 2, the column wants 3"));
    set_cube(r, 6, 7, numbers);
    value(r, CUBE)->shape[0] = 5;
    assert_int_equal(make(r, 1, &error), SLUICE_CORRUPT);
    value(r, CUBE)->shape[0] = UINT64_MAX;
    value(r, CUBE)->shape[1] = UINT64_MAX;
    assert_int_equal(make(r, 1, &error), SLUICE_CORRUPT);
}

TEST_WITH(a_part_anywhere, setup, columns_rig_close)
{
    rig *r = *state;
    uint16_t numbers[(size_t)4 * 5 * 3];
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        numbers[i] = (uint16_t)i;
    }
    add_cube(r, SLUICE_PART_RANDOM, 2, 2, 3);
    must_bind(r);
    set_cube(r, 4, 5, numbers);
    int seen[3][4] = {0};
    const int32_t *made = (const int32_t *)array(r, "cube");
    for (uint64_t epoch = 0; epoch < 600; epoch++) {
        r->row->epoch = epoch;
        must_make(r, 0);
        const int32_t a = made[0] / 15;
        const int32_t b = made[0] % 15 / 3;
        assert_true(a < 3 && b < 4 && made[0] % 3 == 0);
        for (int32_t k = 0; k < 12; k++) {
            assert_int_equal(made[k], ((a + k / 6) * 5 + b + k / 3 % 2) * 3 + k % 3);
        }
        seen[a][b]++;
    }
    for (size_t i = 0; i < 12; i++) { /* 50 each on average */
        assert_true(seen[i / 4][i % 4] > 20 && seen[i / 4][i % 4] < 90);
    }
    int32_t first[12];
    memcpy(first, made, sizeof(first));
    must_make(r, 0); /* the same draw */
    assert_memory_equal(first, made, sizeof(first));
}

TEST_WITH(windows, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_WINDOW;
    column.field = "tokens";
    column.length = 4;
    column.dtype = SLUICE_I64;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    column.name = "targets";
    column.offset = 1;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    must_bind(r);
    assert_int_equal(r->set.windows.field, TOKENS);
    assert_int_equal(r->set.windows.span, 5);
    assert_int_equal(r->set.windows.stride, 4);
    assert_int_equal(r->set.windows.element_bytes, 2);
    const uint16_t tokens[] = {10, 65535, 12, 13, 14};
    set_bytes(r, TOKENS, tokens, sizeof(tokens));
    must_make(r, 4);
    assert_memory_equal((int64_t *)array(r, "tokens") + 16, ((int64_t[]){10, 65535, 12, 13}), 32);
    assert_memory_equal((int64_t *)array(r, "targets") + 16, ((int64_t[]){65535, 12, 13, 14}), 32);
    sluice_error error;
    set_bytes(r, TOKENS, tokens, sizeof(tokens) - 1);
    assert_int_equal(make(r, 0, &error), SLUICE_CORRUPT);
}

/* ---- ragged columns ---- */

TEST_WITH(ragged_rows_are_moved_together, setup, columns_rig_close)
{
    rig *r = *state;
    assert_int_equal(sluice_columns_ragged(r->asked, "caption", 8), SLUICE_OK);
    assert_int_equal(sluice_columns_ragged(r->asked, "points", 3), SLUICE_OK);
    must_bind(r);
    const char *const texts[ROWS] = {"four", "", NULL, "eight888", "x"};
    const float points[6] = {1, 2, 3, 4, 5, 6};
    for (uint32_t i = ROWS; i-- > 0;) { /* in any order */
        if (texts[i] == NULL) {
            blank(r, i);
            continue;
        }
        set_bytes(r, CAPTION, texts[i], strlen(texts[i]));
        const uint64_t count = i % 4;
        set_bytes(r, POINTS, points, count * 2 * sizeof(float));
        value(r, POINTS)->shape[0] = count;
        value(r, POINTS)->shape[1] = 2;
        must_make(r, i);
    }
    sl_columns_finish(&r->set, ROWS, 0, r->parts, r->sizes);
    assert_int_equal(r->sizes[0], 13);
    assert_memory_equal(array(r, "caption"), "foureight888x", 13);
    assert_memory_equal(array(r, "caption.offsets"), ((int64_t[]){0, 4, 4, 4, 12, 13}), 48);
    assert_int_equal(r->sizes[1], 4);
    assert_memory_equal(array(r, "points.offsets"), ((int64_t[]){0, 0, 1, 1, 4, 4}), 48);
    assert_memory_equal(array(r, "points"), ((float[]){1, 2, 1, 2, 3, 4, 5, 6}), 32);
    assert_int_equal(r->set.parts[part_named(r, "points")].dims, 1);
    assert_int_equal(r->set.parts[part_named(r, "points")].shape[0], 2);
}

TEST_WITH(padded_rows, setup, columns_rig_close)
{
    rig *r = *state;
    assert_int_equal(sluice_columns_padded(r->asked, "blob", 6), SLUICE_OK);
    must_bind(r);
    set_bytes(r, BLOB, "abc", 3);
    must_make(r, 0);
    set_bytes(r, BLOB, "sixsix", 6);
    must_make(r, 1);
    blank(r, 2);
    assert_memory_equal(array(r, "blob"), "abc\0\0\0sixsix\0\0\0\0\0\0", 18);
    assert_memory_equal(array(r, "blob.lengths"), ((int64_t[]){3, 6, 0}), 24);
}

TEST_WITH(what_is_too_long, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_PADDED;
    column.field = "caption";
    column.length = 4;
    column.too_long = SLUICE_TOO_LONG_TRUNCATE;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    assert_int_equal(sluice_columns_padded(r->asked, "blob", 4), SLUICE_OK);
    must_bind(r);
    set_bytes(r, CAPTION, "fivef", 5);
    set_bytes(r, BLOB, "four", 4);
    must_make(r, 0);
    assert_memory_equal(array(r, "caption"), "five", 4);
    assert_int_equal(((int64_t *)array(r, "caption.lengths"))[0], 4);
    set_bytes(r, BLOB, "fivef", 5);
    sluice_error error;
    assert_int_equal(make(r, 0, &error), SLUICE_UNSUPPORTED);
    assert_non_null(
        strstr(error.text, "\"blob\" is too long: length 5, the column holds at most 4"));
}

TEST_WITH(what_is_missing, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_RAGGED;
    column.field = "caption";
    column.length = 4;
    column.missing = SLUICE_MISSING_BLANK;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    assert_int_equal(sluice_columns_number(r->asked, "label", SLUICE_I64), SLUICE_OK);
    must_bind(r);
    *value(r, LABEL) = (sl_value){.present = true, .integer = 5};
    for (uint32_t i = 0; i < ROWS; i++) {
        must_make(r, i);
    }
    sl_columns_finish(&r->set, ROWS, 0, r->parts, r->sizes);
    assert_int_equal(r->sizes[0], 0);
    assert_int_equal(((uint8_t *)array(r, "mask"))[0], 1); /* the sample itself is good */
    value(r, LABEL)->present = false;
    sluice_error error;
    assert_int_equal(make(r, 0, &error), SLUICE_CORRUPT);
    assert_string_equal(error.text, "the sample has no \"label\"");
}

/* ---- images ---- */

enum { WIDTH = 8, HEIGHT = 6, CROP_WIDTH = 3, CROP_HEIGHT = 2, SAMPLES = 18 };

static uint8_t pixels[HEIGHT * WIDTH * 3];

/* Returns sample `i` of the part that `draw` cut out, without resizing: channels last or first. */
static uint8_t sample_of(const sl_mapping *draw, int32_t i, bool planes)
{
    const int32_t channel = planes ? i / (CROP_HEIGHT * CROP_WIDTH) : i % 3;
    const int32_t place = planes ? i % (CROP_HEIGHT * CROP_WIDTH) : i / 3;
    const int32_t y = place / CROP_WIDTH + (int32_t)draw->source.y + draw->window_y;
    const int32_t x = place % CROP_WIDTH + (int32_t)draw->source.x + draw->window_x;
    return pixels[(y * WIDTH + x) * 3 + channel];
}

static void add_two_crops(rig *r)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(recipe, CROP_WIDTH, CROP_HEIGHT, 0), SLUICE_OK);
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_IMAGE;
    column.field = "picture";
    column.recipe = recipe;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    column.name = "again";
    column.dtype = SLUICE_F32;
    column.layout = SLUICE_NCHW;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    sluice_augment_destroy(recipe);
}

TEST_WITH(several_crops_of_a_picture, setup, columns_rig_close)
{
    rig *r = *state;
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = (uint8_t)(i * 7);
    }
    add_two_crops(r);
    must_bind(r);
    assert_int_equal(r->set.pictures, 2);
    assert_int_equal(r->set.groups, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(r->set.columns[i].leads && r->set.columns[i].group == i);
    }
    set_bytes(r, PICTURE, pixels, sizeof(pixels));
    value(r, PICTURE)->codec = SL_CODEC_RAW;
    value(r, PICTURE)->width = WIDTH;
    value(r, PICTURE)->height = HEIGHT;
    int differ = 0;
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        r->row->epoch = epoch;
        must_make(r, 1);
        const uint8_t *bytes = (const uint8_t *)array(r, "picture") + SAMPLES;
        const float *floats = (const float *)array(r, "again") + SAMPLES;
        const sl_group_draw *draws = r->row->draws;
        for (int32_t i = 0; i < SAMPLES; i++) {
            assert_int_equal(bytes[i], sample_of(&draws[0].params.geometries[0].box, i, false));
            assert_true(floats[i] == (float)sample_of(&draws[1].params.geometries[0].box, i, true) *
                                         (1.0F / 255.0F));
        }
        const sl_rect *parts[2] = {&draws[0].params.geometries[0].box.source,
                                   &draws[1].params.geometries[0].box.source};
        differ += parts[0]->x != parts[1]->x || parts[0]->y != parts[1]->y;
    }
    assert_true(differ > 10); /* each row draws for itself */
}

/* ---- refusals ---- */

TEST_WITH(what_binding_refuses, setup, columns_rig_close)
{
    rig *r = *state;
    static const struct {
        sluice_column column;
        const char *text;
    } bad[] = {
        {{.kind = SLUICE_COLUMN_NUMBER, .field = "nothing"},
         "the dataset has no field \"nothing\": its fields are label, score, cube"},
        {{.kind = SLUICE_COLUMN_NUMBER, .field = "caption"},
         "cannot be used by a column of kind number"},
        {{.kind = SLUICE_COLUMN_NUMBER, .field = "label", .dtype = SLUICE_F16},
         "f16 is not a dtype for a column of kind number"},
        {{.kind = SLUICE_COLUMN_NUMBER, .field = "score", .dtype = SLUICE_I64},
         "i64 is not a dtype"},
        {{.kind = SLUICE_COLUMN_NUMBER, .field = "label", .name = "index"},
         "two columns are named \"index\""},
        {{.kind = SLUICE_COLUMN_ONE_HOT, .field = "label", .length = 1ULL << 32},
         "the number of classes"},
        {{.kind = SLUICE_COLUMN_ONE_HOT, .field = "score", .length = 3}, "cannot be used by a"},
        {{.kind = SLUICE_COLUMN_TENSOR, .field = "cube"}, "choose the wanted shape"},
        {{.kind = SLUICE_COLUMN_TENSOR, .field = "cube", .dims = 2, .shape = {1, 1}},
         "different numbers of dimensions"},
        {{.kind = SLUICE_COLUMN_TENSOR, .field = "cube", .dims = 3, .shape = {1, 1, 4}},
         "larger than the tensor"},
        {{.kind = SLUICE_COLUMN_TENSOR, .field = "cube", .dims = 3, .shape = {1, 1, 2}},
         "must be the tensor's"},
        {{.kind = SLUICE_COLUMN_TENSOR,
          .field = "cube",
          .dims = 3,
          .shape = {INT64_MAX, INT64_MAX, 3}},
         "2^40"},
        {{.kind = SLUICE_COLUMN_TENSOR,
          .field = "points",
          .dtype = SLUICE_I32,
          .dims = 2,
          .shape = {2, 2}},
         "cannot convert to i32 from the stored f32"},
        {{.kind = SLUICE_COLUMN_WINDOW, .field = "cube", .length = 3}, "one-dimensional tensor"},
        {{.kind = SLUICE_COLUMN_WINDOW, .field = "tokens", .length = 3, .offset = UINT64_MAX},
         "2^40"},
        {{.kind = SLUICE_COLUMN_RAGGED, .field = "cube", .length = 3}, "only the first dimension"},
        {{.kind = SLUICE_COLUMN_PADDED, .field = "points", .length = UINT64_MAX}, "2^40"},
        {{.kind = SLUICE_COLUMN_RAGGED, .field = "label", .length = 3}, "cannot be used by a"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        sluice_columns_destroy(r->asked);
        assert_int_equal(sluice_columns_create(&r->asked), SLUICE_OK);
        sluice_column column = bad[i].column;
        column.struct_size = sizeof(column);
        assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
        refuses(r, bad[i].text);
    }
}

TEST_WITH(what_binding_refuses_of_several, setup, columns_rig_close)
{
    rig *r = *state;
    refuses(r, "the list of columns is empty");
    assert_int_equal(sluice_columns_number(r->asked, "label", SLUICE_I64), SLUICE_OK);
    assert_int_equal(sluice_columns_one_hot(r->asked, "label", 5, SLUICE_F32), SLUICE_OK);
    refuses(r, "two columns are named \"label\"");

    sluice_columns_destroy(r->asked);
    assert_int_equal(sluice_columns_create(&r->asked), SLUICE_OK);
    assert_int_equal(sluice_columns_window(r->asked, "tokens", 8, 0, SLUICE_I32), SLUICE_OK);
    assert_int_equal(sluice_columns_number(r->asked, "label", SLUICE_I64), SLUICE_OK);
    refuses(r, "cannot be used with windows");
}

TEST_WITH(two_strides_of_windows, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_WINDOW;
    column.field = "tokens";
    column.length = 8;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    column.name = "other";
    column.stride = 4;
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    refuses(r, "same field and stride");
}

/* ---- without a list ---- */

TEST_WITH(natural_columns, setup, columns_rig_close)
{
    rig *r = *state;
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(recipe, 3, 2, 0), SLUICE_OK);
    const sl_columns_config config = {.recipe = recipe,
                                      .dtype = SLUICE_F16,
                                      .layout = SLUICE_NCHW,
                                      .fields = fields,
                                      .field_count = FIELDS};
    assert_int_equal(sl_columns_bind(&r->set, &config, NULL), SLUICE_OK);
    sluice_augment_destroy(recipe);
    const char *const names[] = {"label", "score", "picture", "picture.flags",
                                 "index", "mask",  "status"};
    assert_int_equal(r->set.part_count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_string_equal(r->set.parts[i].name, names[i]);
    }
    const sl_part *picture = &r->set.parts[2];
    assert_int_equal(picture->dtype, SLUICE_F16);
    assert_int_equal(picture->dims, 3);
    assert_memory_equal(picture->shape, ((int64_t[]){3, 2, 3}), 24);
    assert_int_equal(picture->row_bytes, 36);
    assert_int_equal(r->set.parts[3].role, SL_PART_HIDDEN);
}

static void expect_names(rig *r, const sl_field *of, uint32_t count, const char *const *names,
                         uint32_t wanted)
{
    const sl_columns_config config = {.fields = of, .field_count = count};
    sluice_error error;
    sl_error_clear(&error);
    if (sl_columns_bind(&r->set, &config, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(r->set.part_count, wanted);
    for (uint32_t i = 0; i < wanted; i++) {
        assert_string_equal(r->set.parts[i].name, names[i]);
    }
    sl_columns_close(&r->set);
}

/* Fields with the names of columns that every batch has. */
TEST_WITH(natural_columns_of_any_name, setup, columns_rig_close)
{
    rig *r = *state;
    const sl_field of[] = {
        {.name = "mask",
         .type = SLUICE_FIELD_TENSOR,
         .dtype = SLUICE_BOOL,
         .dims = 1,
         .shape = {4}},
        {.name = "index", .type = SLUICE_FIELD_INT},
        {.name = "status", .type = SLUICE_FIELD_FLOAT},
        {.name = "field.index", .type = SLUICE_FIELD_INT},
        {.name = "field.status", .type = SLUICE_FIELD_TEXT}, /* not a default column */
    };
    const char *const names[] = {"field.mask", "field.status", "field.index",
                                 "index",      "mask",         "status"};
    expect_names(r, of, 5, names, 6);
    const char *const alone[] = {"field.mask", "index", "mask", "status"};
    expect_names(r, of, 1, alone, 4);
}

/* A mask that labels the pixels of an image: its default column would be wrong but look right. */
TEST_WITH(natural_columns_of_masks, setup, columns_rig_close)
{
    static const char *const names[] = {"mask", "instances", "train_ids"};
    rig *r = *state;
    sluice_augment *recipe = NULL;
    sluice_error error;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(recipe, 8, 8, 0), SLUICE_OK);
    for (size_t i = 0; i < 3; i++) {
        sl_field of[] = {{.name = "picture", .type = SLUICE_FIELD_IMAGE},
                         {.type = SLUICE_FIELD_IMAGE}};
        memcpy(of[1].name, names[i], strlen(names[i]) + 1);
        sl_columns_config config = {
            .fields = of, .field_count = 2, .recipe = recipe, .dtype = SLUICE_U8};
        sl_error_clear(&error);
        assert_int_equal(sl_columns_bind(&r->set, &config, &error), SLUICE_INVALID);
        assert_non_null(
            strstr(error.text, "would be cropped independently of \"picture\": request columns"));
        assert_non_null(strstr(error.text, names[i]));
        config.fields = &of[1]; /* the only image has one */
        config.field_count = 1;
        assert_int_equal(sl_columns_bind(&r->set, &config, &error), SLUICE_OK);
        sl_columns_close(&r->set);
        memcpy(of[1].name, "right", sizeof("right")); /* also any other second image */
        config.fields = of;
        config.field_count = 2;
        assert_int_equal(sl_columns_bind(&r->set, &config, &error), SLUICE_OK);
        sl_columns_close(&r->set);
        of[1].meaning.role = SLUICE_ROLE_MASK; /* regardless of its name */
        assert_int_equal(sl_columns_bind(&r->set, &config, &error), SLUICE_INVALID);
        assert_non_null(
            strstr(error.text, "\"right\" would be cropped independently of \"picture\""));
        of[1].meaning.role = SLUICE_ROLE_NONE;
    }
    sluice_augment_destroy(recipe);
}

TEST_WITH(natural_columns_of_nothing, setup, columns_rig_close)
{
    rig *r = *state;
    const sl_columns_config config = {.fields = &fields[CUBE], .field_count = 4};
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_columns_bind(&r->set, &config, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "cube, tokens, points, caption"));
}
