/* SPDX-License-Identifier: Apache-2.0 */
#include "webp_make.h"

#include "jpeg_make.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <webp/encode.h>

enum { RIFF = 12, HEAD = 8, CANVAS = 10, FLAG_ALPHA = 0x10, FLAG_EXIF = 8, FLAG_ANIMATION = 2 };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static void store32(uint8_t *to, size_t value)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Encodes with libwebp, which writes its own container. */
static webp_file encode(uint32_t width, uint32_t height, uint32_t seed, const webp_options *options)
{
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter writer;
    const uint32_t channels = options->alpha ? 4 : 3;
    uint8_t *pixels = malloc((size_t)width * height * channels);
    check(pixels != NULL && WebPConfigInit(&config) && WebPPictureInit(&picture));
    pattern_fill(pixels, width, height, channels, seed);
    WebPMemoryWriterInit(&writer);
    config.quality = options->quality > 0 ? (float)options->quality : 75.0F;
    config.lossless = options->lossless;
    config.method =
        width * height > 1U << 20 ? TEST_AMOUNT(4, 0) : 4; /* libwebp is not instrumented */
    config.exact = 1;
    config.filter_type = !options->simple_filter;
    config.filter_strength = 60;
    picture.use_argb = options->lossless;
    picture.width = (int)width;
    picture.height = (int)height;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    const int stride = (int)(width * channels);
    check(options->alpha ? WebPPictureImportRGBA(&picture, pixels, stride)
                         : WebPPictureImportRGB(&picture, pixels, stride));
    check(WebPEncode(&config, &picture));
    WebPPictureFree(&picture);
    free(pixels);
    return (webp_file){writer.mem, writer.size};
}

static size_t put(uint8_t *to, const char *type, const void *content, size_t size)
{
    memcpy(to, type, 4);
    store32(to + 4, size);
    memcpy(to + HEAD, content, size);
    to[HEAD + size] = 0;
    return HEAD + size + (size & 1);
}

/* Puts the same image into an extended container with a full header. */
static webp_file extend(const webp_file *plain, uint32_t width, uint32_t height,
                        const webp_options *options)
{
    uint8_t canvas[CANVAS + 1] = {0};
    uint8_t exif[26] = {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1};
    uint8_t *data = malloc(plain->size + 100);
    check(data != NULL);
    exif[18] = (uint8_t)options->orientation;
    store32(canvas + 4, width - 1);
    store32(canvas + 7, height - 1); /* its upper byte lies in the content and was overwritten */
    canvas[0] =
        (uint8_t)((options->alpha ? FLAG_ALPHA : 0) | (options->orientation > 0 ? FLAG_EXIF : 0) |
                  (options->animated ? FLAG_ANIMATION : 0));
    /* libwebp writes such a header itself if there is alpha */
    const bool has_header = memcmp(plain->data + RIFF, "VP8X", 4) == 0;
    const size_t from = RIFF + (has_header ? HEAD + CANVAS : 0);
    memcpy(data, plain->data, RIFF);
    size_t size = RIFF + put(data + RIFF, "VP8X", canvas, CANVAS);
    memcpy(data + size, plain->data + from, plain->size - from);
    size += plain->size - from;
    if (options->orientation > 0) {
        size += put(data + size, "EXIF", exif, sizeof(exif));
    }
    store32(data + 4, size - HEAD);
    return (webp_file){data, size};
}

webp_file webp_make(uint32_t width, uint32_t height, uint32_t seed, const webp_options *options)
{
    webp_file plain = encode(width, height, seed, options);
    if (options->orientation == 0 && !options->animated) {
        webp_file copy = {malloc(plain.size), plain.size};
        check(copy.data != NULL);
        memcpy(copy.data, plain.data, plain.size);
        WebPFree(plain.data);
        return copy;
    }
    const webp_file extended = extend(&plain, width, height, options);
    WebPFree(plain.data);
    return extended;
}

void webp_free(webp_file *file)
{
    free(file->data);
    *file = (webp_file){NULL, 0};
}
