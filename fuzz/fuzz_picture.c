/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_picture: any bytes decoded as an image, and its samples copied unconverted. Input: one byte
 * with flags and the number of a codec (15: detected from the bytes, and a PNG's checksums are
 * corrected), one byte that places the rectangle, then the stored bytes. */
#include "codecs.h"
#include "fuzz.h"

#include "decoder.h"
#include "jpeg_codec.h"
#include "jpeg_make.h"
#include "png_make.h"
#ifdef SLUICE_TEST_WEBP
#    include "webp_make.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { HEAD_BYTES = 2, FLAG_RAW = 1, FLAG_ZSTD = 2, FLAG_UPRIGHT = 4, FLAG_SMALL = 8 };
enum { CODEC_SHIFT = 4, SEALED = 15 };
enum { RAW_WIDTH = 7, RAW_HEIGHT = 5 };

static sl_decoder *shared_decoder(sluice_exif exif)
{
    /* live as long as the program, like libFuzzer's targets */
    static sl_decoder *decoders[FUZZ_LEVELS][2];
    sl_decoder **decoder = &decoders[fuzz_level()][exif == SLUICE_EXIF_APPLY];
    if (*decoder == NULL) {
        sl_decoder_config config = {
            .max_pixels = (uint64_t)1 << 20, .max_unpacked_bytes = (uint64_t)4 << 20, .exif = exif};
        fuzz_expect(sl_decoder_open(decoder, &config, NULL) == SLUICE_OK, "a decoder opens");
    }
    sl_decoder_avoid(*decoder, fuzz_avoid());
    return *decoder;
}

/* Reads every pixel, so that a sanitizer detects a view larger than its memory. */
static void read_view(const sl_image *view)
{
    volatile uint8_t sum = 0;
    for (uint32_t y = 0; y < view->height; y++) {
        for (uint32_t x = 0; x < view->width * view->channels; x++)
            sum = (uint8_t)(sum + view->pixels[y * view->stride_bytes + x]);
    }
}

static void decode_part(sl_decoder *decoder, sl_picture picture, uint8_t place, uint32_t out)
{
    sl_rect need = {picture.width * (place & 3) / 4, picture.height * (place >> 2 & 3) / 4, 0, 0};
    need.width = 1 + (picture.width - need.x - 1) * (uint32_t)(place >> 4 & 3) / 3;
    need.height = 1 + (picture.height - need.y - 1) * (uint32_t)(place >> 6) / 3;
    sl_image view;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = sl_decoder_decode(decoder, need, out, out, &view, &error);
    if (status == SLUICE_OK)
        read_view(&view);
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "an error has a text");
}

/* Copies some rows unconverted, for codecs that support it. */
static void take_values(sl_decoder *decoder, const sl_decoded_form *form, uint8_t place)
{
    const uint8_t *rows = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (form->dims == 0)
        return;
    const uint64_t first = form->shape[0] * (place & 3U) / 4;
    const uint64_t count = 1 + (form->shape[0] - first - 1) * (place >> 6U) / 3;
    sluice_status status = sl_decoder_values(decoder, first, count, &rows, &error);
    volatile uint8_t sum = 0;
    const uint64_t bytes = count * sl_decoded_step_bytes(form);
    for (uint64_t i = 0; i < bytes && status == SLUICE_OK; i++)
        sum = (uint8_t)(sum + rows[i]);
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "an error has a text");
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES)
        return 0;
    /* a copy of exact size, so that an overread is detected */
    size_t bytes = size - HEAD_BYTES;
    uint8_t *copy = malloc(bytes ? bytes : 1);
    fuzz_expect(copy != NULL, "a megabyte of memory");
    memcpy(copy, data + HEAD_BYTES, bytes);
    const bool sealed = data[0] >> CODEC_SHIFT == SEALED;
    if (sealed)
        png_make_seal(copy, bytes);
    sl_decoder *decoder =
        shared_decoder(data[0] & FLAG_UPRIGHT ? SLUICE_EXIF_APPLY : SLUICE_EXIF_IGNORE);
    sl_value stored = {.bytes = {copy, bytes},
                       .codec = data[0] & FLAG_RAW ? SL_CODEC_RAW
                                : sealed           ? SL_CODEC_BY_BYTES
                                                   : data[0] >> CODEC_SHIFT,
                       .packing = data[0] & FLAG_ZSTD ? &sl_value_packing_zstd : NULL,
                       .width = RAW_WIDTH,
                       .height = RAW_HEIGHT};
    sl_picture picture;
    sl_decoded_form form = {.dims = 0};
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_decoder_open_values(decoder, &stored, &form, NULL) != SLUICE_OK)
        form.dims = 0;
    if (sl_decoder_open_picture(decoder, &stored, &picture, &error) == SLUICE_OK) {
        fuzz_expect(picture.width > 0 && picture.height > 0, "a picture has pixels");
        const bool small = data[0] & FLAG_SMALL;
        if (small)
            take_values(decoder, &form, data[1]);
        decode_part(decoder, picture, data[1], small ? 2 : 0);
        if (!small)
            take_values(decoder, &form, data[1]);
    } else {
        fuzz_expect(error.text[0] != '\0', "an error has a text");
    }
    free(copy);
    return 0;
}

static const jpeg_options kinds[] = {
    {0},
    {.colour = JPEG_GREY, .orientation = 6},
    {.colour = JPEG_RGB, .restart_interval = 1},
    {.colour = JPEG_CMYK},
    {.colour = JPEG_YCCK, .h_factor = 1, .v_factor = 2},
    {.progressive = true},
    {.h_factor = 4, .v_factor = 1, .restart_interval = 2},
    {.separate_scans = true, .orientation = 3},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static size_t raw_seed(bool packed, uint8_t *buffer)
{
    uint8_t pixels[RAW_WIDTH * RAW_HEIGHT * 3];
    pattern_fill(pixels, RAW_WIDTH, RAW_HEIGHT, 3, 1);
    if (!packed) {
        memcpy(buffer, pixels, sizeof(pixels));
        return sizeof(pixels);
    }
    return ZSTD_compress(buffer, FUZZ_INPUT_MAX - HEAD_BYTES, pixels, sizeof(pixels), 3);
}

static size_t take(uint8_t *buffer, const void *data, size_t size)
{
    memcpy(buffer + HEAD_BYTES, data, size);
    return HEAD_BYTES + size;
}

static size_t jpeg_seed(unsigned index, uint8_t *buffer)
{
    /* whole, a scaled-down part of the upright image, and always declared a JPEG */
    bool part = index >= KINDS && index < 2 * KINDS;
    buffer[0] = part ? FLAG_UPRIGHT | FLAG_SMALL : 0;
    if (index >= 2 * KINDS)
        buffer[0] = (uint8_t)(sl_codec_jpeg.number << CODEC_SHIFT);
    buffer[1] = part ? 0xa5 : 0xf0;
    jpeg_file file = jpeg_make_pattern(37, 23, index, &kinds[index % KINDS]);
    const size_t size = take(buffer, file.data, file.size);
    jpeg_free(&file);
    return size;
}

static const png_options png_kinds[] = {
    {0},
    {.colour = 6, .depth = 16, .interlaced = true},
    {.colour = 3, .depth = 4, .colours = 11, .transparent = true, .data_bytes = 50},
    {.is_grey = true, .depth = 1, .interlaced = true, .orientation = 6},
    {.is_grey = true, .depth = 16, .orientation = 3, .orientation_end = true},
    {.colour = 4, .depth = 8},
};
enum { PNG_KINDS = sizeof(png_kinds) / sizeof(*png_kinds) };

/* Sealed and whole, sealed and a part, and unchanged. */
static size_t png_seed(unsigned index, uint8_t *buffer)
{
    const unsigned way = index / PNG_KINDS;
    buffer[0] = (uint8_t)((way < 2 ? SEALED : sl_codec_png.number) << CODEC_SHIFT);
    buffer[0] |= way == 1 ? FLAG_UPRIGHT : 0;
    buffer[1] = way == 1 ? 0xa5 : 0xf0;
    png_file file = png_make(19, 13, index, &png_kinds[index % PNG_KINDS]);
    const size_t size = take(buffer, file.data, file.size);
    png_make_free(&file);
    return size;
}

#ifdef SLUICE_TEST_WEBP
static const webp_options webp_kinds[] = {
    {0},
    {.simple_filter = true, .quality = 10, .orientation = 6},
    {.alpha = true},
    {.lossless = true},
    {.lossless = true, .alpha = true, .orientation = 3},
    {.animated = true},
};
enum { WEBP_KINDS = sizeof(webp_kinds) / sizeof(*webp_kinds) };

static size_t webp_seed(unsigned index, uint8_t *buffer)
{
    const bool part = index >= WEBP_KINDS;
    buffer[0] = (uint8_t)(part ? FLAG_UPRIGHT : sl_codec_webp.number << CODEC_SHIFT);
    buffer[1] = part ? 0xa5 : 0xf0;
    webp_file file = webp_make(37, 23, index, &webp_kinds[index % WEBP_KINDS]);
    const size_t size = take(buffer, file.data, file.size);
    webp_free(&file);
    return size;
}
#else
enum { WEBP_KINDS = 1 };

/* An empty container. */
static size_t webp_seed(unsigned index, uint8_t *buffer)
{
    buffer[0] = (uint8_t)(sl_codec_webp.number << CODEC_SHIFT);
    buffer[1] = (uint8_t)index;
    return take(buffer, "RIFF\4\0\0\0WEBP", 12);
}
#endif

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index < 3 * KINDS)
        return jpeg_seed(index, buffer);
    index -= 3 * KINDS;
    if (index < 2) {
        buffer[0] = index == 1 ? FLAG_RAW | FLAG_ZSTD : FLAG_RAW;
        buffer[1] = 0xf0;
        return HEAD_BYTES + raw_seed(index == 1, buffer + HEAD_BYTES);
    }
    index -= 2;
    if (index < 3 * PNG_KINDS)
        return png_seed(index, buffer);
    index -= 3 * PNG_KINDS;
    return index < 2 * WEBP_KINDS ? webp_seed(index, buffer) : 0;
}
