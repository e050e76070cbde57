/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_header: any bytes as an image header. A JPEG that our reader accepts must also be accepted
 * by libjpeg, with the same result. A PNG or WebP that both our reader and the library accept must
 * have the same size in both. */
#include "fuzz.h"

#include "jpeg_header.h"
#include "jpeg_make.h"
#include "png_chunks.h"
#include "png_make.h"
#include "webp_chunks.h"

#include <png.h>
#include <string.h>
#ifdef SLUICE_TEST_WEBP
#    include "webp_make.h"
#    include <webp/decode.h>
#endif

static void read_png(uint8_t *data, size_t size)
{
    png_make_seal(data, size);
    const sl_codec_source source = {.bytes = {data, size}, .max_pixels = UINT64_MAX};
    sl_png ours;
    png_image theirs = {.version = PNG_IMAGE_VERSION};
    if (sl_png_read(&ours, &source, NULL) == SLUICE_OK) {
        fuzz_expect(ours.data.data > data && ours.data.data + ours.data.size <= data + size,
                    "picture data lie in the file");
        fuzz_expect(ours.orientation >= 1 && ours.orientation <= 8, "orientation is 1..8");
        if (png_image_begin_read_from_memory(&theirs, data, size) != 0) {
            fuzz_expect(ours.size.width == theirs.width && ours.size.height == theirs.height,
                        "a PNG has the size that libpng reads");
        }
        png_image_free(&theirs);
    }
}

static void read_webp(const uint8_t *data, size_t size)
{
    const sl_codec_source source = {.bytes = {data, size}, .max_pixels = UINT64_MAX};
    sl_webp ours;
    if (sl_webp_read(&ours, &source, NULL) != SLUICE_OK)
        return;
    fuzz_expect(ours.data.data > data && ours.data.data + ours.data.size <= data + size,
                "picture data lie in the file");
#ifdef SLUICE_TEST_WEBP
    WebPBitstreamFeatures theirs;
    if (WebPGetFeatures(data, size, &theirs) == VP8_STATUS_OK) {
        fuzz_expect((int)ours.size.width == theirs.width &&
                        (int)ours.size.height == theirs.height && theirs.has_animation == 0,
                    "a WebP has the size that libwebp reads");
    }
#endif
}

int fuzz_run(const uint8_t *data, size_t size)
{
    /* a copy of exact size, so that an overread is detected */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    fuzz_expect(copy != NULL, "a megabyte of memory");
    memcpy(copy, data, size);
    bool taken;
    const char *difference = jpeg_header_difference((sl_bytes){copy, size}, &taken);
    fuzz_expect(difference == NULL, difference);
    read_png(copy, size);
    read_webp(copy, size);
    free(copy);
    return 0;
}

static const jpeg_options kinds[] = {
    {0},
    {.colour = JPEG_GREY, .restart_interval = 3},
    {.colour = JPEG_GREY, .h_factor = 2, .v_factor = 3},
    {.h_factor = 1, .v_factor = 1, .orientation = 6},
    {.h_factor = 2, .v_factor = 1, .restart_interval = 1},
    {.h_factor = 1, .v_factor = 2, .quality = 1},
    {.h_factor = 4, .v_factor = 1},
    {.colour = JPEG_RGB},
    {.colour = JPEG_CMYK},
    {.progressive = true},
    {.separate_scans = true},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const png_options png_kinds[] = {
    {.orientation = 6},
    {.colour = 3, .depth = 4, .transparent = true, .data_bytes = 20}};
enum { PNG_KINDS = sizeof(png_kinds) / sizeof(*png_kinds) };

static size_t webp_seed(unsigned index, uint8_t *buffer)
{
#ifdef SLUICE_TEST_WEBP
    static const webp_options webp_kinds[] = {
        {0}, {.orientation = 6}, {.lossless = true}, {.lossless = true, .orientation = 2}};
    if (index >= sizeof(webp_kinds) / sizeof(*webp_kinds))
        return 0;
    webp_file file = webp_make(9, 7, index, &webp_kinds[index]);
    const size_t size = file.size;
    memcpy(buffer, file.data, size);
    webp_free(&file);
    return size;
#else
    (void)index;
    (void)buffer;
    return 0;
#endif
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    size_t size;
    if (index >= KINDS + PNG_KINDS)
        return webp_seed(index - KINDS - PNG_KINDS, buffer);
    if (index >= KINDS) {
        png_file file = png_make(9, 7, index, &png_kinds[index - KINDS]);
        size = file.size;
        memcpy(buffer, file.data, size);
        png_make_free(&file);
        return size;
    }
    jpeg_file file = jpeg_make_pattern(9, 7, index, &kinds[index]);
    memcpy(buffer, file.data, file.size);
    size = file.size;
    jpeg_free(&file);
    return size;
}
