/* SPDX-License-Identifier: Apache-2.0 */
#include "decoder_setup.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

decoder_setup *decoder_open(uint8_t codec, sluice_exif exif, uint64_t scratch_bytes)
{
    decoder_setup *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    const sl_decoder_config config = {.max_pixels = 100000000,
                                      .max_unpacked_bytes = 1 << 20,
                                      .exif = exif,
                                      .scratch_bytes = scratch_bytes,
                                      .stop = &f->stop};
    assert_int_equal(sl_decoder_open(&f->decoder, &config, NULL), SLUICE_OK);
    f->codec = codec;
    return f;
}

void decoder_close(decoder_setup *f)
{
    sl_decoder_close(f->decoder);
    free(f);
}

sl_picture decoder_picture(const decoder_setup *f, const uint8_t *data, size_t size)
{
    sl_picture picture = {0, 0};
    const sl_value stored = {.bytes = {data, size}, .codec = f->codec};
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_decoder_open_picture(f->decoder, &stored, &picture, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return picture;
}

uint8_t *decoder_whole(const decoder_setup *f, const uint8_t *data, size_t size,
                       sl_picture *picture)
{
    sl_image view;
    sluice_error error = SLUICE_ERROR_INIT;
    *picture = decoder_picture(f, data, size);
    const sl_rect all = {0, 0, picture->width, picture->height};
    if (sl_decoder_decode(f->decoder, all, 0, 0, &view, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    uint8_t *pixels = malloc((size_t)picture->width * picture->height * 3);
    assert_non_null(pixels);
    sl_image_copy(&view, pixels);
    return pixels;
}

sl_rect decoder_draw(sl_random *random, sl_picture picture)
{
    sl_rect r = {sl_random_below(random, picture.width), sl_random_below(random, picture.height), 0,
                 0};
    r.width = 1 + sl_random_below(random, picture.width - r.x);
    r.height = 1 + sl_random_below(random, picture.height - r.y);
    return r;
}

void decoder_part(const decoder_setup *f, sl_rect need, const uint8_t *whole)
{
    sl_image view;
    assert_int_equal(sl_decoder_decode(f->decoder, need, 0, 0, &view, NULL), SLUICE_OK);
    assert_int_equal(view.denominator, 1);
    assert_true(view.origin_x <= need.x && need.x + need.width <= view.origin_x + view.width);
    assert_true(view.origin_y <= need.y && need.y + need.height <= view.origin_y + view.height);
    for (uint32_t y = need.y; y < need.y + need.height; y++) {
        const uint8_t *row = view.pixels + (y - view.origin_y) * view.stride_bytes +
                             (size_t)(need.x - view.origin_x) * 3;
        assert_memory_equal(row, whole + ((size_t)y * view.picture_width + need.x) * 3,
                            (size_t)need.width * 3);
    }
}

sluice_status decoder_try(const decoder_setup *f, const uint8_t *data, size_t size, uint32_t rows,
                          sluice_error *error)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    const sl_value stored = {.bytes = {copy, size}, .codec = f->codec};
    sl_picture picture;
    sl_image view;
    sluice_status status = sl_decoder_open_picture(f->decoder, &stored, &picture, error);
    if (status == SLUICE_OK) {
        const sl_rect need = {0, 0, picture.width, rows > 0 ? rows : picture.height};
        status = sl_decoder_decode(f->decoder, need, 0, 0, &view, error);
    }
    free(copy);
    return status;
}

void decoder_expect(const decoder_setup *f, const uint8_t *data, size_t size,
                    sluice_status expected, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = decoder_try(f, data, size, 0, &error);
    if (status != expected || strstr(error.text, words) == NULL) {
        fail_msg("status %d, \"%s\" where \"%s\" was expected", status, error.text, words);
    }
    assert_true(status != SLUICE_CORRUPT || (error.offset >= 0 && error.offset <= (int64_t)size));
}
