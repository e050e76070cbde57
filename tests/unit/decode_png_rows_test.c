/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of PNGs, compared with libpng's: each filter, kind of colour, depth and size of chunks. */
#include "philox.h"
#include "png_make.h"
#include "png_rows.h"
#include "test.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 8 << 20 };

static sl_scratch scratch;

static int open_scratch(void **state)
{
    (void)state;
    return sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL);
}

static int close_scratch(void **state)
{
    (void)state;
    sl_scratch_close(&scratch);
    return 0;
}

typedef struct reading {
    const png_file *file;
    size_t at;
} reading;

static void on_bytes(png_structp png, png_bytep to, size_t bytes)
{
    reading *r = png_get_io_ptr(png);
    assert_true(bytes <= r->file->size - r->at);
    memcpy(to, r->file->data + r->at, bytes);
    r->at += bytes;
}

/* Returns all rows, one after the other. */
static uint8_t *rows_of_libpng(const png_file *file, uint32_t height, size_t row_bytes)
{
    reading r = {file, 0};
    uint8_t *rows = malloc(height * row_bytes);
    assert_non_null(rows);
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &r, on_bytes);
    png_read_info(png, info);
    assert_int_equal(png_get_rowbytes(png, info), row_bytes);
    for (uint32_t y = 0; y < height; y++) {
        png_read_row(png, rows + y * row_bytes, NULL);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return rows;
}

static sl_codec_source source_of(const png_file *file)
{
    return (sl_codec_source){
        .bytes = {file->data, file->size}, .scratch = &scratch, .max_pixels = 1 << 24};
}

/* Compares the first `count` rows. */
static void compare(const png_file *file, uint32_t height, uint32_t count)
{
    sl_codec_source source = source_of(file);
    sl_png png;
    sl_png_rows rows;
    sl_scratch_reset(&scratch);
    assert_int_equal(sl_png_read(&png, &source, NULL), SLUICE_OK);
    assert_true(sl_png_rows_takes(&png));
    const size_t bytes = sl_png_row_bytes(&png);
    uint8_t *wanted = rows_of_libpng(file, height, bytes);
    assert_int_equal(sl_png_rows_open(&rows, &png, &source, count, NULL), SLUICE_OK);
    for (uint32_t y = 0; y < count; y++) {
        const uint8_t *row = NULL;
        assert_int_equal(sl_png_rows_next(&rows, &row, NULL), SLUICE_OK);
        assert_memory_equal(row, wanted + y * bytes, bytes);
    }
    if (count == height) {
        assert_int_equal(sl_png_rows_end(&rows, NULL), SLUICE_OK);
    }
    free(wanted);
}

static const png_options kinds[] = {
    {.is_grey = true, .depth = 8},
    {.is_grey = true, .depth = 16},
    {.colour = 3, .depth = 8},
    {.colour = 4, .depth = 8},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), FILTERS = 6 };

TEST_WITH(rows_are_those_of_libpng, open_scratch, close_scratch)
{
    static const uint32_t sizes[][2] = {{1, 1}, {1, 9}, {2, 5}, {33, 17}, {257, 300}, {9000, 8}};
    static const uint32_t chunks[] = {0, 1, 7, 1000};
    uint32_t seed = 0;
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        for (int filter = 0; filter < FILTERS; filter++) {
            for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                png_options options = kinds[kind];
                options.filter = filter;
                options.data_bytes = i < 4 ? chunks[seed % 4] : chunks[seed % 2 != 0 ? 3 : 0];
                const uint32_t height = sizes[i][1];
                png_file file = png_make(sizes[i][0], height, seed, &options);
                compare(&file, height, seed % 3 == 0 ? height : 1 + seed * 7 % height);
                png_make_free(&file);
                seed++;
            }
        }
    }
}

/* Makes rows with filter `filter`, where one in `rarity` bytes adds something, like flat areas of
 * label maps. */
static png_file flat_file(const png_options *kind, uint32_t width, uint32_t height, uint8_t filter,
                          uint32_t rarity, sl_random *random)
{
    const uint32_t channels = kind->colour == 4 ? 2 : 1;
    const size_t row = 1 + (size_t)width * channels * kind->depth / 8;
    uint8_t *content = calloc(height, row);
    assert_non_null(content);
    for (size_t i = 0; i < height * row; i++) {
        if (sl_random_below(random, rarity) == 0) {
            content[i] = (uint8_t)sl_random_below(random, 256);
        }
        content[i] = i % row == 0 ? filter : content[i];
    }
    png_file file = png_make_begin(width, height, kind->depth, (uint32_t)kind->colour, false);
    if (kind->colour == 3) {
        static const uint8_t palette[768];
        png_make_chunk(&file, "PLTE", palette, sizeof(palette));
    }
    png_make_data(&file, content, height * row);
    png_make_chunk(&file, "IEND", NULL, 0);
    free(content);
    return file;
}

TEST_WITH(flat_rows_are_those_of_libpng, open_scratch, close_scratch)
{
    static const uint32_t rarities[] = {1U << 30, 300, 40, 5, 2};
    sl_random random = sl_random_for(1, 0, 0, 0);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < 5 * (size_t)TEST_AMOUNT(40, 8); i++) {
            const uint32_t width = 1 + sl_random_below(&random, i % 4 == 0 ? 700 : 40);
            const uint32_t height = 2 + sl_random_below(&random, 30);
            const uint8_t filter = i % 3 == 0   ? (uint8_t)sl_random_below(&random, 5)
                                   : i % 2 != 0 ? 4
                                                : 1;
            png_file file =
                flat_file(&kinds[kind], width, height, filter, rarities[i % 5], &random);
            compare(&file, height, height);
            png_make_free(&file);
        }
    }
}

/* The checksum of the whole is checked only if the last row is requested. */
TEST_WITH(the_end_is_looked_at, open_scratch, close_scratch)
{
    png_file file = png_make(20, 10, 3, &kinds[0]);
    const size_t data = png_make_find(file.data, file.size, "IDAT");
    const size_t end = data + 8 + sl_png_load32(file.data + data);
    file.data[end - 1] ^= 1;
    png_make_seal(file.data, file.size);
    sl_codec_source source = source_of(&file);
    for (uint32_t wanted = 9; wanted <= 10; wanted++) {
        sl_png png;
        sl_png_rows rows;
        sluice_error error = SLUICE_ERROR_INIT;
        const uint8_t *row = NULL;
        sluice_status status = SLUICE_OK;
        sl_scratch_reset(&scratch);
        assert_int_equal(sl_png_read(&png, &source, NULL), SLUICE_OK);
        assert_int_equal(sl_png_rows_open(&rows, &png, &source, wanted, NULL), SLUICE_OK);
        for (uint32_t y = 0; y < wanted && status == SLUICE_OK; y++) {
            status = sl_png_rows_next(&rows, &row, &error);
        }
        if (status == SLUICE_OK && wanted == 10) {
            status = sl_png_rows_end(&rows, &error);
        }
        assert_int_equal(status, wanted == 10 ? SLUICE_CORRUPT : SLUICE_OK);
        assert_true(wanted < 10 || strstr(error.text, "incorrect data check") != NULL);
    }
    png_make_free(&file);
}

/* Rows above 256 KiB use our code for all kinds of pixels. */
TEST_WITH(wide_rows_are_those_of_libpng, open_scratch, close_scratch)
{
    static const png_options wide[] = {
        {.colour = 2, .depth = 8},  {.colour = 6, .depth = 8},  {.colour = 2, .depth = 16},
        {.colour = 4, .depth = 16}, {.colour = 6, .depth = 16},
    };
    static const uint32_t pixel_bytes[] = {3, 4, 6, 4, 8};
    for (uint32_t i = 0; i < 5; i++) { /* alternating filters */
        png_file file = png_make((256 << 10) / pixel_bytes[i] + 1, 6, i, &wide[i]);
        compare(&file, 6, i % 2 == 0 ? 6 : 3);
        png_make_free(&file);
    }
}

TEST_WITH(others_are_libpngs, open_scratch, close_scratch)
{
    static const png_options others[] = {
        {.colour = 2, .depth = 8},  {.colour = 6, .depth = 8},
        {.colour = 4, .depth = 16}, {.is_grey = true, .depth = 4},
        {.colour = 3, .depth = 1},  {.is_grey = true, .interlaced = true},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        png_file file = png_make(7, 5, 1, &others[i]);
        const sl_codec_source source = source_of(&file);
        sl_png png;
        assert_int_equal(sl_png_read(&png, &source, NULL), SLUICE_OK);
        assert_false(sl_png_rows_takes(&png));
        png_make_free(&file);
    }
}

TEST_WITH(no_space_is_said, open_scratch, close_scratch)
{
    png_file file = png_make(300, 200, 1, &kinds[1]);
    sl_scratch little;
    sl_png png;
    sl_png_rows rows;
    sl_codec_source source = source_of(&file);
    assert_int_equal(sl_png_read(&png, &source, NULL), SLUICE_OK);
    for (size_t limit = 4096; limit <= (64U << 10); limit *= 4) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sl_scratch_open(&little, limit, 4096, NULL), SLUICE_OK);
        source.scratch = &little;
        const sluice_status status = sl_png_rows_open(&rows, &png, &source, 200, &error);
        assert_int_equal(status, SLUICE_NOMEM);
        assert_true(error.text[0] != '\0');
        sl_scratch_close(&little);
    }
    png_make_free(&file);
}
