/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNGs, WebPs and JPEGs of every kind, whole and in parts, against Pillow. Arguments: Python,
 * pillow_oracle.py.
 */
#include "decoder_setup.h"
#include "jpeg_make.h"
#include "memory.h"
#include "pillow.h"
#include "png_make.h"
#include "test.h"
#include "webp_make.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

typedef struct file {
    uint8_t *data; /* freed by the caller */
    size_t size;
} file;

/* Every kind in every size. */
typedef struct pictures {
    file (*make)(uint32_t kind, sl_picture size, uint32_t seed);
    const sl_picture *sizes;
    uint32_t kinds, size_count;
    sluice_exif exif;
    uint32_t parts;                    /* number of parts checked for each */
    int (*orientation)(uint32_t kind); /* with SLUICE_EXIF_APPLY; NULL: some upright, some not */
} pictures;

static const png_options png_kinds[] = {
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
static const sl_picture png_sizes[] = {{1, 1},  {2, 1},  {1, 9},   {5, 3},   {7, 8},
                                       {9, 17}, {33, 2}, {61, 43}, {300, 3}, {1, 300}};
static const sl_picture middle[] = {{61, 43}};

static file make_png(uint32_t kind, sl_picture size, uint32_t seed)
{
    png_options options = png_kinds[kind / 2];
    options.interlaced = kind % 2 == 1;
    const png_file made = png_make(size.width, size.height, seed, &options);
    return (file){made.data, made.size};
}

static int turn(uint32_t kind)
{
    return (int)(kind % 8) + 1;
}

static file make_turned_png(uint32_t kind, sl_picture size, uint32_t seed)
{
    const png_options options = {.orientation = turn(kind),
                                 .orientation_end = kind >= 8,
                                 .data_bytes = 300,
                                 .interlaced = kind % 3 == 0};
    const png_file made = png_make(size.width, size.height, seed, &options);
    return (file){made.data, made.size};
}

/* The five kinds of colour, with an orientation that is not applied. */
static file make_jpeg(uint32_t kind, sl_picture size, uint32_t seed)
{
    const jpeg_options options = {
        .colour = (jpeg_colour)kind, .orientation = 6, .exif_big_endian = kind % 2 == 0};
    const jpeg_file made = jpeg_make_pattern(size.width, size.height, seed, &options);
    return (file){made.data, made.size};
}

static file make_turned_jpeg(uint32_t kind, sl_picture size, uint32_t seed)
{
    const jpeg_options options = {
        .colour = JPEG_YCBCR, .orientation = turn(kind), .exif_big_endian = kind % 2 == 1};
    const jpeg_file made = jpeg_make_pattern(size.width, size.height, seed, &options);
    return (file){made.data, made.size};
}

static pictures png = {make_png, png_sizes, 2 * COUNT(png_kinds), COUNT(png_sizes),
                       .exif = SLUICE_EXIF_IGNORE};
static pictures png_parts = {
    make_png, middle, 2 * COUNT(png_kinds), 1, .exif = SLUICE_EXIF_IGNORE, .parts = 40};
static pictures turned_png = {make_turned_png,           (sl_picture[]){{31, 17}}, 16, 1,
                              .exif = SLUICE_EXIF_APPLY, .orientation = turn};
static pictures jpeg = {make_jpeg, middle, 5, 1, .exif = SLUICE_EXIF_IGNORE};
static pictures turned_jpeg = {make_turned_jpeg,   middle, 8, 1, .exif = SLUICE_EXIF_APPLY,
                               .orientation = turn};

#ifdef SLUICE_TEST_WEBP
static const webp_options webp_kinds[] = {
    {0},
    {.simple_filter = true, .quality = 20},
    {.quality = 5},
    {.quality = 100, .orientation = 6},
    {.alpha = true},
    {.alpha = true, .simple_filter = true, .orientation = 3},
    {.lossless = true},
    {.lossless = true, .alpha = true},
    {.lossless = true, .orientation = 8},
    {.quality = 95},    /* large ones, */
    {.lossless = true}, /* from here on */
};
enum { LARGE_KINDS = 2, WEBP_KINDS = COUNT(webp_kinds) - LARGE_KINDS };
static const sl_picture webp_sizes[] = {{1, 1},   {2, 1},   {1, 9},  {5, 3},   {16, 16}, {17, 15},
                                        {33, 31}, {61, 43}, {32, 2}, {300, 3}, {1, 300}, {96, 130}};

static file make_webp(uint32_t kind, sl_picture size, uint32_t seed)
{
    const webp_file made = webp_make(size.width, size.height, seed, &webp_kinds[kind]);
    return (file){made.data, made.size};
}

static file make_large_webp(uint32_t kind, sl_picture size, uint32_t seed)
{
    return make_webp(WEBP_KINDS + kind, size, seed);
}

static pictures webp = {
    make_webp, webp_sizes, WEBP_KINDS, COUNT(webp_sizes), .exif = SLUICE_EXIF_IGNORE, .parts = 100};
static pictures turned_webp = {make_webp, webp_sizes, WEBP_KINDS, COUNT(webp_sizes),
                               .exif = SLUICE_EXIF_APPLY};
/* Images that are decoded in pieces. */
static pictures large_webp = {
    make_large_webp, (sl_picture[]){{2000, 1100}}, LARGE_KINDS, 1, .exif = SLUICE_EXIF_IGNORE,
    .parts = 2};
#endif

static void pixels_are_pillows(void **state)
{
    const pictures *all = *state;
    const uint32_t count = all->kinds * all->size_count;
    uint8_t **ours = calloc(count, sizeof(*ours));
    assert_non_null(ours);
    decoder_setup *f = decoder_open(0, all->exif, 0);
    pillow oracle;
    pillow_open(&oracle);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t kind = i / all->size_count;
        const sl_picture size = all->sizes[i % all->size_count];
        sl_picture picture;
        const file made = all->make(kind, size, i);
        ours[i] = decoder_whole(f, made.data, made.size, &picture);
        if (all->exif == SLUICE_EXIF_IGNORE || all->orientation != NULL) {
            const bool lies = all->orientation != NULL && all->orientation(kind) > 4;
            assert_int_equal(picture.width, lies ? size.height : size.width);
            assert_int_equal(picture.height, lies ? size.width : size.height);
        }
        pillow_input(&oracle, i, made.data, made.size);
        pillow_ask(&oracle, "decode %u %d", i, all->exif == SLUICE_EXIF_APPLY);
        free(made.data);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < count; i++) {
        const sl_picture size = all->sizes[i % all->size_count];
        const size_t bytes = (size_t)size.width * size.height * 3;
        uint8_t *theirs = malloc(bytes);
        assert_non_null(theirs);
        pillow_answer(&oracle, i, theirs, bytes);
        if (memcmp(ours[i], theirs, bytes) != 0) {
            fail_msg("kind %u of %u x %u pixels is not Pillow's", i / all->size_count, size.width,
                     size.height);
        }
        free(theirs);
        free(ours[i]);
    }
    pillow_close(&oracle);
    decoder_close(f);
    free(ours);
}

/* Decodes each twice: the second time uses the header read for the first. */
static void parts_are_cut_from_the_whole(void **state)
{
    const pictures *all = *state;
    sl_random random = sl_random_for(4, 3, 2, 1);
    decoder_setup *f = decoder_open(0, SLUICE_EXIF_IGNORE, 0);
    for (uint32_t i = 0; i < all->kinds * all->size_count; i++) {
        sl_picture picture;
        const file made = all->make(i / all->size_count, all->sizes[i % all->size_count], i);
        uint8_t *whole = decoder_whole(f, made.data, made.size, &picture);
        for (uint32_t part = 0; part < all->parts; part += TEST_AMOUNT(1, 2)) {
            (void)decoder_picture(f, made.data, made.size);
            for (int again = 0; again < 2; again++) {
                decoder_part(f, decoder_draw(&random, picture), whole);
            }
        }
        free(whole);
        free(made.data);
    }
    decoder_close(f);
}

static void steady_state_allocates_nothing(void **state)
{
    decoder_setup *f = decoder_open(0, SLUICE_EXIF_IGNORE, 0);
    const file made = make_png(14, (sl_picture){200, 150}, 1);
    const uint64_t before = sl_memory_allocations();
    for (int i = 0; i < 20; i++) {
        sl_picture picture;
        free(decoder_whole(f, made.data, made.size, &picture));
    }
    assert_int_equal(sl_memory_allocations(), before);
    free(made.data);
    decoder_close(f);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        {"PNGs are Pillow's", pixels_are_pillows, NULL, NULL, &png},
        {"turned PNGs are Pillow's", pixels_are_pillows, NULL, NULL, &turned_png},
        {"parts of PNGs", parts_are_cut_from_the_whole, NULL, NULL, &png_parts},
        cmocka_unit_test(steady_state_allocates_nothing),
        {"JPEGs are Pillow's", pixels_are_pillows, NULL, NULL, &jpeg},
        {"turned JPEGs are Pillow's", pixels_are_pillows, NULL, NULL, &turned_jpeg},
#ifdef SLUICE_TEST_WEBP
        {"WebPs are Pillow's", pixels_are_pillows, NULL, NULL, &webp},
        {"turned WebPs are Pillow's", pixels_are_pillows, NULL, NULL, &turned_webp},
        {"parts of WebPs", parts_are_cut_from_the_whole, NULL, NULL, &webp},
        {"large WebPs are Pillow's", pixels_are_pillows, NULL, NULL, &large_webp},
        {"parts of large WebPs", parts_are_cut_from_the_whole, NULL, NULL, &large_webp},
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
