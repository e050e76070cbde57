/* SPDX-License-Identifier: Apache-2.0 */
/* WebPs of every kind against Pillow, and parts of them. Arguments: Python, pillow_oracle.py. */
#include "decoder.h"
#include "philox.h"
#include "pillow.h"
#include "webp_make.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MAX_PIXELS = 1 << 23, PARTS = 200 };

static const webp_options kinds[] = {
    {0},
    {.simple_filter = true, .quality = 20},
    {.quality = 5},
    {.quality = 100, .orientation = 6},
    {.alpha = true},
    {.alpha = true, .simple_filter = true, .orientation = 3},
    {.lossless = true},
    {.lossless = true, .alpha = true},
    {.lossless = true, .orientation = 8},
};
static const sl_picture sizes[] = {{1, 1},   {2, 1},   {1, 9},  {5, 3},   {16, 16}, {17, 15},
                                   {33, 31}, {61, 43}, {32, 2}, {300, 3}, {1, 300}, {96, 130}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static sl_decoder *open_decoder(sluice_exif exif)
{
    sl_decoder *decoder = NULL;
    const sl_decoder_config config = {
        .max_pixels = MAX_PIXELS, .max_unpacked_bytes = 1 << 20, .exif = exif};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    return decoder;
}

static sl_picture open_file(sl_decoder *decoder, const webp_file *file)
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
static uint8_t *decode_all(sl_decoder *decoder, const webp_file *file, sl_picture *picture)
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

static void kinds_are_pillows(sluice_exif exif)
{
    static uint8_t *ours[KINDS * SIZES];
    sl_decoder *decoder = open_decoder(exif);
    pillow oracle;
    pillow_open(&oracle);
    for (uint32_t i = 0; i < KINDS * SIZES; i++) {
        const sl_picture size = sizes[i % SIZES];
        sl_picture picture;
        webp_file file = webp_make(size.width, size.height, i, &kinds[i / SIZES]);
        ours[i] = decode_all(decoder, &file, &picture);
        pillow_input(&oracle, i, file.data, file.size);
        pillow_ask(&oracle, "decode %u %d", i, exif == SLUICE_EXIF_APPLY);
        webp_free(&file);
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
    kinds_are_pillows(SLUICE_EXIF_IGNORE);
}

static void every_kind_is_pillows_upright(void **state)
{
    (void)state;
    kinds_are_pillows(SLUICE_EXIF_APPLY);
}

static void assert_part(const sl_image *view, sl_rect need, const uint8_t *all)
{
    assert_true(view->origin_x <= need.x && need.x + need.width <= view->origin_x + view->width);
    assert_true(view->origin_y <= need.y && need.y + need.height <= view->origin_y + view->height);
    for (uint32_t y = need.y; y < need.y + need.height; y++) {
        const uint8_t *row = view->pixels + (y - view->origin_y) * view->stride_bytes +
                             (size_t)(need.x - view->origin_x) * 3;
        assert_memory_equal(row, all + ((size_t)y * view->picture_width + need.x) * 3,
                            (size_t)need.width * 3);
    }
}

static sl_rect draw(sl_random *random, sl_picture picture)
{
    sl_rect r = {sl_random_below(random, picture.width), sl_random_below(random, picture.height), 0,
                 0};
    r.width = 1 + sl_random_below(random, picture.width - r.x);
    r.height = 1 + sl_random_below(random, picture.height - r.y);
    return r;
}

static void parts_are_cut_from_the_whole(void **state)
{
    (void)state;
    sl_random random = sl_random_for(4, 3, 2, 1);
    sl_decoder *decoder = open_decoder(SLUICE_EXIF_IGNORE);
    for (uint32_t i = 0; i < KINDS * SIZES; i++) {
        sl_picture picture;
        const sl_picture size = sizes[i % SIZES];
        webp_file file = webp_make(size.width, size.height, i, &kinds[i / SIZES]);
        uint8_t *all = decode_all(decoder, &file, &picture);
        for (int part = 0; part < PARTS; part++) {
            const sl_rect need = draw(&random, picture);
            sl_image view;
            (void)open_file(decoder, &file);
            assert_int_equal(sl_decoder_decode(decoder, need, 0, 0, &view, NULL), SLUICE_OK);
            assert_part(&view, need, all);
        }
        free(all);
        webp_free(&file);
    }
    sl_decoder_close(decoder);
}

/* Large ones are decoded in pieces. */
static void pieces_are_as_good(void **state)
{
    (void)state;
    enum { WIDTH = 2000, HEIGHT = 1100, BYTES = WIDTH * HEIGHT * 3 };
    static const webp_options large[] = {{.quality = 95}, {.lossless = true}};
    sl_random random = sl_random_for(1, 1, 1, 1);
    sl_decoder *decoder = open_decoder(SLUICE_EXIF_IGNORE);
    uint8_t *theirs = malloc(BYTES);
    assert_non_null(theirs);
    for (uint32_t i = 0; i < 2; i++) {
        sl_picture picture;
        sl_image view;
        pillow oracle;
        webp_file file = webp_make(WIDTH, HEIGHT, i, &large[i]);
        uint8_t *all = decode_all(decoder, &file, &picture);
        pillow_open(&oracle);
        pillow_input(&oracle, 0, file.data, file.size);
        pillow_ask(&oracle, "decode 0 0");
        pillow_run(&oracle);
        pillow_answer(&oracle, 0, theirs, BYTES);
        assert_memory_equal(all, theirs, BYTES);
        pillow_close(&oracle);
        for (int part = 0; part < 4; part++) {
            const sl_rect need = draw(&random, picture);
            (void)open_file(decoder, &file);
            assert_int_equal(sl_decoder_decode(decoder, need, 0, 0, &view, NULL), SLUICE_OK);
            assert_part(&view, need, all);
        }
        free(all);
        webp_free(&file);
    }
    free(theirs);
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
        cmocka_unit_test(every_kind_is_pillows_upright),
        cmocka_unit_test(parts_are_cut_from_the_whole),
        cmocka_unit_test(pieces_are_as_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
