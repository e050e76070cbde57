/* SPDX-License-Identifier: Apache-2.0 */
/* PNGs as tensors: label masks and depth, whole and in parts, and invalid images. */
#include "columns_rig.h"
#include "error.h"
#include "jpeg_make.h"
#include "png_make.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3 };

static const sl_field field = {.name = "picture", .type = SLUICE_FIELD_IMAGE};

typedef columns_rig rig;

static int setup(void **state)
{
    *state = columns_rig_open(&field, 1, ROWS);
    return 0;
}

static void set_picture(rig *r, const void *bytes, size_t size)
{
    set_bytes(r, 0, bytes, size);
}

static void add_samples(rig *r, const char *name, sluice_dtype dtype, sluice_column_part part,
                        const int64_t shape[3])
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_TENSOR;
    column.field = "picture";
    column.name = name;
    column.dtype = dtype;
    column.part = part;
    for (column.dims = 0; column.dims < 3 && shape[column.dims] != 0; column.dims++) {
        column.shape[column.dims] = shape[column.dims];
    }
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
}

/* Makes a 16-bit grey PNG: pixel (y, x) is 1000 * y + x. */
static png_file depth_png(uint32_t width, uint32_t height)
{
    enum { SIDE_MAX = 60 };
    uint8_t rows[SIDE_MAX * (2 * SIDE_MAX + 1)];
    size_t at = 0;
    assert_true(width <= SIDE_MAX && height <= SIDE_MAX);
    for (uint32_t y = 0; y < height; y++) {
        rows[at++] = 0;
        for (uint32_t x = 0; x < width; x++) {
            rows[at++] = (uint8_t)((1000 * y + x) >> 8);
            rows[at++] = (uint8_t)(1000 * y + x);
        }
    }
    png_file file = png_make_begin(width, height, 16, 0, false);
    png_make_data(&file, rows, at);
    png_make_chunk(&file, "IEND", NULL, 0);
    return file;
}

TEST_WITH(depth_of_every_dtype, setup, columns_rig_close)
{
    rig *r = *state;
    const int64_t whole[3] = {40, 50};
    add_samples(r, "u", SLUICE_U16, SLUICE_PART_WHOLE, whole);
    add_samples(r, "i", SLUICE_I32, SLUICE_PART_WHOLE, whole);
    add_samples(r, "l", SLUICE_I64, SLUICE_PART_WHOLE, (int64_t[3]){40, 50, 1});
    add_samples(r, "f", SLUICE_F32, SLUICE_PART_WHOLE, whole);
    must_bind(r);
    png_file file = depth_png(50, 40);
    set_picture(r, file.data, file.size);
    must_make(r, 1);
    blank(r, 2);
    for (uint32_t i = 0; i < 2000; i++) {
        const uint32_t expected = 1000 * (i / 50) + i % 50;
        assert_int_equal(((uint16_t *)array(r, "u"))[2000 + i], expected);
        assert_int_equal(((int32_t *)array(r, "i"))[2000 + i], expected);
        assert_int_equal(((int64_t *)array(r, "l"))[2000 + i], expected);
        assert_true(((float *)array(r, "f"))[2000 + i] == (float)expected);
        assert_int_equal(((uint16_t *)array(r, "u"))[4000 + i], 0);
    }
    const sl_part *part = &r->set.parts[part_named(r, "l")];
    assert_int_equal(part->dims, 3);
    assert_int_equal(part->row_bytes, 16000);
    png_make_free(&file);
}

/* Columns with the same part shape share the part, with or without channels, and for tensors
 * too. */
TEST_WITH(parts_of_pictures, setup, columns_rig_close)
{
    rig *r = *state;
    enum { EPOCHS = 300 };
    add_samples(r, "middle", SLUICE_U16, SLUICE_PART_CENTER, (int64_t[3]){4, 5});
    add_samples(r, "any", SLUICE_I32, SLUICE_PART_RANDOM, (int64_t[3]){4, 5});
    add_samples(r, "same", SLUICE_F32, SLUICE_PART_RANDOM, (int64_t[3]){4, 5, 1});
    must_bind(r);
    png_file file = depth_png(9, 7);
    set_picture(r, file.data, file.size);
    int seen[4][5] = {{0}};
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        r->row->epoch = epoch;
        must_make(r, 0);
        const int32_t *any = array(r, "any");
        const int32_t y = any[0] / 1000;
        const int32_t x = any[0] % 1000;
        assert_true(y < 4 && x < 5);
        seen[y][x]++;
        for (int32_t i = 0; i < 20; i++) {
            assert_int_equal(any[i], 1000 * (y + i / 5) + x + i % 5);
            assert_true(((float *)array(r, "same"))[i] == (float)any[i]);
            assert_int_equal(((uint16_t *)array(r, "middle"))[i], 1000 * (1 + i / 5) + 2 + i % 5);
        }
    }
    for (int i = 0; i < 20; i++) { /* 15 each on average */
        assert_in_range(seen[i / 5][i % 5], 2, 40);
    }
    png_make_free(&file);
}

static void expect_bad(rig *r, const png_file *file, sluice_status expected, const char *text)
{
    sluice_error error;
    set_picture(r, file->data, file->size);
    assert_int_equal(make(r, 0, &error), expected);
    if (strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, error.text);
    }
    assert_ptr_equal(r->row->blame, &r->row->values.of[0]);
}

TEST_WITH(pictures_that_do_not_fit, setup, columns_rig_close)
{
    rig *r = *state;
    add_samples(r, "ids", SLUICE_U8, SLUICE_PART_WHOLE, (int64_t[3]){8, 6});
    must_bind(r);
    png_options options = {.colour = 3, .depth = 4};
    png_file file = png_make(6, 8, 1, &options);
    set_picture(r, file.data, file.size);
    must_make(r, 0);
    const size_t size = file.size;
    file.size = size - 20;
    expect_bad(r, &file, SLUICE_CORRUPT, "ends");
    png_make_free(&file);
    file = png_make(8, 6, 1, &options);
    expect_bad(r, &file, SLUICE_UNSUPPORTED,
               "\"picture\" is 6 x 8 (height x width), the column wants 8 x 6");
    png_make_free(&file);
    options = (png_options){0};
    file = png_make(6, 8, 1, &options);
    expect_bad(r, &file, SLUICE_UNSUPPORTED, "has 3 samples per pixel, the column wants 1");
    png_make_free(&file);
    file = depth_png(6, 8);
    expect_bad(r, &file, SLUICE_UNSUPPORTED, "has samples of 16 bits, but the column is u8");
    png_make_free(&file);
    jpeg_file jpeg = jpeg_make_pattern(6, 8, 1, &(jpeg_options){.colour = JPEG_GREY});
    expect_bad(r, &(png_file){jpeg.data, jpeg.size, 0}, SLUICE_UNSUPPORTED, "stored as JPEG");
    jpeg_free(&jpeg);
}

TEST_WITH(parts_that_pictures_have_not, setup, columns_rig_close)
{
    rig *r = *state;
    add_samples(r, "d", SLUICE_U16, SLUICE_PART_RANDOM, (int64_t[3]){8, 6});
    must_bind(r);
    png_file file = depth_png(5, 50);
    expect_bad(r, &file, SLUICE_UNSUPPORTED, "50 x 5 (height x width), the column wants 8 x 6");
    png_make_free(&file);
    const png_options options = {.is_grey = true};
    file = png_make(6, 8, 1, &options);
    expect_bad(r, &file, SLUICE_UNSUPPORTED, "has samples of 1 to 8 bits, but the column is u16");
    png_make_free(&file);
}

TEST_WITH(pictures_as_what_they_cannot_be, setup, columns_rig_close)
{
    rig *r = *state;
    add_samples(r, "a", SLUICE_I16, SLUICE_PART_WHOLE, (int64_t[3]){8, 6});
    refuses(r, "column \"a\": an image's samples are u8 or u16, which cannot be converted to i16");
    r->asked->count = 0;
    add_samples(r, "a", SLUICE_U8, SLUICE_PART_WHOLE, (int64_t[3]){0});
    refuses(r, "column \"a\": an image as a tensor needs a shape: height x width");
    r->asked->count = 0;
    add_samples(r, "a", SLUICE_U8, SLUICE_PART_WHOLE, (int64_t[3]){8});
    refuses(r, "needs a shape");
    r->asked->count = 0;
    add_samples(r, "a", SLUICE_U8, SLUICE_PART_WHOLE, (int64_t[3]){8, 6, 5});
    refuses(r, "column \"a\": an image has 1 to 4 channels");
    r->asked->count = 0;
    add_samples(r, "a", SLUICE_U8, SLUICE_PART_WHOLE, (int64_t[3]){1 << 30, 1 << 30});
    refuses(r, "2^40");
}
