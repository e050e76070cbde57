/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEGs of several scans without an end marker, and with phones' trailers after, before or instead
 * of it: the pixels of the whole file, unless bits of a scan are missing.
 */
#include "decoder.h"
#include "jpeg_make.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 16, WIDTH = 35, HEIGHT = 40, ROW = WIDTH * 3 };

static int setup(void **state)
{
    sl_decoder *decoder = NULL;
    const sl_decoder_config config = {.max_pixels = 1 << 20, .max_unpacked_bytes = 1 << 20};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    *state = decoder;
    return 0;
}

static int teardown(void **state)
{
    sl_decoder_close(*state);
    return 0;
}

static sluice_status decode(sl_decoder *decoder, const uint8_t *data, size_t size,
                            uint8_t pixels[HEIGHT * ROW], sluice_error *error)
{
    const sl_value stored = {.bytes = {data, size}};
    const sl_rect all = {0, 0, WIDTH, HEIGHT};
    sl_picture picture;
    sl_image view;
    sluice_status status = sl_decoder_open_picture(decoder, &stored, &picture, error);
    status = status == SLUICE_OK ? sl_decoder_decode(decoder, all, 0, 0, &view, error) : status;
    for (size_t y = 0; y < HEIGHT && status == SLUICE_OK; y++) {
        memcpy(pixels + y * ROW, view.pixels + y * view.stride_bytes, ROW);
    }
    return status;
}

static void expect_pixels(sl_decoder *decoder, const uint8_t *data, size_t size,
                          const uint8_t wanted[HEIGHT * ROW])
{
    static uint8_t pixels[HEIGHT * ROW];
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(decode(decoder, data, size, pixels, &error), SLUICE_OK);
    assert_memory_equal(pixels, wanted, (size_t)HEIGHT * ROW);
}

static void expect_refused(sl_decoder *decoder, const uint8_t *data, size_t size, const char *text)
{
    static uint8_t pixels[HEIGHT * ROW];
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(decode(decoder, data, size, pixels, &error), SLUICE_CORRUPT);
    if (strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" where \"%s\" was expected", error.text, text);
    }
}

/* Writes `size` bytes of the file, `junk`, and the rest of the file. */
static size_t insert_junk(const jpeg_file *file, size_t size, const char *junk, size_t bytes,
                          uint8_t out[FILE_MAX])
{
    memcpy(out, file->data, size);
    memcpy(out + size, junk, bytes);
    memcpy(out + size + bytes, file->data + size, file->size - size);
    return file->size + bytes;
}

static size_t last_scan_of(const jpeg_file *file)
{
    size_t at = file->size - 2;
    while (file->data[at] != 0xFF || file->data[at + 1] != 0xDA) {
        at--;
    }
    return at;
}

/* Phones write trailers after the end marker, before it, or instead of it. */
TEST_WITH(trailers_of_several_scans, setup, teardown)
{
    static uint8_t changed[FILE_MAX];
    static uint8_t whole[HEIGHT * ROW];
    static const struct {
        const char *bytes;
        size_t size;
    } trailers[] = {
        {"SEFHk\0\0\0SEFT", 12},
        {"\xFF\x10\xFF\x02", 4},
        {"a\xFF\xD8\xFF\xE1\xFF\xFFx", 8}, /* another image, and a truncated segment */
        {"\xFF\xE2\0\4ab\xFF\xC4\0\2\xFF\xC0\0\3a", 15},
        {"\xFF\xDA\0\x0C\3abcdefghi", 14}, /* a scan of missing components */
        {"\xFF\xFF\xFF", 3},
        {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20},
    };
    const jpeg_options kinds[] = {
        {.progressive = true},
        {.progressive = true, .h_factor = 1, .v_factor = 1, .restart_interval = 3},
        {.progressive = true, .colour = JPEG_GREY},
        {.progressive = true, .colour = JPEG_YCCK},
        {.separate_scans = true},
    };
    for (size_t i = 0; i < 35; i++) {
        const size_t bytes = trailers[i % 7].size;
        jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, (uint32_t)i, &kinds[i / 7]);
        assert_int_equal(decode(*state, file.data, file.size, whole, NULL), SLUICE_OK);
        for (size_t back = 0; back <= 2; back += 2) {
            const size_t size =
                insert_junk(&file, file.size - back, trailers[i % 7].bytes, bytes, changed);
            for (size_t cut = 0; cut <= back; cut++) {
                expect_pixels(*state, changed, size - cut, whole);
            }
        }
        /* The last scan is missing, or half of it. */
        const size_t scan = last_scan_of(&file);
        expect_refused(*state, file.data, scan, "end of input");
        expect_refused(*state, file.data, (scan + file.size) / 2, "Corrupt JPEG data");
        jpeg_free(&file);
    }
}

/* An end marker before the last scan's tables and header is ignored. */
TEST_WITH(scans_behind_a_trailer, setup, teardown)
{
    static uint8_t changed[FILE_MAX];
    static uint8_t whole[HEIGHT * ROW];
    const jpeg_options progressive = {.progressive = true};
    jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, 4, &progressive);
    assert_int_equal(decode(*state, file.data, file.size, whole, NULL), SLUICE_OK);
    for (size_t at = 2; at + 4 < file.size; at++) {
        if (file.data[at] != 0xFF || file.data[at + 1] != 0xC4) {
            continue;
        }
        const size_t size = insert_junk(&file, at, "trailer\xFF\xE5\0\4ab", 13, changed);
        expect_pixels(*state, changed, size, whole);
    }
    jpeg_free(&file);
}
