/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of images. On every code path, a rectangle must equal that part of libjpeg's plain decode
 * of the whole image at the same scale, bit for bit; and data that a part does not need are not
 * read.
 */
#include "decoder.h"
#include "jpeg_make.h"
#include "jpeg_scanlines.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { MCUS = 12, RANDOM_RECTS = 12, DENOMINATORS = 4, PATHS = 3 };

/* The best code path for an image, and each one that remains when better ones are disabled. */
static const uint32_t avoided[PATHS] = {0, SL_PATH_KERNELS, SL_PATH_KERNELS | SL_PATH_INTERVALS};

typedef struct whole {
    jpeg_file file;
    uint32_t width, height;
    uint8_t *rgb[DENOMINATORS]; /* at 1/1, 1/2, 1/4, 1/8 */
} whole;

static uint32_t divide_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit;
}

static uint8_t *to_rgb(uint8_t *pixels, size_t count, uint32_t channels)
{
    if (channels == 3) {
        return pixels;
    }
    uint8_t *rgb = malloc(count * 3);
    assert_non_null(rgb);
    for (size_t i = 0; i < count && channels == 1; i++) {
        memset(rgb + i * 3, pixels[i], 3);
    }
    if (channels == 4) {
        sl_rgb_from_inverted_cmyk(pixels, rgb, count);
    }
    free(pixels);
    return rgb;
}

static whole whole_of(jpeg_file file)
{
    whole made = {.file = file};
    for (uint32_t i = 0; i < DENOMINATORS; i++) {
        uint32_t width;
        uint32_t height;
        uint32_t channels;
        uint8_t *pixels =
            jpeg_scaled_decode(file.data, file.size, 1U << i, &width, &height, &channels, NULL);
        assert_non_null(pixels);
        made.rgb[i] = to_rgb(pixels, (size_t)width * height, channels);
        made.width = i == 0 ? width : made.width;
        made.height = i == 0 ? height : made.height;
    }
    return made;
}

static void whole_free(whole *all)
{
    for (int i = 0; i < DENOMINATORS; i++) {
        free(all->rgb[i]);
    }
    jpeg_free(&all->file);
}

static int setup(void **state)
{
    sl_decoder *decoder = NULL;
    sl_decoder_config config = {
        .max_pixels = 1 << 24, .max_unpacked_bytes = 1 << 24, .exif = SLUICE_EXIF_IGNORE};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    *state = decoder;
    return 0;
}

static int teardown(void **state)
{
    sl_decoder_close(*state);
    return 0;
}

static void expect_equal(const sl_image *view, const whole *all, sl_rect need)
{
    const uint32_t d = view->denominator;
    if (d != 1 && d != 2 && d != 4 && d != 8) {
        fail_msg("scaled by 1/%u", d);
        return;
    }
    const uint8_t *rgb = all->rgb[d == 1 ? 0 : d == 2 ? 1 : d == 4 ? 2 : 3];
    const uint32_t left = need.x / d;
    const uint32_t right = divide_up(need.x + need.width, d);
    const uint32_t top = need.y / d;
    const uint32_t bottom = divide_up(need.y + need.height, d);
    assert_int_equal(view->picture_width, divide_up(all->width, d));
    assert_int_equal(view->picture_height, divide_up(all->height, d));
    assert_true(view->origin_x <= left && view->origin_x + view->width >= right);
    assert_true(view->origin_y <= top && view->origin_y + view->height >= bottom);
    assert_true(view->origin_x + view->width <= view->picture_width);
    assert_true(view->origin_y + view->height <= view->picture_height);
    for (uint32_t y = top; y < bottom; y++) {
        const uint8_t *ours = view->pixels + (y - view->origin_y) * view->stride_bytes +
                              (size_t)(left - view->origin_x) * 3;
        const uint8_t *theirs = rgb + ((size_t)y * view->picture_width + left) * 3;
        if (memcmp(ours, theirs, (size_t)(right - left) * 3) != 0) {
            fail_msg("row %u of the part %u,%u %ux%u of %ux%u at 1/%u differs", y, need.x, need.y,
                     need.width, need.height, all->width, all->height, d);
        }
    }
}

static void decode(sl_decoder *decoder, sl_bytes bytes, sl_rect need, uint32_t denominator,
                   sl_image *view)
{
    const sl_value stored = {.bytes = bytes};
    sl_picture picture;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = sl_decoder_open_picture(decoder, &stored, &picture, &error);
    if (status == SLUICE_OK) {
        /* 0 if the part is too small for it: then it is not scaled */
        status = sl_decoder_decode(decoder, need, need.width / denominator,
                                   need.height / denominator, view, &error);
    }
    if (status != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
}

static uint32_t check_part(sl_decoder *decoder, const whole *all, sl_rect need,
                           uint32_t denominator)
{
    uint32_t scaled = 0;
    for (int path = 0; path < PATHS; path++) {
        sl_image view = {0};
        sl_decoder_avoid(decoder, avoided[path]);
        decode(decoder, (sl_bytes){all->file.data, all->file.size}, need, denominator, &view);
        expect_equal(&view, all, need);
        assert_true(path == 0 || view.denominator == scaled);
        scaled = view.denominator;
    }
    return scaled;
}

/* Returns part number `i`; the parts have every distance from the inner grids and from the
 * edges. */
static sl_rect some_rect(const whole *all, uint32_t i, uint32_t denominator, sl_random *random)
{
    sl_rect rect = {.width = 1 + i % 3 * denominator, .height = 1 + i % 5 * denominator};
    if (i >= all->width + 4) {
        rect.width = 1 + sl_random_below(random, all->width);
        rect.height = 1 + sl_random_below(random, all->height);
    }
    rect.width = rect.width > all->width ? all->width : rect.width;
    rect.height = rect.height > all->height ? all->height : rect.height;
    const uint32_t across = all->width - rect.width;
    const uint32_t down = all->height - rect.height;
    if (i < all->width) {
        rect.x = i < across ? i : across;
        rect.y = i * 5 % (down + 1);
    } else if (i < all->width + 4) { /* the corners */
        rect.x = i & 1 ? across : 0;
        rect.y = i & 2 ? down : 0;
    } else {
        rect.x = sl_random_below(random, across + 1);
        rect.y = sl_random_below(random, down + 1);
    }
    return rect;
}

static void check_parts(sl_decoder *decoder, jpeg_file file, uint32_t stride)
{
    whole all = whole_of(file);
    sl_random random = sl_random_for(5, file.size, 0, 0);
    uint32_t scaled = 0;
    for (uint32_t d = 1; d <= 8; d *= 2) {
        const uint32_t count = all.width + 4 + RANDOM_RECTS;
        for (uint32_t i = sl_random_below(&random, stride); i < count;
             i += i < all.width ? stride : 1) {
            const sl_rect need = some_rect(&all, i, d, &random);
            scaled += check_part(decoder, &all, need, d) > 1;
        }
        scaled += check_part(decoder, &all, (sl_rect){0, 0, all.width, all.height}, d) > 1;
    }
    assert_true(scaled > 0 || all.width < 2 || all.height < 2);
    whole_free(&all);
}

/* Restart intervals of part of a row, of rows, and of lengths that fit no grid. */
static void check_intervals(sl_decoder *decoder, jpeg_options options, uint32_t mcu_width,
                            uint32_t mcu_height)
{
    static const int intervals[] = {0, 1, 3, 5, 6, MCUS, 2 * MCUS, 3 * MCUS + 1};
    for (size_t i = 0; i < sizeof(intervals) / sizeof(*intervals); i++) {
        options.restart_interval = intervals[i];
        const uint32_t width = MCUS * mcu_width - (uint32_t)i * 3 % mcu_width;
        const uint32_t height = 7 * mcu_height - (uint32_t)i * 5 % mcu_height;
        check_parts(decoder, jpeg_make_pattern(width, height, (uint32_t)i, &options), 11);
    }
}

TEST_WITH(every_sampling_and_interval, setup, teardown)
{
    for (uint32_t h = 1; h <= 4; h++) {
        for (uint32_t v = 1; v <= 4; v++) {
            if (h * v + 2 > 10) { /* more blocks than an MCU may have */
                continue;
            }
            const jpeg_options options = {.h_factor = (int)h, .v_factor = (int)v};
            check_intervals(*state, options, 8 * h, 8 * v);
        }
    }
}

TEST_WITH(every_colour_and_interval, setup, teardown)
{
    check_intervals(*state, (jpeg_options){.colour = JPEG_GREY}, 8, 8);
    check_intervals(*state, (jpeg_options){.colour = JPEG_GREY, .h_factor = 2, .v_factor = 2}, 8,
                    8);
    check_intervals(*state, (jpeg_options){.colour = JPEG_GREY, .h_factor = 1, .v_factor = 3}, 8,
                    8);
    check_intervals(*state, (jpeg_options){.colour = JPEG_RGB}, 8, 8);
    check_intervals(*state, (jpeg_options){.colour = JPEG_RGB, .h_factor = 2, .v_factor = 1}, 16,
                    8);
    check_intervals(*state, (jpeg_options){.colour = JPEG_CMYK}, 8, 8);
    check_intervals(*state, (jpeg_options){.colour = JPEG_YCCK}, 16, 16);
    check_intervals(*state, (jpeg_options){.colour = JPEG_YCCK, .h_factor = 1, .v_factor = 2}, 8,
                    16);
}

/* Every position of a small part relative to the grid. */
TEST_WITH(every_alignment, setup, teardown)
{
    static const int factors[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}};
    for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
        jpeg_options options = {.h_factor = factors[i][0], .v_factor = factors[i][1]};
        for (int tiles = 0; tiles < 2; tiles++) {
            const uint32_t mcu = 8 * (uint32_t)factors[i][0];
            options.restart_interval = tiles;
            check_parts(*state, jpeg_make_pattern(5 * mcu + 3, 61, 3, &options), 1);
        }
    }
}

TEST_WITH(small_pictures, setup, teardown)
{
    for (uint32_t size = 1; size <= 40; size++) {
        for (int h = 1; h <= 2; h++) {
            jpeg_options options = {
                .h_factor = h, .v_factor = 1 + (int)(size & 1), .restart_interval = 1};
            check_parts(*state, jpeg_make_pattern(size, 41 - size, size, &options), 3);
            options.restart_interval = 0;
            check_parts(*state, jpeg_make_pattern(41 - size, size, size, &options), 3);
        }
    }
}

TEST_WITH(several_scans_and_arithmetic, setup, teardown)
{
    for (int kind = 0; kind < 4; kind++) {
        const jpeg_options options = {.progressive = kind % 2 == 0,
                                      .separate_scans = kind == 1,
                                      .arithmetic = kind >= 2,
                                      .restart_interval = 3};
        if (!options.arithmetic || jpeg_can_arithmetic()) {
            check_parts(*state, jpeg_make_pattern(101, 75, 3, &options), 7);
        }
    }
}

/* Returns where the entropy-coded data begin. */
static size_t find_data(const jpeg_file *file)
{
    size_t at = 2;
    while (file->data[at + 1] != 0xDA) {
        at += 2 + ((size_t)file->data[at + 2] << 8 | file->data[at + 3]);
    }
    return at + 2 + ((size_t)file->data[at + 2] << 8 | file->data[at + 3]);
}

/* Damages all intervals outside a rectangle of tiles. */
static void spoil_outside(const jpeg_file *file, uint32_t tiles_across, sl_rect tiles)
{
    uint32_t interval = 0;
    for (size_t at = find_data(file); at + 2 < file->size; at++) {
        const uint32_t x = interval % tiles_across;
        const uint32_t y = interval / tiles_across;
        const bool inside =
            x >= tiles.x && x < tiles.x + tiles.width && y >= tiles.y && y < tiles.y + tiles.height;
        if (file->data[at] == 0xFF && file->data[at + 1] != 0) {
            interval++;
            at++;
        } else if (!inside && file->data[at] != 0xFF && file->data[at] != 0) {
            file->data[at] = 0xF5;
        }
    }
}

static void expect_corrupt(sl_decoder *decoder, const whole *all, sl_rect need)
{
    const sl_value stored = {.bytes = {all->file.data, all->file.size}};
    sl_picture picture;
    sl_image view = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_decoder_open_picture(decoder, &stored, &picture, &error), SLUICE_OK);
    assert_int_equal(sl_decoder_decode(decoder, need, 0, 0, &view, &error), SLUICE_CORRUPT);
    assert_in_range(error.offset, 1, all->file.size);
    assert_string_not_equal(error.text, "");
}

/*
 * A rectangle inside tiles (2..3, 1..2), chroma neighbours included, is decoded although all other
 * tiles are damaged; one pixel beyond it fails.
 */
static void check_spoilt(sl_decoder *decoder, jpeg_options options, uint32_t tile_width,
                         uint32_t tile_height)
{
    sl_image view = {0};
    const uint32_t across = MCUS * 8 * (uint32_t)options.h_factor / tile_width;
    const sl_rect tiles = across > 1 ? (sl_rect){2, 1, 2, 2} : (sl_rect){0, 1, 1, 2};
    whole all = whole_of(jpeg_make_pattern(across * tile_width, 4 * tile_height, 4, &options));
    sl_rect need = {tiles.x * tile_width, tile_height, tiles.width * tile_width, 2 * tile_height};
    if (across > 1 && options.h_factor == 2) {
        need.x += 1;
        need.width -= 2;
    }
    if (options.v_factor == 2) {
        need.y += 1;
        need.height -= 2;
    }
    spoil_outside(&all.file, across, tiles);
    const sl_bytes bytes = {all.file.data, all.file.size};
    const sl_rect inner = {need.x + 4, need.y + 4, need.width - 8, need.height - 8};
    const sl_rect wider = {need.x, need.y - 1, need.width, need.height + 1};
    for (int path = 0; path < 2; path++) {
        sl_decoder_avoid(decoder, avoided[path]);
        decode(decoder, bytes, need, 1, &view);
        expect_equal(&view, &all, need);
        decode(decoder, bytes, inner, 2, &view);
        expect_equal(&view, &all, inner);
        expect_corrupt(decoder, &all, wider);
    }
    whole_free(&all);
}

TEST_WITH(what_is_outside_is_not_read, setup, teardown)
{
    const jpeg_options tiles = {.h_factor = 2, .v_factor = 2, .restart_interval = 2};
    check_spoilt(*state, tiles, 32, 16);
    const jpeg_options flat = {.h_factor = 2, .v_factor = 1, .restart_interval = 3};
    check_spoilt(*state, flat, 48, 8);
    const jpeg_options full = {.h_factor = 1, .v_factor = 1, .restart_interval = 1};
    check_spoilt(*state, full, 8, 8);
    const jpeg_options grey = {
        .colour = JPEG_GREY, .h_factor = 1, .v_factor = 1, .restart_interval = 2};
    check_spoilt(*state, grey, 16, 8);
    const jpeg_options rows = {.h_factor = 2, .v_factor = 2, .restart_interval = 3 * MCUS};
    check_spoilt(*state, rows, MCUS * 16, 48);
}

/* Rows of MCUs as intervals, and an image that ends below the needed part. */
TEST_WITH(what_is_below_may_be_missing, setup, teardown)
{
    const int intervals[] = {0, 2, MCUS};
    for (size_t i = 0; i < sizeof(intervals) / sizeof(*intervals); i++) {
        const jpeg_options options = {.restart_interval = intervals[i]};
        whole all = whole_of(jpeg_make_pattern(MCUS * 16, 96, 4, &options));
        all.file.size = all.file.size * 2 / 3;
        check_part(*state, &all, (sl_rect){50, 3, 60, 28}, 1);
        whole_free(&all);
    }
}

/* Maps a stored pixel (across, down) of a scaled image of w x h to its visible position, and
 * back. */
static void turn_back(int orientation, uint32_t w, uint32_t h, uint32_t *across, uint32_t *down)
{
    if (orientation >= 5) {
        const uint32_t swap = *across;
        *across = *down;
        *down = swap;
    }
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) {
        *across = w - 1 - *across;
    }
    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {
        *down = h - 1 - *down;
    }
}

static void check_turned(const sl_image *view, const whole *stored, int orientation, uint32_t d)
{
    const uint8_t *rgb = stored->rgb[d == 4 ? 2 : d == 2 ? 1 : 0];
    const uint32_t w = divide_up(stored->width, d);
    const uint32_t h = divide_up(stored->height, d);
    assert_int_equal(view->picture_width, orientation >= 5 ? h : w);
    assert_int_equal(view->picture_height, orientation >= 5 ? w : h);
    for (uint32_t y = 0; y < view->height; y++) {
        for (uint32_t x = 0; x < view->width; x++) {
            uint32_t across = x + view->origin_x;
            uint32_t down = y + view->origin_y;
            turn_back(orientation, w, h, &across, &down);
            assert_memory_equal(view->pixels + y * view->stride_bytes + (size_t)x * 3,
                                rgb + ((size_t)down * w + across) * 3, 3);
        }
    }
}

/*
 * EXIF orientation, then scaling, against the scaled stored image, rotated. A mirrored side that is
 * not a multiple of the denominator (97 x 66) would misplace the pixels of the scaled image.
 */
TEST(turned_and_scaled)
{
    static const uint32_t odd_denominators[8] = {4, 1, 1, 2, 4, 2, 1, 1};
    sl_decoder *decoder = NULL;
    sl_decoder_config config = {
        .max_pixels = 1 << 24, .max_unpacked_bytes = 1 << 24, .exif = SLUICE_EXIF_APPLY};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    for (int orientation = 1; orientation <= 8; orientation++) {
        for (uint32_t odd = 0; odd < 2; odd++) {
            const jpeg_options options = {.orientation = orientation, .restart_interval = 1};
            whole stored = whole_of(jpeg_make_pattern(96 + odd, 64 + odd * 2, 4, &options));
            const bool turns = orientation >= 5;
            sl_image view = {0};
            const sl_rect need = turns ? (sl_rect){9, 21, 33, 50} : (sl_rect){21, 9, 50, 33};
            decode(decoder, (sl_bytes){stored.file.data, stored.file.size}, need, 4, &view);
            const uint32_t d = odd == 0 ? 4 : odd_denominators[orientation - 1];
            assert_int_equal(view.denominator, d);
            check_turned(&view, &stored, orientation, d);
            assert_true(view.origin_x * d <= need.x && view.origin_y * d <= need.y);
            assert_true((view.origin_x + view.width) * d >= need.x + need.width);
            assert_true((view.origin_y + view.height) * d >= need.y + need.height);
            whole_free(&stored);
        }
    }
    sl_decoder_close(decoder);
}
