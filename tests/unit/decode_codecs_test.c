/* SPDX-License-Identifier: Apache-2.0 */
/* The table of codecs: required members of each row, which row accepts which data, and sizes
 * without a decoder. */
#include "codecs.h"
#include "decoder.h"
#include "error.h"
#include "jpeg_codec.h"
#include "jpeg_make.h"
#include "media.h"
#include "png_make.h"
#include "test.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PIXELS = 1 << 20 };

TEST(rows_are_whole)
{
    uint32_t rows = 0;
    bool taken[256] = {false};
    taken[SL_CODEC_BY_BYTES] = true;
    for (; sl_codecs[rows] != NULL; rows++) {
        const sl_codec *codec = sl_codecs[rows];
        const uint32_t most = codec->denominator_max;
        assert_non_null(sl_media_of_codec(codec->number));
        assert_ptr_equal(sl_codec_name(codec), sl_media_of_codec(codec->number)->name);
        assert_false(taken[codec->number]);
        taken[codec->number] = true;
        assert_true(most == 1 || most == 2 || most == 4 || most == 8);
        assert_true(codec->header != NULL && (codec->pixels != NULL || codec->values != NULL));
        assert_true((codec->open == NULL) == (codec->close == NULL));
        if (codec->scratch_bytes != NULL) { /* an unlimited size must not overflow */
            assert_true(codec->scratch_bytes(UINT64_MAX) < UINT64_C(1) << 46);
        }
    }
    assert_in_range(rows, 2, SL_CODECS_MAX);
}

/* Numbers stored in shards since the format exists. */
TEST(numbers_stay)
{
    assert_int_equal(sl_codec_jpeg.number, 1);
    assert_int_equal(sl_codec_raw.number, 2); /* docs/format.md */
    assert_int_equal(sl_codec_png.number, 3);
    assert_int_equal(sl_codec_webp.number, 4);
}

TEST(numbers_are_believed_and_bytes_looked_at)
{
    static const uint8_t jpeg[] = {0xFF, 0xD8, 0xFF, 0xE0};
    static const uint8_t other[] = {1, 2, 3, 4};
    uint32_t row = 0;
    for (uint32_t i = 0; sl_codecs[i] != NULL; i++) {
        row = UINT32_MAX;
        assert_int_equal(
            sl_codec_find(sl_codecs[i]->number, (sl_bytes){other, sizeof(other)}, &row, NULL),
            SLUICE_OK);
        assert_int_equal(row, i);
    }
    assert_int_equal(sl_codec_find(SL_CODEC_BY_BYTES, (sl_bytes){jpeg, sizeof(jpeg)}, &row, NULL),
                     SLUICE_OK);
    assert_ptr_equal(sl_codecs[row], &sl_codec_jpeg);
    assert_int_equal(sl_codec_find(SL_CODEC_BY_BYTES, (sl_bytes){other, sizeof(other)}, &row, NULL),
                     SLUICE_CORRUPT);
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_codec_find(77, (sl_bytes){jpeg, sizeof(jpeg)}, &row, &error),
                     SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "codec 77"));
    assert_int_equal(sl_codec_find(1, (sl_bytes){jpeg, 0}, &row, NULL), SLUICE_CORRUPT);
}

/* A number in the table of media without a codec is unsupported; bytes of other media are reported
 * as no image, not as a damaged one. */
TEST(what_has_no_codec_is_named)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
        sluice_status status;
    } cases[] = {
        {"GIF89a, and so on", "GIF data cannot be decoded", SLUICE_UNSUPPORTED},
        {"P4\n8 1\nx", "PBM data cannot be decoded", SLUICE_UNSUPPORTED},
        {"%PDF-1.7", "not an image: it is a PDF document", SLUICE_CORRUPT},
        {"version https://git-lfs.github.com/spec/v1", "Git LFS pointer", SLUICE_CORRUPT},
        {"fLaC, and so on", "not an image: it is an audio file (FLAC)", SLUICE_CORRUPT},
        {"RIFF1234WAVEfmt ", "not an image: it is an audio file (WAV)", SLUICE_CORRUPT},
        {"RIFF1234WEB", "not an image: it begins with the bytes 52 49", SLUICE_CORRUPT},
        {"\xff", "not an image: it begins with the bytes ff 00", SLUICE_CORRUPT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const sl_bytes bytes = {(const uint8_t *)cases[i].bytes, strlen(cases[i].bytes)};
        sluice_error error = SLUICE_ERROR_INIT;
        uint32_t row = 0;
        assert_int_equal(sl_codec_find(SL_CODEC_BY_BYTES, bytes, &row, &error), cases[i].status);
        if (strstr(error.text, cases[i].text) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", cases[i].text, error.text);
        }
    }
}

/* Gives each codec foreign data of every size under its own number. */
TEST(codecs_judge_what_is_not_theirs)
{
    static const uint8_t bytes[40] = {0xFF, 0xD7, 0xFF, 0xE1, 0, 8, 'E', 'x', 'i', 'f'};
    const sl_decoder_config config = {
        .max_pixels = MAX_PIXELS, .max_unpacked_bytes = 1 << 20, .exif = SLUICE_EXIF_APPLY};
    sl_decoder *decoder;
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    for (size_t size = 1; size <= sizeof(bytes); size++) {
        uint8_t *copy = malloc(size); /* exactly that size, for the sanitizer */
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        for (uint32_t i = 0; sl_codecs[i] != NULL; i++) {
            const sl_value stored = {.bytes = {copy, size}, .codec = sl_codecs[i]->number};
            sl_picture picture;
            assert_int_equal(sl_decoder_open_picture(decoder, &stored, &picture, NULL),
                             SLUICE_CORRUPT);
        }
        free(copy);
    }
    sl_decoder_close(decoder);
}

static void expect_size(const sl_codec *codec, const sl_codec_source *source, uint32_t width,
                        uint32_t height)
{
    sl_picture picture;
    assert_int_equal(sl_codec_size(codec, source, &picture, NULL), SLUICE_OK);
    assert_int_equal(picture.width, width);
    assert_int_equal(picture.height, height);
}

static void expect_none(const sl_codec *codec, const sl_codec_source *source,
                        sluice_status expected)
{
    sl_picture picture;
    assert_int_equal(sl_codec_size(codec, source, &picture, NULL), expected);
}

/* Sizes as stored, whether reading the header is enough (baseline) or not (progressive). */
TEST(sizes_of_jpegs)
{
    for (int progressive = 0; progressive < 2; progressive++) {
        const jpeg_options how = {.orientation = 6, .progressive = progressive == 1};
        jpeg_file file = jpeg_make_pattern(53, 37, 4, &how);
        sl_codec_source source = {.bytes = {file.data, file.size}, .max_pixels = MAX_PIXELS};
        expect_size(&sl_codec_jpeg, &source, 53, 37);
        source.max_pixels = 53 * 37 - 1;
        expect_none(&sl_codec_jpeg, &source, SLUICE_UNSUPPORTED);
        source.max_pixels = MAX_PIXELS;
        source.bytes.size = 30;
        expect_none(&sl_codec_jpeg, &source, SLUICE_CORRUPT);
        jpeg_free(&file);
    }
}

TEST(sizes_of_pngs)
{
    const png_options how = {.orientation = 6};
    png_file file = png_make(53, 37, 4, &how);
    sl_codec_source source = {.bytes = {file.data, file.size}, .max_pixels = MAX_PIXELS};
    expect_size(&sl_codec_png, &source, 53, 37);
    source.max_pixels = 53 * 37 - 1;
    expect_none(&sl_codec_png, &source, SLUICE_UNSUPPORTED);
    source.max_pixels = MAX_PIXELS;
    source.bytes.size--;
    expect_none(&sl_codec_png, &source, SLUICE_CORRUPT);
    png_make_free(&file);
}

TEST(sizes_of_pixels)
{
    static const uint8_t pixels[5 * 7 * 3];
    sl_codec_source source = {
        .bytes = {pixels, sizeof(pixels)}, .max_pixels = 35, .claimed = {5, 7}};
    expect_size(&sl_codec_raw, &source, 5, 7);
    source.max_pixels = 34;
    expect_none(&sl_codec_raw, &source, SLUICE_UNSUPPORTED);
    source.max_pixels = 35;
    source.claimed.height = 6;
    expect_none(&sl_codec_raw, &source, SLUICE_CORRUPT);
    source.claimed = (sl_picture){0, 0};
    expect_none(&sl_codec_raw, &source, SLUICE_CORRUPT);
}
