/* SPDX-License-Identifier: Apache-2.0 */
/* The table of media: its rows do not contradict each other, and the sets that other code uses. */
#include "media.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_extensions(uint32_t traits, const char *expected)
{
    char text[256] = "";
    const char *extension;
    for (uint32_t i = 0; (extension = sl_media_extension(i, traits)) != NULL; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? " " : "", extension);
    }
    assert_string_equal(text, expected);
}

/* Numbers of samples and names of fields and files depend on them. */
TEST(sets_of_extensions_stay)
{
    (void)state;
    expect_extensions(SL_MEDIA_IN_FOLDERS, "jpg jpeg png bmp webp tif tiff ppm pgm");
    expect_extensions(SL_MEDIA_IN_ARCHIVES, "jpg jpeg png bmp webp tif tiff ppm pgm pbm");
    expect_extensions(SL_MEDIA_PICTURE | SL_MEDIA_HAS_CODEC, "jpg jpeg png webp");
    expect_extensions(SL_MEDIA_AUDIO, "wav flac mp3 ogg opus mp4 m4a");
    expect_extensions(SL_MEDIA_VIDEO, "mov mp4 m4a mkv webm avi mpg mpeg");
}

/* Each row is found by its bytes, its extensions and its number, and hides no row below it. */
TEST(rows_are_found)
{
    (void)state;
    bool taken[256] = {false};
    for (const sl_media *kind = sl_media_kinds; kind->name != NULL; kind++) {
        for (uint32_t i = 0; i < SL_MEDIA_SIGNATURES_MAX; i++) {
            const sl_signature *signature = &kind->signatures[i];
            uint8_t bytes[64] = {0};
            memcpy(bytes + signature->at, signature->bytes, signature->size);
            const sl_bytes whole = {bytes, (size_t)signature->at + signature->size};
            const sl_bytes more = {bytes, sizeof(bytes)};
            if (signature->size == 0) {
                continue;
            }
            assert_in_range(signature->size, 2, sizeof(signature->bytes));
            assert_ptr_equal(sl_media_of_bytes(whole), kind);
            assert_ptr_equal(sl_media_of_bytes(more), kind);
            assert_false(sl_media_is_picture(whole));
            assert_int_equal(sl_media_is_picture(more), signature->is_evidence);
            assert_true(!signature->is_evidence || (kind->traits & SL_MEDIA_PICTURE) != 0);
        }
        for (uint32_t i = 0; kind->extensions[i] != NULL; i++) {
            assert_ptr_equal(sl_media_of_extension(kind->extensions[i]), kind);
        }
        if (kind->codec != 0) {
            assert_false(taken[kind->codec]);
            taken[kind->codec] = true;
            assert_ptr_equal(sl_media_of_codec(kind->codec), kind);
        }
    }
}

TEST(what_is_unknown_is_nothing)
{
    (void)state;
    assert_null(sl_media_of_bytes((sl_bytes){NULL, 0}));
    assert_null(sl_media_of_bytes((sl_bytes){(const uint8_t *)"hello, world", 12}));
    assert_null(sl_media_of_extension(""));
    assert_null(sl_media_of_extension("txt"));
    assert_null(sl_media_of_codec(0));
    assert_null(sl_media_of_codec(255));
    assert_string_equal(sl_media_of_extension("JPeG")->name, "JPEG");
    assert_string_equal(sl_media_of_bytes((sl_bytes){(const uint8_t *)"\0\0\0\x1c"
                                                                      "ftypmif1",
                                                     12})
                            ->name,
                        "HEIF");
}
