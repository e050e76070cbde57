/* SPDX-License-Identifier: Apache-2.0 */
/* JPEGs of every kind, compared with a plain decode by libjpeg. */
#include "decoder.h"
#include "exif.h"
#include "jpeg_make.h"
#include "jpeg_scanlines.h"
#include "memory.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PIXELS = 1 << 22 };

static sl_decoder *open_decoder(sluice_exif exif)
{
    sl_decoder *decoder = NULL;
    sl_decoder_config config = {
        .max_pixels = MAX_PIXELS, .max_unpacked_bytes = 1 << 24, .exif = exif};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    return decoder;
}

static int setup(void **state)
{
    *state = open_decoder(SLUICE_EXIF_IGNORE);
    return 0;
}

static int teardown(void **state)
{
    sl_decoder_close(*state);
    return 0;
}

static sluice_status open_file(sl_decoder *decoder, const jpeg_file *file, sl_picture *picture,
                               sluice_error *error)
{
    sl_value stored = {.bytes = {file->data, file->size}};
    return sl_decoder_open_picture(decoder, &stored, picture, error);
}

/* Returns the plain decode as RGB; the caller frees it. */
static uint8_t *plain_rgb(const jpeg_file *file, uint32_t *width, uint32_t *height)
{
    uint32_t channels = 0;
    long warnings = 0;
    uint8_t *plain = jpeg_plain_decode(file->data, file->size, width, height, &channels, &warnings);
    assert_non_null(plain);
    assert_int_equal(warnings, 0);
    if (channels == 3) {
        return plain;
    }
    size_t count = (size_t)*width * *height;
    uint8_t *rgb = malloc(count * 3);
    assert_non_null(rgb);
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < 3; c++) {
            /* CMYK, inverted: light = (1 - ink) * (1 - black), rounded */
            uint32_t light = plain[i * channels + (channels == 4 ? c : 0)];
            rgb[i * 3 + c] = (uint8_t)light;
            if (channels == 4) {
                uint32_t black = plain[i * 4 + 3];
                rgb[i * 3 + c] = (uint8_t)(black - (uint32_t)((255 - light) * black / 255.0 + 0.5));
            }
        }
    }
    free(plain);
    return rgb;
}

static void assert_view_equals(const sl_image *view, sl_rect need, const uint8_t *rgb,
                               uint32_t width, uint32_t height)
{
    assert_int_equal(view->denominator, 1);
    assert_int_equal(view->channels, 3);
    assert_int_equal(view->picture_width, width);
    assert_int_equal(view->picture_height, height);
    assert_true(view->origin_x <= need.x && view->origin_y <= need.y);
    assert_true(view->origin_x + view->width >= need.x + need.width);
    assert_true(view->origin_y + view->height >= need.y + need.height);
    for (uint32_t y = need.y; y < need.y + need.height; y++) {
        const uint8_t *ours = view->pixels + (y - view->origin_y) * view->stride_bytes +
                              (size_t)(need.x - view->origin_x) * 3;
        const uint8_t *theirs = rgb + ((size_t)y * width + need.x) * 3;
        assert_memory_equal(ours, theirs, (size_t)need.width * 3);
    }
}

static void check_rect(sl_decoder *decoder, const jpeg_file *file, sl_rect need, const uint8_t *rgb,
                       uint32_t width, uint32_t height)
{
    sl_picture picture = {0};
    sl_image view = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = open_file(decoder, file, &picture, &error);
    if (status == SLUICE_OK) {
        status = sl_decoder_decode(decoder, need, 0, 0, &view, &error);
    }
    if (status != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(picture.width, width);
    assert_int_equal(picture.height, height);
    assert_view_equals(&view, need, rgb, width, height);
}

/* Checks the whole image, its middle, its last row and its first pixel. */
static void check_file(sl_decoder *decoder, const jpeg_file *file)
{
    uint32_t width = 0;
    uint32_t height = 0;
    uint8_t *rgb = plain_rgb(file, &width, &height);
    const sl_rect rects[] = {
        {0, 0, width, height},
        {width / 3, height / 3, (width + 2) / 3, (height + 2) / 3},
        {0, height - 1, width, 1},
        {0, 0, 1, 1},
    };
    for (size_t i = 0; i < sizeof(rects) / sizeof(rects[0]); i++) {
        check_rect(decoder, file, rects[i], rgb, width, height);
    }
    free(rgb);
}

static void check_kind(sl_decoder *decoder, uint32_t width, uint32_t height,
                       const jpeg_options *options)
{
    jpeg_file file = jpeg_make_pattern(width, height, width + 7 * height, options);
    check_file(decoder, &file);
    jpeg_free(&file);
}

static void check_codings(sl_decoder *decoder, uint32_t width, uint32_t height, jpeg_colour colour)
{
    for (int coding = 0; coding < 6; coding++) {
        jpeg_options options = {.colour = colour,
                                .progressive = coding == 1 || coding == 4,
                                .separate_scans = coding == 2,
                                .restart_interval = coding == 3 ? 2 : 0,
                                .arithmetic = coding >= 4};
        if (!options.arithmetic || jpeg_can_arithmetic()) {
            check_kind(decoder, width, height, &options);
        }
    }
}

TEST_WITH(every_colour_and_coding, setup, teardown)
{
    static const uint32_t sizes[][2] = {{1, 1}, {7, 5}, {16, 16}, {97, 61}, {3, 200}};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (int colour = JPEG_YCBCR; colour <= JPEG_YCCK; colour++) {
            check_codings(*state, sizes[s][0], sizes[s][1], (jpeg_colour)colour);
        }
    }
}

TEST_WITH(every_sampling_factor, setup, teardown)
{
    for (int h = 1; h <= 4; h++) {
        for (int v = 1; v <= 4; v++) {
            if (h * v + 2 > 10) { /* more blocks than an MCU may have */
                continue;
            }
            jpeg_options options = {.h_factor = h, .v_factor = v};
            check_kind(*state, 83, 59, &options);
            options.progressive = true;
            check_kind(*state, 83, 59, &options);
        }
    }
    jpeg_options grey = {.colour = JPEG_GREY, .h_factor = 3, .v_factor = 3};
    check_kind(*state, 50, 50, &grey);
}

/* Decoding can be repeated with another rectangle. */
TEST_WITH(decodes_one_picture_twice, setup, teardown)
{
    sl_decoder *decoder = *state;
    jpeg_file file = jpeg_make_pattern(64, 48, 3, NULL);
    uint32_t width = 0;
    uint32_t height = 0;
    uint8_t *rgb = plain_rgb(&file, &width, &height);
    sl_picture picture;
    sl_image top;
    sl_image all;
    assert_int_equal(open_file(decoder, &file, &picture, NULL), SLUICE_OK);
    const sl_rect first = {0, 0, 64, 8};
    const sl_rect second = {0, 0, 64, 48};
    assert_int_equal(sl_decoder_decode(decoder, first, 0, 0, &top, NULL), SLUICE_OK);
    assert_int_equal(sl_decoder_decode(decoder, second, 0, 0, &all, NULL), SLUICE_OK);
    assert_view_equals(&top, first, rgb, width, height);
    assert_view_equals(&all, second, rgb, width, height);
    free(rgb);
    jpeg_free(&file);
}

/* Finds the first marker of a kind before the scan. */
static size_t find_marker(const jpeg_file *file, uint8_t marker)
{
    for (size_t at = 2; at + 4 <= file->size && file->data[at] == 0xFF;
         at += 2 + ((size_t)file->data[at + 2] << 8 | file->data[at + 3])) {
        if (file->data[at + 1] == marker) {
            return at;
        }
    }
    return 0;
}

/* Returns a copy with `bytes` bytes inserted at `at`. */
static jpeg_file with_bytes(const jpeg_file *file, size_t at, const uint8_t *bytes, size_t count)
{
    jpeg_file made = {malloc(file->size + count), file->size + count};
    assert_non_null(made.data);
    memcpy(made.data, file->data, at);
    memcpy(made.data + at, bytes, count);
    memcpy(made.data + at + count, file->data + at, file->size - at);
    return made;
}

TEST_WITH(harmless_junk_is_accepted, setup, teardown)
{
    static const uint8_t junk[40] = {0x55, 0xAA, 0x12, 0x34, 0xFF, 0xD8, 0xFF, 0xE0};
    jpeg_file file = jpeg_make_pattern(40, 30, 9, NULL);
    uint32_t width = 0;
    uint32_t height = 0;
    uint8_t *rgb = plain_rgb(&file, &width, &height);
    const sl_rect all = {0, 0, width, height};
    jpeg_file trailing = with_bytes(&file, file.size, junk, sizeof(junk));
    check_rect(*state, &trailing, all, rgb, width, height);
    jpeg_file between = with_bytes(&file, find_marker(&file, 0xC0), junk, 4);
    check_rect(*state, &between, all, rgb, width, height);
    jpeg_file before_end = with_bytes(&file, file.size - 2, junk, 4);
    check_rect(*state, &before_end, all, rgb, width, height);
    jpeg_file no_end = {file.data, file.size - 2};
    check_rect(*state, &no_end, all, rgb, width, height);
    free(rgb);
    jpeg_free(&trailing);
    jpeg_free(&between);
    jpeg_free(&before_end);
    jpeg_free(&file);
}

static void expect_refusal(sl_decoder *decoder, const jpeg_file *file, sluice_status expected,
                           const char *text)
{
    sl_picture picture = {1, 1};
    sl_image view;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = open_file(decoder, file, &picture, &error);
    if (status == SLUICE_OK) {
        status = sl_decoder_decode(decoder, (sl_rect){0, 0, picture.width, picture.height}, 0, 0,
                                   &view, &error);
    }
    assert_int_equal(status, expected);
    assert_int_equal(error.status, expected);
    assert_string_equal(error.stage, "decode");
    if (strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
    }
}

TEST_WITH(what_libjpeg_cannot_do_is_unsupported, setup, teardown)
{
    jpeg_file file = jpeg_make_pattern(40, 30, 9, NULL);
    size_t frame = find_marker(&file, 0xC0);
    file.data[frame + 4] = 12;
    expect_refusal(*state, &file, SLUICE_UNSUPPORTED, "precision");
    file.data[frame + 4] = 8;
    file.data[frame + 1] = 0xC3; /* lossless */
    expect_refusal(*state, &file, SLUICE_UNSUPPORTED, "SOF");
    file.data[frame + 1] = 0xC0;
    file.data[frame + 11] = 0x31; /* luma 3 x 1 */
    file.data[frame + 14] = 0x21; /* chroma 2 x 1: a ratio of 1.5 */
    expect_refusal(*state, &file, SLUICE_UNSUPPORTED, "ractional");
    jpeg_free(&file);
}

/* Images with two channels are not supported. */
TEST_WITH(unknown_colour_spaces_are_unsupported, setup, teardown)
{
    jpeg_file file = jpeg_make_pattern(40, 30, 9, &(jpeg_options){.colour = JPEG_GREY});
    size_t frame = find_marker(&file, 0xC0);
    static const uint8_t component[3] = {2, 0x11, 0};
    jpeg_file two = with_bytes(&file, frame + 13, component, sizeof(component));
    two.data[frame + 3] = 14;
    two.data[frame + 9] = 2;
    expect_refusal(*state, &two, SLUICE_UNSUPPORTED, "color");
    jpeg_free(&two);
    jpeg_free(&file);
}

/* An image must not be decoded with the tables of the previous one. */
TEST_WITH(tables_do_not_leak_between_pictures, setup, teardown)
{
    jpeg_file whole = jpeg_make_pattern(40, 30, 9, NULL);
    check_file(*state, &whole);
    jpeg_file bare = {malloc(whole.size), 0};
    assert_non_null(bare.data);
    size_t table = find_marker(&whole, 0xDB);
    size_t length = 2 + ((size_t)whole.data[table + 2] << 8 | whole.data[table + 3]);
    memcpy(bare.data, whole.data, table);
    memcpy(bare.data + table, whole.data + table + length, whole.size - table - length);
    bare.size = whole.size - length;
    expect_refusal(*state, &bare, SLUICE_CORRUPT, "uantization table");
    jpeg_free(&bare);
    jpeg_free(&whole);
}

/* Returns pixel (x, y) of the upright image, from the standard's table: the sides of row 0 and
 * column 0. */
static const uint8_t *upright_pixel(const uint8_t *rgb, uint32_t w, uint32_t h, int orientation,
                                    uint32_t x, uint32_t y)
{
    uint32_t column = x;
    uint32_t row = y;
    switch (orientation) {
    case 2: /* top, right */
        column = w - 1 - x;
        break;
    case 3: /* bottom, right */
        column = w - 1 - x;
        row = h - 1 - y;
        break;
    case 4: /* bottom, left */
        row = h - 1 - y;
        break;
    case 5: /* left, top */
        column = y;
        row = x;
        break;
    case 6: /* right, top */
        column = y;
        row = h - 1 - x;
        break;
    case 7: /* right, bottom */
        column = w - 1 - y;
        row = h - 1 - x;
        break;
    case 8: /* left, bottom */
        column = w - 1 - y;
        row = x;
        break;
    default:
        break;
    }
    return rgb + ((size_t)row * w + column) * 3;
}

static void check_orientation(sl_decoder *decoder, const jpeg_file *file, int orientation)
{
    uint32_t w = 0;
    uint32_t h = 0;
    uint8_t *rgb = plain_rgb(file, &w, &h);
    uint32_t width = orientation >= 5 ? h : w;
    uint32_t height = orientation >= 5 ? w : h;
    uint8_t *upright = malloc((size_t)w * h * 3);
    assert_non_null(upright);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            memcpy(upright + ((size_t)y * width + x) * 3,
                   upright_pixel(rgb, w, h, orientation, x, y), 3);
        }
    }
    check_rect(decoder, file, (sl_rect){0, 0, width, height}, upright, width, height);
    check_rect(decoder, file, (sl_rect){5, 9, width - 11, height - 20}, upright, width, height);
    check_rect(decoder, file, (sl_rect){width - 1, height - 1, 1, 1}, upright, width, height);
    free(upright);
    free(rgb);
}

TEST(exif_orientation_is_applied_when_asked_for)
{
    sl_decoder *applying = open_decoder(SLUICE_EXIF_APPLY);
    sl_decoder *ignoring = open_decoder(SLUICE_EXIF_IGNORE);
    for (int orientation = 0; orientation <= 8; orientation++) {
        for (int how = 0; how < 4; how++) {
            jpeg_options options = {.orientation = orientation,
                                    .exif_big_endian = how % 2 == 1,
                                    .exif_long = how / 2 == 1,
                                    .progressive = orientation == 6};
            jpeg_file file = jpeg_make_pattern(53, 37, 4, &options);
            check_orientation(applying, &file, orientation);
            check_orientation(ignoring, &file, 1);
            jpeg_free(&file);
        }
    }
    sl_decoder_close(applying);
    sl_decoder_close(ignoring);
}

/* Any damage to the segment gives 1..8 and no read outside the bytes (which ASan would see). */
TEST(broken_exif_is_upright_or_at_least_safe)
{
    jpeg_file file = jpeg_make_pattern(8, 8, 4, &(jpeg_options){.orientation = 6});
    for (size_t size = 0; size <= 80; size++) {
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, file.data, size);
        uint8_t *exact = realloc(cut, size > 0 ? size : 1);
        assert_int_not_equal(sl_exif_orientation((sl_bytes){exact, size}), 0);
        free(exact);
    }
    size_t found = 0;
    for (size_t at = 2; at < 80; at++) {
        for (uint32_t value = 0; value < 256; value++) {
            uint8_t kept = file.data[at];
            file.data[at] = (uint8_t)value;
            uint32_t orientation = sl_exif_orientation((sl_bytes){file.data, file.size});
            assert_in_range(orientation, 1, 8);
            found += orientation == 6;
            file.data[at] = kept;
        }
    }
    assert_true(found > 1000);
    jpeg_free(&file);
}

TEST(cmyk_is_light_times_light)
{
    for (uint32_t ink = 0; ink < 256; ink++) {
        for (uint32_t black = 0; black < 256; black++) {
            const uint8_t cmyk[4] = {(uint8_t)(255 - ink), 255, 0, (uint8_t)(255 - black)};
            uint8_t rgb[3];
            sl_rgb_from_inverted_cmyk(cmyk, rgb, 1);
            uint32_t light = 255 - black;
            assert_int_equal(rgb[0], light - (uint32_t)(ink * light / 255.0 + 0.5));
            assert_int_equal(rgb[1], light);
            assert_int_equal(rgb[2], 0);
        }
    }
}
