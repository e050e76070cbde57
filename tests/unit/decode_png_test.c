/* SPDX-License-Identifier: Apache-2.0 */
/* PNGs of every kind against Pillow, and parts of them. Arguments: Python, pillow_oracle.py. */
#include "decoder.h"
#include "memory.h"
#include "philox.h"
#include "pillow.h"
#include "png_make.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MAX_PIXELS = 1 << 20, PARTS = 40 };

static const png_options kinds[] = {
    {.is_grey = true, .depth = 1},
    {.is_grey = true, .depth = 2},
    {.is_grey = true, .depth = 4},
    {.is_grey = true, .depth = 8},
    {.is_grey = true, .depth = 16},
    {.is_grey = true, .depth = 4, .transparent = true},
    {.is_grey = true, .depth = 8, .transparent = true},
    {.colour = 2, .depth = 8},
    {.colour = 2, .depth = 8, .data_bytes = 7},
    {.colour = 2, .depth = 16},
    {.colour = 2, .depth = 8, .transparent = true},
    {.colour = 3, .depth = 1},
    {.colour = 3, .depth = 2},
    {.colour = 3, .depth = 4, .transparent = true},
    {.colour = 3, .depth = 8},
    {.colour = 3, .depth = 8, .colours = 5, .transparent = true},
    {.colour = 3, .depth = 4, .colours = 9},
    {.colour = 3, .depth = 2, .colours = 1},
    {.colour = 4, .depth = 8},
    {.colour = 4, .depth = 16},
    {.colour = 6, .depth = 8},
    {.colour = 6, .depth = 16, .data_bytes = 100},
};
static const sl_picture sizes[] = {{1, 1},  {2, 1},  {1, 9},   {5, 3},   {7, 8},
                                   {9, 17}, {33, 2}, {61, 43}, {300, 3}, {1, 300}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static sl_decoder *open_decoder(sluice_exif exif)
{
    sl_decoder *decoder = NULL;
    const sl_decoder_config config = {
        .max_pixels = MAX_PIXELS, .max_unpacked_bytes = 1 << 20, .exif = exif};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    return decoder;
}

static sl_picture open_file(sl_decoder *decoder, const png_file *file)
{
    sl_picture picture = {0, 0};
    const sl_stored_image stored = {.bytes = {file->data, file->size}};
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_decoder_open_picture(decoder, &stored, &picture, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return picture;
}

/* The whole picture; free() it. */
static uint8_t *decode_all(sl_decoder *decoder, const png_file *file, sl_picture *picture)
{
    sl_image view;
    sluice_error error = SLUICE_ERROR_INIT;
    *picture = open_file(decoder, file);
    const sl_rect all = {0, 0, picture->width, picture->height};
    if (sl_decoder_decode(decoder, all, 0, 0, &view, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    uint8_t *pixels = malloc((size_t)picture->width * picture->height * 3);
    assert_non_null(pixels);
    sl_image_copy(&view, pixels);
    return pixels;
}

static void kinds_are_pillows(bool interlaced)
{
    static uint8_t *ours[KINDS * SIZES];
    sl_decoder *decoder = open_decoder(SLUICE_EXIF_IGNORE);
    pillow oracle;
    pillow_open(&oracle);
    for (uint32_t i = 0; i < KINDS * SIZES; i++) {
        png_options options = kinds[i / SIZES];
        options.interlaced = interlaced;
        const sl_picture size = sizes[i % SIZES];
        sl_picture picture;
        png_file file = png_make(size.width, size.height, i, &options);
        ours[i] = decode_all(decoder, &file, &picture);
        assert_memory_equal(&picture, &size, sizeof(size));
        pillow_input(&oracle, i, file.data, file.size);
        pillow_ask(&oracle, "decode %u 0", i);
        png_make_free(&file);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < KINDS * SIZES; i++) {
        const size_t bytes = (size_t)sizes[i % SIZES].width * sizes[i % SIZES].height * 3;
        uint8_t *theirs = malloc(bytes);
        assert_non_null(theirs);
        pillow_answer(&oracle, i, theirs, bytes);
        if (memcmp(ours[i], theirs, bytes) != 0) {
            fail_msg("kind %u of size %u is not Pillow's", (unsigned)(i / SIZES),
                     (unsigned)(i % SIZES));
        }
        free(theirs);
        free(ours[i]);
    }
    pillow_close(&oracle);
    sl_decoder_close(decoder);
}

static void every_kind_is_pillows(void **state)
{
    (void)state;
    kinds_are_pillows(false);
}

static void every_interlaced_kind_is_pillows(void **state)
{
    (void)state;
    kinds_are_pillows(true);
}

static void orientations_are_pillows(void **state)
{
    (void)state;
    enum { WIDTH = 31, HEIGHT = 17, BYTES = WIDTH * HEIGHT * 3, FILES = 16 };
    static uint8_t theirs[BYTES];
    uint8_t *ours[FILES];
    sl_decoder *decoder = open_decoder(SLUICE_EXIF_APPLY);
    pillow oracle;
    pillow_open(&oracle);
    for (uint32_t i = 0; i < FILES; i++) {
        const png_options options = {.orientation = (int)(i % 8) + 1,
                                     .orientation_end = i >= 8,
                                     .data_bytes = 300,
                                     .interlaced = i % 3 == 0};
        sl_picture picture;
        png_file file = png_make(WIDTH, HEIGHT, i, &options);
        ours[i] = decode_all(decoder, &file, &picture);
        assert_int_equal(picture.width, i % 8 >= 4 ? HEIGHT : WIDTH);
        pillow_input(&oracle, i, file.data, file.size);
        pillow_ask(&oracle, "decode %u 1", i);
        png_make_free(&file);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < FILES; i++) {
        pillow_answer(&oracle, i, theirs, BYTES);
        assert_memory_equal(ours[i], theirs, BYTES);
        free(ours[i]);
    }
    pillow_close(&oracle);
    sl_decoder_close(decoder);
}

static sl_rect draw(sl_random *random, sl_picture picture)
{
    sl_rect r = {sl_random_below(random, picture.width), sl_random_below(random, picture.height), 0,
                 0};
    r.width = 1 + sl_random_below(random, picture.width - r.x);
    r.height = 1 + sl_random_below(random, picture.height - r.y);
    return r;
}

static void assert_part(const sl_image *view, sl_rect need, const uint8_t *all)
{
    assert_int_equal(view->denominator, 1);
    assert_true(view->origin_x <= need.x && need.x + need.width <= view->origin_x + view->width);
    assert_true(view->origin_y <= need.y && need.y + need.height <= view->origin_y + view->height);
    for (uint32_t y = need.y; y < need.y + need.height; y++) {
        const uint8_t *row = view->pixels + (y - view->origin_y) * view->stride_bytes +
                             (size_t)(need.x - view->origin_x) * 3;
        assert_memory_equal(row, all + ((size_t)y * view->picture_width + need.x) * 3,
                            (size_t)need.width * 3);
    }
}

/* Twice each: the second time out of the header that was read for the first. */
static void parts_are_cut_from_the_whole(void **state)
{
    (void)state;
    sl_random random = sl_random_for(4, 3, 2, 1);
    sl_decoder *decoder = open_decoder(SLUICE_EXIF_IGNORE);
    for (uint32_t i = 0; i < KINDS * 2; i++) {
        png_options options = kinds[i / 2];
        options.interlaced = i % 2 == 1;
        sl_picture picture;
        png_file file = png_make(61, 43, i, &options);
        uint8_t *all = decode_all(decoder, &file, &picture);
        for (int part = 0; part < PARTS; part++) {
            (void)open_file(decoder, &file);
            for (int again = 0; again < 2; again++) {
                const sl_rect need = draw(&random, picture);
                sl_image view;
                assert_int_equal(sl_decoder_decode(decoder, need, 0, 0, &view, NULL), SLUICE_OK);
                assert_part(&view, need, all);
            }
        }
        free(all);
        png_make_free(&file);
    }
    sl_decoder_close(decoder);
}

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    sl_decoder *decoder = open_decoder(SLUICE_EXIF_IGNORE);
    png_file file = png_make(200, 150, 1, &kinds[7]);
    const uint64_t before = sl_memory_allocations();
    for (int i = 0; i < 20; i++) {
        sl_picture picture;
        free(decode_all(decoder, &file, &picture));
    }
    assert_int_equal(sl_memory_allocations(), before);
    png_make_free(&file);
    sl_decoder_close(decoder);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_pillows),
        cmocka_unit_test(every_interlaced_kind_is_pillows),
        cmocka_unit_test(orientations_are_pillows),
        cmocka_unit_test(parts_are_cut_from_the_whole),
        cmocka_unit_test(steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
