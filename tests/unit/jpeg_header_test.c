/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_frame against libjpeg: headers that it accepts have the same meaning for libjpeg, and all
 * others are left to libjpeg, however they are built or damaged.
 */
#include "decoder.h"
#include "jpeg_header.h"
#include "jpeg_make.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { SOF0 = 0xC0, DHT = 0xC4, SOS = 0xDA, DQT = 0xDB, DRI = 0xDD };

static bool is_taken(const uint8_t *data, size_t size)
{
    bool taken;
    uint8_t *copy = malloc(size > 0 ? size : 1); /* exact size */
    assert_non_null(copy);
    memcpy(copy, data, size);
    const char *difference = jpeg_header_difference((sl_bytes){copy, size}, &taken);
    free(copy);
    if (difference != NULL) {
        fail_msg("%s", difference);
    }
    return taken;
}

static bool piece_is_taken(const jpeg_pieces *p)
{
    return is_taken(p->data, p->size);
}

TEST(what_the_kernels_decode_is_taken)
{
    static const jpeg_options kinds[] = {
        {0},
        {.h_factor = 1, .v_factor = 1},
        {.h_factor = 2, .v_factor = 1, .restart_interval = 7},
        {.h_factor = 1, .v_factor = 2, .quality = 1},
        {.colour = JPEG_GREY},
        {.colour = JPEG_GREY, .h_factor = 2, .v_factor = 3, .restart_interval = 65535},
        {.orientation = 8},
        {.orientation = 1, .exif_big_endian = true, .quality = 100},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        jpeg_file file = jpeg_make_pattern(33, 17, 1, &kinds[i]);
        assert_true(is_taken(file.data, file.size));
        jpeg_free(&file);
    }
}

TEST(other_kinds_are_left)
{
    static const jpeg_options kinds[] = {
        {.progressive = true},         {.separate_scans = true}, {.colour = JPEG_CMYK},
        {.colour = JPEG_YCCK},         {.colour = JPEG_RGB},     {.h_factor = 4, .v_factor = 1},
        {.h_factor = 1, .v_factor = 4}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        jpeg_file file = jpeg_make_pattern(40, 40, 1, &kinds[i]);
        assert_false(is_taken(file.data, file.size));
        jpeg_free(&file);
    }
}

static size_t header_bytes(const jpeg_file *file)
{
    sl_jpeg_frame frame;
    assert_true(sl_jpeg_frame_read(&frame, (sl_bytes){file->data, file->size}));
    return frame.scan;
}

/* Copies all segments except the scan; `edit` decides the fate of each. */
typedef void (*segment_edit)(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size);

static void rebuild(jpeg_pieces *out, const jpeg_file *file, segment_edit edit)
{
    out->size = 0;
    jpeg_put(out, file->data, 2);
    size_t at = 2;
    while (file->data[at + 1] != SOS) {
        const size_t length = ((size_t)file->data[at + 2] << 8 | file->data[at + 3]) - 2;
        edit(out, file->data[at + 1], file->data + at + 4, length);
        at += 4 + length;
    }
    jpeg_put(out, file->data + at, file->size - at);
}

static void with_fill_bytes(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put(out, "\xFF\xFF\xFF", 3);
    jpeg_put_segment(out, marker, data, size);
}

static void with_comments(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put_segment(out, 0xFE, "a comment", 9);
    jpeg_put_segment(out, 0xEF, "", 0);
    jpeg_put_segment(out, marker, data, size);
}

static void twice(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put_segment(out, marker, data, size);
    if (marker != SOF0) {
        jpeg_put_segment(out, marker, data, size);
    }
}

static void with_wide_quantizers(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    if (marker != DQT) {
        jpeg_put_segment(out, marker, data, size);
        return;
    }
    uint8_t wide[129] = {(uint8_t)(0x10 | data[0])};
    assert_int_equal(size, 65);
    for (int i = 0; i < 64; i++) {
        wide[1 + 2 * i] = (uint8_t)(i % 3);
        wide[2 + 2 * i] = data[1 + i];
    }
    jpeg_put_segment(out, marker, wide, sizeof(wide));
}

static void with_code_of_all(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put_segment(out, marker, data, size);
    if (marker == DHT) { /* a table that is unused and invalid as a code */
        uint8_t table[17 + 256] = {0x13, 255, 1};
        jpeg_put_segment(out, marker, table, sizeof(table));
    }
}

static void without_jfif(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    if (marker != 0xE0) {
        jpeg_put_segment(out, marker, data, size);
    }
}

static void with_adobe_ycbcr(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    if (marker == 0xE0) {
        jpeg_put_segment(out, 0xEE, "Adobe\0\x64\0\0\0\0\1", 12);
    } else {
        jpeg_put_segment(out, marker, data, size);
    }
}

static void with_short_app(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put_segment(out, 0xE0, "JFIF\0\1\1\0\0\1\0\1\0", 13);
    jpeg_put_segment(out, 0xEE, "Adobe\0\x64\0\0\0\0", 11);
    jpeg_put_segment(out, marker, data, size);
}

/* Applies each of the edits to one file. */
static void expect_taken(bool taken, const segment_edit *edits, size_t count)
{
    const jpeg_options options = {.restart_interval = 2};
    jpeg_file file = jpeg_make_pattern(50, 30, 1, &options);
    static jpeg_pieces made;
    for (size_t i = 0; i < count; i++) {
        rebuild(&made, &file, edits[i]);
        assert_int_equal(piece_is_taken(&made), taken);
    }
    jpeg_free(&file);
}

TEST(headers_put_together_otherwise_are_taken)
{
    static const segment_edit edits[] = {with_fill_bytes,      with_comments,    twice,
                                         with_wide_quantizers, with_code_of_all, without_jfif,
                                         with_adobe_ycbcr,     with_short_app};
    expect_taken(true, edits, sizeof(edits) / sizeof(edits[0]));
}

static void with_junk(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put(out, "junk", 4);
    jpeg_put_segment(out, marker, data, size);
}

static void with_two_frames(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put_segment(out, marker, data, size);
    if (marker == SOF0) {
        jpeg_put_segment(out, marker, data, size);
    }
}

static void with_restart_marker(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    jpeg_put(out, "\xFF\xD0", 2);
    jpeg_put_segment(out, marker, data, size);
}

static void with_adobe_rgb(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    if (marker == 0xE0) {
        jpeg_put_segment(out, 0xEE, "Adobe\0\x64\0\0\0\0\0", 12);
    } else {
        jpeg_put_segment(out, marker, data, size);
    }
}

static void with_rgb_ids(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    uint8_t copy[1 << 10];
    assert_true(size <= sizeof(copy));
    memcpy(copy, data, size);
    if (marker == SOF0) {
        copy[6] = 'R';
        copy[9] = 'G';
        copy[12] = 'B';
    }
    if (marker != 0xE0) {
        jpeg_put_segment(out, marker, copy, size);
    }
}

static void without_quantizers(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    if (marker != DQT) {
        jpeg_put_segment(out, marker, data, size);
    }
}

static void without_codes(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    if (marker != DHT) {
        jpeg_put_segment(out, marker, data, size);
    }
}

static void with_one_byte_more(jpeg_pieces *out, uint8_t marker, const uint8_t *data, size_t size)
{
    static uint8_t copy[1 << 10];
    memcpy(copy, data, size);
    jpeg_put_segment(out, marker, copy, size + (marker == DHT || marker == DQT || marker == DRI));
}

TEST(what_libjpeg_should_judge_is_left)
{
    static const segment_edit edits[] = {with_junk,      with_two_frames,   with_restart_marker,
                                         with_adobe_rgb, with_rgb_ids,      without_quantizers,
                                         without_codes,  with_one_byte_more};
    expect_taken(false, edits, sizeof(edits) / sizeof(edits[0]));
}

/* Every byte of the header with every value: 600 x 256 headers for libjpeg. */
TEST(every_byte_means_the_same)
{
    const jpeg_options options = {.restart_interval = 2};
    jpeg_file file = jpeg_make_pattern(24, 16, 1, &options);
    const size_t scan = header_bytes(&file);
    uint32_t taken = 0;
    for (size_t at = 0; at < scan; at++) {
        const uint8_t was = file.data[at];
        /* bytes that are only copied get fewer values */
        for (uint32_t value = 0; value < 256; value += at % 4 == 0 ? 1 : 17) {
            file.data[at] = (uint8_t)value;
            taken += is_taken(file.data, file.size);
        }
        file.data[at] = was;
    }
    assert_true(taken > 1000);
    jpeg_free(&file);
}

TEST(headers_cut_short_are_left)
{
    jpeg_file file = jpeg_make_pattern(24, 16, 1, NULL);
    const size_t scan = header_bytes(&file);
    for (size_t size = 0; size < scan; size++) {
        assert_false(is_taken(file.data, size));
    }
    assert_true(is_taken(file.data, scan));
    jpeg_free(&file);
}

/* libjpeg words all codec errors, even those that our reader sees first. */
TEST(refusals_are_worded_as_ever)
{
    const sl_decoder_config config = {.max_pixels = 1 << 20, .exif = SLUICE_EXIF_APPLY};
    sl_decoder *decoder;
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    jpeg_file file = jpeg_make_pattern(24, 16, 1, NULL);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        sl_random random = sl_random_for(i, 0, 0, 0);
        const size_t at = 2 + sl_random_below(&random, (uint32_t)file.size - 2);
        const uint8_t was = file.data[at];
        file.data[at] = (uint8_t)sl_random_u32(&random);
        const sl_value stored = {.bytes = {file.data, file.size}};
        sluice_status status[2];
        sluice_error errors[2];
        for (int path = 0; path < 2; path++) {
            sl_picture picture;
            sl_image view;
            errors[path] = (sluice_error)SLUICE_ERROR_INIT;
            sl_decoder_avoid(decoder, path == 0 ? 0 : SL_PATH_KERNELS | SL_PATH_INTERVALS);
            status[path] = sl_decoder_open_picture(decoder, &stored, &picture, &errors[path]);
            if (status[path] == SLUICE_OK) {
                const sl_rect all = {0, 0, picture.width, picture.height};
                status[path] = sl_decoder_decode(decoder, all, 0, 0, &view, &errors[path]);
            }
        }
        assert_int_equal(status[0], status[1]);
        assert_string_equal(errors[0].text, errors[1].text);
        assert_int_equal(errors[0].offset, errors[1].offset);
        refused += status[0] != SLUICE_OK;
        file.data[at] = was;
    }
    assert_true(refused > 500);
    jpeg_free(&file);
    sl_decoder_close(decoder);
}
