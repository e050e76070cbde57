/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of variable-size images after all are made: compacted, or spread out with zeros, in place;
 * against a model that copies value by value.
 */
#include "dtype.h"
#include "kinds.h"
#include "philox.h"
#include "sizes.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 6, SIDE_MAX = 9, PICTURE_MAX = SIDE_MAX * SIDE_MAX * 3 * 4 };

typedef struct batch {
    sl_column_set set;
    sl_column column;
    sluice_dtype dtype;
    uint8_t *arrays[4];
    uint32_t rows, height, width; /* of the largest image */
    uint8_t made[ROWS_MAX][PICTURE_MAX];
} batch;

static sl_part *part_of(batch *b, uint32_t number)
{
    return &b->set.parts[b->column.first_part + number];
}

static void open_batch(batch *b, sl_random *random, sluice_column_sizes sizes)
{
    static const sluice_dtype dtypes[] = {SLUICE_U8, SLUICE_F16, SLUICE_F32};
    memset(b, 0, sizeof(*b));
    b->column.set = &b->set;
    b->set.columns = &b->column;
    b->column.request.sizes = sizes;
    b->column.request.layout = sl_random_below(random, 2) == 0 ? SLUICE_NHWC : SLUICE_NCHW;
    b->column.request.max_width = 1 + sl_random_below(random, SIDE_MAX);
    b->column.request.max_height = 1 + sl_random_below(random, SIDE_MAX);
    b->dtype = dtypes[sl_random_below(random, 3)];
    (void)strcpy(b->column.request.name, "p");
    sl_part *rows = sl_column_add_part(&b->set, &b->column, "", NULL);
    const size_t element = sl_dtype_bytes(b->dtype);
    rows->dims = 3;
    rows->dtype = b->dtype;
    b->column.kind = &sl_column_image;
    b->column.pixel_bytes = (uint32_t)(3 * element);
    rows->row_bytes =
        (uint64_t)b->column.request.max_width * b->column.request.max_height * 3 * element;
    assert_non_null(sl_column_add_part(&b->set, &b->column, ".flags", NULL));
    assert_int_equal(sl_column_bind_sizes(&b->column, &b->set, rows, NULL), SLUICE_OK);
    b->rows = sl_random_below(random, ROWS_MAX + 1);
    for (uint32_t i = 0; i < b->set.part_count; i++) {
        b->arrays[i] = malloc(b->set.parts[i].row_bytes * (ROWS_MAX + 1) + 1);
        assert_non_null(b->arrays[i]);
        memset(b->arrays[i], 0xA5, b->set.parts[i].row_bytes * (ROWS_MAX + 1));
    }
}

static void close_batch(batch *b)
{
    for (uint32_t i = 0; i < b->set.part_count; i++) {
        free(b->arrays[i]);
    }
}

static uint32_t *drawn_size(batch *b, sl_random *random, uint32_t size[2])
{
    size[0] = 1 + sl_random_below(random, b->column.request.max_width);
    size[1] = 1 + sl_random_below(random, b->column.request.max_height);
    return size;
}

/* Makes the rows, one in five without a sample. */
static void make_rows(batch *b, sl_random *random)
{
    for (uint32_t i = 0; i < b->rows; i++) {
        uint32_t size[2];
        if (sl_random_below(random, 5) == 0) {
            sl_column_blank_size(&b->column, b->arrays, i);
            continue;
        }
        drawn_size(b, random, size);
        const sl_params *params = &(sl_params){.width = size[0], .height = size[1]};
        assert_int_equal(sl_column_note_size(&b->column, b->arrays, i, params, NULL), SLUICE_OK);
        uint8_t *to = sl_column_row(&b->column, b->arrays, SL_IMAGE_ROWS, i);
        const size_t bytes = (size_t)size[0] * size[1] * 3 * sl_dtype_bytes(b->dtype);
        for (size_t k = 0; k < bytes; k++) {
            to[k] = b->made[i][k] = (uint8_t)sl_random_below(random, 256);
        }
        b->width = size[0] > b->width ? size[0] : b->width;
        b->height = size[1] > b->height ? size[1] : b->height;
    }
}

static const int32_t *size_of_row(batch *b, uint32_t row)
{
    return sl_column_row(&b->column, b->arrays, b->column.sizes_part, row);
}

/* Returns the offset of byte `k` of value (y, x, c) in an image of that size. */
static size_t place_of(const batch *b, const uint32_t size[2], const uint32_t at[3], size_t k)
{
    const bool planes = b->column.request.layout == SLUICE_NCHW;
    const size_t value = planes ? ((size_t)at[2] * size[0] + at[0]) * size[1] + at[1]
                                : ((size_t)at[0] * size[1] + at[1]) * 3 + at[2];
    return value * sl_dtype_bytes(b->dtype) + k;
}

static void check_padded(batch *b, const uint64_t *sizes)
{
    const size_t element = sl_dtype_bytes(b->dtype);
    const uint32_t whole[2] = {b->height, b->width};
    const size_t row_bytes = (size_t)b->height * b->width * 3 * element;
    assert_int_equal(sizes[part_of(b, 0)->ragged], sl_sized(b->height, b->width));
    for (uint32_t i = 0; i < b->rows; i++) {
        const uint32_t own[2] = {(uint32_t)size_of_row(b, i)[0], (uint32_t)size_of_row(b, i)[1]};
        for (size_t n = 0; n < row_bytes; n++) {
            const uint32_t value = (uint32_t)(n / element / 3);
            const uint32_t at[3] = {value / b->width, value % b->width,
                                    (uint32_t)(n / element % 3)};
            const bool inside = at[0] < own[0] && at[1] < own[1];
            const uint8_t wanted =
                inside ? b->made[i][place_of(b, own, at, n % element)] : (uint8_t)0;
            assert_int_equal(b->arrays[0][i * row_bytes + place_of(b, whole, at, n % element)],
                             wanted);
        }
    }
}

static void check_ragged(batch *b, const uint64_t *sizes)
{
    const int64_t *offsets = sl_column_row(&b->column, b->arrays, b->column.sizes_part + 1, 0);
    const size_t element = part_of(b, 0)->element_bytes;
    assert_int_equal(offsets[0], 0);
    for (uint32_t i = 0; i < b->rows; i++) {
        const size_t bytes = (size_t)size_of_row(b, i)[0] * (size_t)size_of_row(b, i)[1] * 3 *
                             sl_dtype_bytes(b->dtype);
        assert_int_equal((size_t)(offsets[i + 1] - offsets[i]) * element, bytes);
        assert_memory_equal(b->arrays[0] + (size_t)offsets[i] * element, b->made[i], bytes);
    }
    assert_int_equal(sizes[part_of(b, 0)->ragged], offsets[b->rows]);
}

TEST(rows_come_to_where_they_belong)
{
    for (uint32_t round = 0; round < TEST_AMOUNT(4000, 800); round++) {
        sl_random random = sl_random_for(4, round, 0, 0);
        static batch b;
        uint64_t sizes[SL_RAGGED_MAX] = {0};
        const sluice_column_sizes kind = round % 2 == 0 ? SLUICE_SIZES_PADDED : SLUICE_SIZES_RAGGED;
        open_batch(&b, &random, kind);
        make_rows(&b, &random);
        sl_column_finish_sizes(&b.column, b.rows, b.arrays, sizes);
        if (kind == SLUICE_SIZES_PADDED) {
            check_padded(&b, sizes);
        } else {
            check_ragged(&b, sizes);
        }
        close_batch(&b);
    }
}

/* Limited by each side, or by pixels. */
TEST(what_there_is_space_for)
{
    static const struct {
        uint32_t width, height;
        bool padded, ragged;
    } cases[] = {{20, 10, true, true},  {21, 1, false, true},   {10, 20, false, true},
                 {200, 1, false, true}, {201, 1, false, false}, {20, 11, false, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int ragged = 0; ragged < 2; ragged++) {
            static batch b;
            sl_random random = sl_random_for(5, i, 0, 0);
            sluice_error error = SLUICE_ERROR_INIT;
            open_batch(&b, &random, ragged ? SLUICE_SIZES_RAGGED : SLUICE_SIZES_PADDED);
            b.column.request.max_width = 20;
            b.column.request.max_height = 10;
            const sl_params *params =
                &(sl_params){.width = cases[i].width, .height = cases[i].height};
            const bool fits = ragged ? cases[i].ragged : cases[i].padded;
            assert_int_equal(sl_column_note_size(&b.column, b.arrays, 0, params, &error),
                             fits ? SLUICE_OK : SLUICE_UNSUPPORTED);
            assert_true(fits || strstr(error.text, "has space for 20 x 10") != NULL);
            close_batch(&b);
        }
    }
}
