/* SPDX-License-Identifier: Apache-2.0 */
/* Colour and orientation against Pillow. Arguments: Python, pillow_oracle.py. */
#include "decoder.h"
#include "jpeg_make.h"
#include "pillow.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { WIDTH = 61, HEIGHT = 43, BYTES = WIDTH * HEIGHT * 3, COLOURS = 5, FILES = COLOURS + 8 };

static void decode(const jpeg_file *file, sluice_exif exif, uint8_t *pixels)
{
    sl_decoder *decoder = NULL;
    sl_decoder_config config = {.max_pixels = 1 << 20, .max_unpacked_bytes = 0, .exif = exif};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    sl_stored_image stored = {.bytes = {file->data, file->size}};
    sl_picture picture;
    sl_image view;
    assert_int_equal(sl_decoder_open_picture(decoder, &stored, &picture, NULL), SLUICE_OK);
    sl_rect all = {0, 0, picture.width, picture.height};
    assert_int_equal(sl_decoder_decode(decoder, all, 0, 0, &view, NULL), SLUICE_OK);
    size_t row = (size_t)picture.width * 3;
    for (uint32_t y = 0; y < picture.height; y++) {
        memcpy(pixels + y * row, view.pixels + y * view.stride_bytes, row);
    }
    sl_decoder_close(decoder);
}

/* The five colour kinds as stored, and the eight orientations turned upright. */
static void pixels_are_pillows(void **state)
{
    (void)state;
    static uint8_t ours[FILES][BYTES];
    static uint8_t theirs[BYTES];
    pillow oracle;
    pillow_open(&oracle);
    for (uint32_t i = 0; i < FILES; i++) {
        bool turn = i >= COLOURS;
        jpeg_options options = {.colour = turn ? JPEG_YCBCR : (jpeg_colour)i,
                                .orientation = turn ? (int)(i - COLOURS) + 1 : 6,
                                .exif_big_endian = i % 2 == 0};
        jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, i, &options);
        decode(&file, turn ? SLUICE_EXIF_APPLY : SLUICE_EXIF_IGNORE, ours[i]);
        pillow_input(&oracle, i, file.data, file.size);
        pillow_ask(&oracle, "decode %u %d", i, turn);
        jpeg_free(&file);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < FILES; i++) {
        pillow_answer(&oracle, i, theirs, BYTES);
        assert_int_equal(largest_difference(ours[i], theirs, BYTES), 0);
    }
    pillow_close(&oracle);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_pillows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
