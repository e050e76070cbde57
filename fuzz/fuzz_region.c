/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_region: parts of any JPEG, scaled or not. If libjpeg decodes the whole without a warning,
 * the part must equal its pixels there (except values out of range, jpeg_range.h). Input: one byte
 * for the scale, four that place the rectangle, then the JPEG. */
#include "fuzz.h"

#include "decoder.h"
#include "jpeg_make.h"
#include "jpeg_range.h"
#include "jpeg_scanlines.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 5 };

static sl_decoder *shared_decoder(void)
{
    /* live as long as the program, like libFuzzer's targets */
    static sl_decoder *decoders[FUZZ_LEVELS];
    sl_decoder **decoder = &decoders[fuzz_level()];
    if (*decoder == NULL) {
        sl_decoder_config config = {.max_pixels = (uint64_t)1 << 18, .max_unpacked_bytes = 1};
        fuzz_expect(sl_decoder_open(decoder, &config, NULL) == SLUICE_OK, "a decoder opens");
    }
    sl_decoder_avoid(*decoder, fuzz_avoid());
    return *decoder;
}

static void expect_row(const uint8_t *ours, const uint8_t *whole, uint32_t channels, uint32_t count)
{
    for (uint32_t x = 0; x < count; x++) {
        const uint8_t *pixel = whole + (size_t)x * channels;
        uint8_t rgb[3];
        if (channels == 4) {
            sl_rgb_from_inverted_cmyk(pixel, rgb, 1);
        } else {
            for (uint32_t c = 0; c < 3; c++)
                rgb[c] = pixel[channels == 3 ? c : 0];
        }
        fuzz_expect(memcmp(ours + (size_t)x * 3, rgb, 3) == 0, "a part equals the whole");
    }
}

/* Returns the rectangle in pixels of the view's scale. */
static sl_rect scaled(sl_rect rect, uint32_t d)
{
    const uint32_t right = (rect.x + rect.width + d - 1) / d;
    const uint32_t bottom = (rect.y + rect.height + d - 1) / d;
    return (sl_rect){rect.x / d, rect.y / d, right - rect.x / d, bottom - rect.y / d};
}

/* Compares only the rectangle: the view's margin around it need not be right. */
static void compare(const uint8_t *whole, uint32_t width, uint32_t channels, const sl_image *view,
                    sl_rect need)
{
    const sl_rect part = scaled(need, view->denominator);
    fuzz_expect(part.x >= view->origin_x && part.y >= view->origin_y &&
                    part.x + part.width <= view->origin_x + view->width &&
                    part.y + part.height <= view->origin_y + view->height,
                "the view covers the needed part");
    for (uint32_t y = part.y; y < part.y + part.height; y++) {
        const uint8_t *ours = view->pixels + (y - view->origin_y) * view->stride_bytes +
                              (size_t)(part.x - view->origin_x) * 3;
        expect_row(ours, whole + ((size_t)y * width + part.x) * channels, channels, part.width);
    }
}

static void check(sl_bytes bytes, sluice_status status, const sl_image *view, sl_rect need)
{
    uint32_t width = 0;
    uint32_t height = 0;
    uint32_t channels = 0;
    long warnings = 0;
    const uint32_t denominator = status == SLUICE_OK ? view->denominator : 1;
    uint8_t *whole = jpeg_scaled_decode(bytes.data, bytes.size, denominator, &width, &height,
                                        &channels, &warnings);
    if (whole != NULL && warnings == 0) {
        fuzz_expect(status != SLUICE_CORRUPT, "an intact image is not refused");
        if (status == SLUICE_OK) {
            fuzz_expect(view->picture_width == width && view->picture_height == height,
                        "the view knows the picture's size");
            if (jpeg_is_portable(bytes.data, bytes.size))
                compare(whole, width, channels, view, need);
        }
    }
    free(whole);
}

static void place(uint8_t start, uint8_t extent, uint32_t side, uint32_t *first, uint32_t *size)
{
    *first = side * start / 256;
    *size = 1 + (side - *first - 1) * extent / 255;
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES)
        return 0;
    /* a copy of exact size, so that an overread is detected */
    const size_t bytes = size - HEAD_BYTES;
    uint8_t *copy = malloc(bytes ? bytes : 1);
    fuzz_expect(copy != NULL, "a megabyte of memory");
    memcpy(copy, data + HEAD_BYTES, bytes);
    const sl_value stored = {.bytes = {copy, bytes}};
    sl_decoder *decoder = shared_decoder();
    sl_picture picture;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_decoder_open_picture(decoder, &stored, &picture, &error) == SLUICE_OK) {
        const uint32_t d = 1U << data[0] % 4;
        sl_rect need;
        sl_image view;
        place(data[1], data[2], picture.width, &need.x, &need.width);
        place(data[3], data[4], picture.height, &need.y, &need.height);
        const sluice_status status =
            sl_decoder_decode(decoder, need, need.width / d, need.height / d, &view, &error);
        fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "an error has a text");
        if (status == SLUICE_OK || status == SLUICE_CORRUPT)
            check(stored.bytes, status, &view, need);
    }
    free(copy);
    return 0;
}

static const jpeg_options kinds[] = {
    {.restart_interval = 1},
    {.restart_interval = 7},
    {.restart_interval = 14},
    {.restart_interval = 3},
    {.h_factor = 2, .v_factor = 1, .restart_interval = 1},
    {.h_factor = 1, .v_factor = 1, .restart_interval = 2},
    {.colour = JPEG_GREY, .restart_interval = 2},
    {.colour = JPEG_YCCK, .restart_interval = 1},
    {.colour = JPEG_RGB},
    {.h_factor = 4, .v_factor = 1, .restart_interval = 2},
    {.progressive = true, .restart_interval = 2},
    {0},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= KINDS * 3)
        return 0;
    const uint8_t head[HEAD_BYTES] = {(uint8_t)(index % 4 + index / KINDS), 80, 100, 90, 90};
    memcpy(buffer, head, HEAD_BYTES);
    jpeg_file file = jpeg_make_pattern(109, 61, index, &kinds[index % KINDS]);
    memcpy(buffer + HEAD_BYTES, file.data, file.size);
    const size_t size = file.size;
    jpeg_free(&file);
    return HEAD_BYTES + size;
}
