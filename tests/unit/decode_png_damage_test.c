/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged and hostile PNGs: an error with a reason and an offset, without using much memory or
 * time. */
#include "clock.h"
#include "codecs.h"
#include "decoder_setup.h"
#include "png_make.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int setup(void **state)
{
    *state = decoder_open(sl_codec_png.number, SLUICE_EXIF_APPLY, 0);
    return 0;
}

static int teardown(void **state)
{
    decoder_close(*state);
    return 0;
}

static void expect(const decoder_setup *f, const png_file *file, sluice_status expected,
                   const char *words)
{
    decoder_expect(f, file->data, file->size, expected, words);
}

static const png_options kinds[] = {
    {.colour = 2, .depth = 8, .data_bytes = 60},
    {.colour = 3, .depth = 4, .interlaced = true},
    {.is_grey = true, .depth = 16, .orientation = 3, .orientation_end = true},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Truncated anywhere, for any number of rows requested. */
TEST_WITH(truncated_everywhere, setup, teardown)
{
    for (uint32_t i = 0; i < 2 * KINDS; i++) {
        png_file file = png_make(13, 11, i, &kinds[i / 2]);
        assert_int_equal(decoder_try(*state, file.data, file.size, i % 2, NULL), SLUICE_OK);
        for (size_t size = 1; size < file.size; size++) {
            sluice_error error = SLUICE_ERROR_INIT;
            assert_int_equal(decoder_try(*state, file.data, size, i % 2, &error), SLUICE_CORRUPT);
            assert_in_range(error.offset, 0, size);
        }
        png_make_free(&file);
    }
}

/* Flips each bit of the file without correcting checksums: damage is detected, or was not read. */
TEST_WITH(flipped_everywhere, setup, teardown)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        png_file file = png_make(13, 11, i, &kinds[i]);
        for (size_t bit = 0; bit < 8 * file.size; bit++) {
            sluice_error error = SLUICE_ERROR_INIT;
            file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
            const sluice_status status = decoder_try(*state, file.data, file.size, 0, &error);
            assert_true(status == SLUICE_CORRUPT || (status == SLUICE_UNSUPPORTED && bit / 8 < 33));
            file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        }
        png_make_free(&file);
    }
}

/* Without decoding: flips each bit of the image data and of its checksum. */
TEST(sums_of_data_are_checked_alone)
{
    static const char type[4] = {'I', 'D', 'A', 'T'};
    png_file file = png_make(13, 11, 1, &kinds[0]);
    const sl_bytes whole = {file.data, file.size};
    const uint8_t *data = memmem(file.data, file.size, type, sizeof(type));
    assert_non_null(data);
    const size_t begin = (size_t)(data - file.data) + sizeof(type);
    const size_t bytes = (size_t)(data[-2] << 8 | data[-1]);
    assert_int_equal(sl_codec_png.check_sums(whole, NULL), SLUICE_OK);
    for (size_t bit = 8 * begin; bit < 8 * (begin + bytes + 4); bit++) {
        sluice_error error = SLUICE_ERROR_INIT;
        file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_int_equal(sl_codec_png.check_sums(whole, &error), SLUICE_CORRUPT);
        assert_in_range(error.offset, begin - 8, begin + bytes + 4);
        file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    file.data[0] ^= 1;
    assert_int_equal(sl_codec_png.check_sums(whole, NULL), SLUICE_CORRUPT);
    png_make_free(&file);
}

/* Flips each bit of the file and corrects the checksums: no crash, and no state left for the next
 * image. */
TEST_WITH(flipped_and_sealed, setup, teardown)
{
    uint32_t refused = 0;
    for (uint32_t i = 0; i < KINDS; i++) {
        png_file file = png_make(13, 11, i, &kinds[i]);
        uint8_t *damaged = malloc(file.size);
        assert_non_null(damaged);
        for (size_t bit = 0; bit < 8 * file.size; bit++) {
            memcpy(damaged, file.data, file.size);
            damaged[bit / 8] ^= (uint8_t)(1U << bit % 8);
            png_make_seal(damaged, file.size);
            sluice_error error = SLUICE_ERROR_INIT;
            const sluice_status status = decoder_try(*state, damaged, file.size, 0, &error);
            assert_true(status == SLUICE_OK || status == SLUICE_CORRUPT ||
                        status == SLUICE_UNSUPPORTED);
            refused += status != SLUICE_OK;
        }
        free(damaged);
        assert_int_equal(decoder_try(*state, file.data, file.size, 0, NULL), SLUICE_OK);
        png_make_free(&file);
    }
    assert_true(refused > 1000);
}

TEST_WITH(headers_that_no_png_has, setup, teardown)
{
    static const struct {
        uint32_t width, height, depth, colour;
    } headers[] = {{0, 1, 8, 2}, {1, 0, 8, 2}, {1U << 31, 1, 8, 2}, {1, UINT32_MAX, 8, 2},
                   {1, 1, 3, 0}, {1, 1, 4, 2}, {1, 1, 16, 3},       {1, 1, 8, 1},
                   {1, 1, 8, 5}, {1, 1, 8, 7}, {1, 1, 0, 0},        {1, 1, 2, 4}};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        png_file file = png_make_begin(headers[i].width, headers[i].height, headers[i].depth,
                                       headers[i].colour, false);
        png_make_data(&file, "\0\0\0\0", 4);
        png_make_chunk(&file, "IEND", NULL, 0);
        expect(*state, &file, SLUICE_CORRUPT, i < 4 ? "width or height" : "PNG header is invalid");
        png_make_free(&file);
    }
    /* compression, filter and interlacing */
    for (size_t at = 26; at <= 28; at++) {
        png_file file = png_make(13, 11, 1, &kinds[0]);
        file.data[at] = 2;
        png_make_seal(file.data, file.size);
        expect(*state, &file, SLUICE_CORRUPT, "PNG header is invalid");
        png_make_free(&file);
    }
}

TEST_WITH(chunks_in_the_wrong_place, setup, teardown)
{
    static const struct {
        const char *chunks[5]; /* after IHDR of a one-pixel image with a palette */
        const char *text;
    } orders[] = {
        {{"IDAT"}, "palette is missing"},
        {{"PLTE", "IEND"}, "no image data"},
        {{"PLTE", "PLTE", "IDAT", "IEND"}, "palette is invalid or in the wrong place"},
        {{"PLTE", "IDAT", "PLTE", "IEND"}, "palette is invalid or in the wrong place"},
        {{"PLTE", "IDAT", "tEXt", "IDAT", "IEND"}, "not contiguous"},
        {{"PLTE", "IHDR", "IDAT", "IEND"}, "second header"},
        {{"PLTE", "IDAT"}, "end chunk"},
        {{"PLTE", "I.AT"}, "not four letters"},
    };
    png_file file;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        file = png_make_begin(1, 1, 8, 3, false);
        for (size_t k = 0; k < 5 && orders[i].chunks[k] != NULL; k++) {
            if (strcmp(orders[i].chunks[k], "IDAT") == 0) {
                png_make_data(&file, "\0\0", 2);
            } else {
                const bool is_palette = strcmp(orders[i].chunks[k], "PLTE") == 0;
                png_make_chunk(&file, orders[i].chunks[k], "abc", is_palette ? 3 : 0);
            }
        }
        expect(*state, &file, SLUICE_CORRUPT, orders[i].text);
        png_make_free(&file);
    }
    file = png_make_begin(1, 1, 8, 2, false);
    png_make_chunk(&file, "CgBI", "abcd", 4);
    png_make_data(&file, "\0\1\2\3", 4);
    png_make_chunk(&file, "IEND", NULL, 0);
    expect(*state, &file, SLUICE_UNSUPPORTED, "CgBI");
    png_make_free(&file);
}

TEST_WITH(colours_beyond_the_palette, setup, teardown)
{
    for (uint32_t i = 0; i < 4; i++) {
        png_options options = {
            .colour = 3, .depth = i < 2 ? 8 : 4, .colours = 11, .interlaced = i % 2 == 1};
        png_file file = png_make(9, 9, i, &options);
        expect(*state, &file, SLUICE_OK, "");
        png_make_free(&file);
        options.excess = i < 2 ? 200 : 11;
        options.colours = i < 2 ? 11 : 1;
        file = png_make(9, 9, i, &options);
        expect(*state, &file, SLUICE_CORRUPT, "not in the PNG's palette");
        png_make_free(&file);
    }
}

/* Too few rows, too many, none at all, and a stream with a wrong checksum. */
TEST_WITH(picture_data_of_the_wrong_length, setup, teardown)
{
    static uint8_t rows[64 * 193];
    for (uint32_t height = 0; height <= 64; height += 8) {
        png_file file = png_make_begin(64, 32, 8, 2, false);
        png_make_data(&file, rows, (size_t)height * 193);
        png_make_chunk(&file, "IEND", NULL, 0);
        /* data after the image are harmless */
        expect(*state, &file, height < 32 ? SLUICE_CORRUPT : SLUICE_OK, "");
        file.data[png_make_find(file.data, file.size, "IEND") - 5] ^= 1; /* the stream's checksum */
        png_make_seal(file.data, file.size);
        if (height <= 32) {
            expect(*state, &file, SLUICE_CORRUPT, "");
        }
        png_make_free(&file);
    }
}

static uint64_t peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss;
}

/* Adds a chunk of 64 MiB of zeros, deflated after a name. */
static void add_bomb(png_file *file, const char *type)
{
    const size_t size = (size_t)64 << 20;
    uint8_t *zeros = calloc(1, size);
    assert_non_null(zeros);
    png_file packed = png_make_begin(1, 1, 8, 2, false);
    png_make_data(&packed, zeros, size);
    const size_t at = png_make_find(packed.data, packed.size, "IDAT");
    uint8_t *content = packed.data + at + 5; /* overwrites the length and the type: "x", 0, 0 */
    memcpy(content, "x\0", 3);
    png_make_chunk(file, type, content, packed.size - at - 9);
    png_make_free(&packed);
    free(zeros);
}

/* Makes an image of zeros with `extra` more bytes after its last row. */
static png_file with_extra(uint32_t width, uint32_t colour, bool interlaced, size_t extra)
{
    const uint32_t height = 8;
    uint8_t *zeros = calloc(1, ((size_t)width * 4 + 2) * height + extra);
    assert_non_null(zeros);
    png_file file = png_make_begin(width, height, 8, colour, interlaced);
    const size_t channels = colour == 2 ? 3 : colour == 6 ? 4 : 1;
    /* The passes of 8 x 8 have 1, 1, 1, 2, 2, 4 and 4 rows. */
    const size_t filters = interlaced ? 15 : height;
    png_make_data(&file, zeros, (size_t)width * height * channels + filters + extra);
    png_make_chunk(&file, "IEND", NULL, 0);
    free(zeros);
    return file;
}

/* For each decoder: our rows (grey, and wide ones) or libpng. */
TEST_WITH(bytes_behind_the_last_row_are_few, setup, teardown)
{
    static const struct {
        uint32_t width, colour;
        bool interlaced;
    } forms[] = {{8, 0, false}, {8, 2, false}, {8, 6, false}, {90000, 2, false},
                 {8, 0, true},  {8, 2, true},  {8, 6, true}};
    uint64_t spent = 0;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        static const size_t few[] = {0, 1, 300, 8 << 10};
        for (size_t k = 0; k < 4; k++) {
            png_file file =
                with_extra(forms[i].width, forms[i].colour, forms[i].interlaced, few[k]);
            expect(*state, &file, SLUICE_OK, "");
            png_make_free(&file);
        }
        png_file file = with_extra(forms[i].width, forms[i].colour, forms[i].interlaced, 24 << 20);
        const uint64_t start = test_cpu_ns();
        expect(*state, &file, SLUICE_CORRUPT, "more than 8 KiB after the last row");
        spent += test_cpu_ns() - start;
        png_make_free(&file);
    }
    png_file file = with_extra(8, 0, false, (8 << 10) + 1);
    expect(*state, &file, SLUICE_CORRUPT, "more than 8 KiB after the last row");
    png_make_free(&file);
    assert_true(spent < UINT64_C(10000000000));
}

TEST_WITH(bombs_cost_nothing, setup, teardown)
{
    png_file text = png_make_begin(1, 1, 8, 2, false);
    add_bomb(&text, "zTXt");
    add_bomb(&text, "iCCP");
    add_bomb(&text, "iTXt");
    for (int i = 0; i < 300000; i++) {
        png_make_chunk(&text, "tEXt", "a\0b", 3);
    }
    png_make_data(&text, "\0\1\2\3", 4);
    png_make_chunk(&text, "IEND", NULL, 0);
    png_file large =
        png_make_begin(10000, 10000, 16, 6, true); /* 800 MB of rows according to the header */
    png_make_data(&large, "\0\1\2\3", 4);
    png_make_chunk(&large, "IEND", NULL, 0);
    png_file huge = png_make_begin(60000, 60000, 8, 2, false);
    const uint64_t before = peak_kib();
    const uint64_t start = test_cpu_ns();
    expect(*state, &text, SLUICE_OK, "");
    expect(*state, &large, SLUICE_CORRUPT, "too few for 10000 x 10000 pixels");
    expect(*state, &huge, SLUICE_UNSUPPORTED, "60000 x 60000");
    assert_true(test_cpu_ns() - start < UINT64_C(20000000000));
    assert_true(peak_kib() - before < 40 << 10); /* the 4 MB copy, under sanitizers too */
    png_make_free(&text);
    png_make_free(&large);
    png_make_free(&huge);
}

/* The table's bound is enough for any shape. */
TEST(memory_stays_within_the_bound)
{
    static const sl_picture shapes[] = {{60000, 1}, {1, 60000}, {300, 200}, {3, 20000}, {2, 1}};
    for (uint32_t i = 0; i < 5 * KINDS; i++) {
        const sl_picture shape = shapes[i % 5];
        png_options options = {.colour = 6, .depth = 16};
        if (i >= 5) {
            options = kinds[i / 5];
        }
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            options.interlaced = interlaced == 1;
            png_file file = png_make(shape.width, shape.height, i, &options);
            decoder_setup *own =
                decoder_open(sl_codec_png.number, SLUICE_EXIF_APPLY,
                             sl_codec_png.scratch_bytes((uint64_t)shape.width * shape.height));
            /* as much again for the rotated image */
            const bool turned = options.orientation > 0;
            const sluice_status status =
                decoder_try(own, file.data, file.size, turned ? shape.height / 2 : 0, NULL);
            assert_int_equal(status, SLUICE_OK);
            decoder_close(own);
            own = decoder_open(sl_codec_png.number, SLUICE_EXIF_APPLY, (uint64_t)4 << 10);
            assert_int_equal(decoder_try(own, file.data, file.size, 0, NULL), SLUICE_NOMEM);
            decoder_close(own);
            png_make_free(&file);
        }
    }
}

TEST_WITH(stops_when_nobody_waits, setup, teardown)
{
    decoder_setup *f = *state;
    const png_options options = {.interlaced = true};
    png_file file = png_make(100, 100, 1, &options);
    const sl_value stored = {.bytes = {file.data, file.size}};
    sl_picture picture;
    sl_image view;
    assert_int_equal(sl_decoder_open_picture(f->decoder, &stored, &picture, NULL), SLUICE_OK);
    atomic_store_explicit(&f->stop, true, memory_order_relaxed);
    const sl_rect need = {0, 0, 1, 1};
    assert_int_equal(sl_decoder_decode(f->decoder, need, 0, 0, &view, NULL), SLUICE_CANCELED);
    assert_int_equal(sl_decoder_open_picture(f->decoder, &stored, &picture, NULL), SLUICE_CANCELED);
    atomic_store_explicit(&f->stop, false, memory_order_relaxed);
    assert_int_equal(decoder_try(f, file.data, file.size, 0, NULL), SLUICE_OK);
    png_make_free(&file);
}
