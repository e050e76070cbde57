/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_fast against libjpeg: all samplings, sizes, restart intervals, scalings and rectangles, bit
 * for bit; and damaged images, which it must return to libjpeg if libjpeg would not accept them.
 */
#include "jpeg_fast.h"
#include "jpeg_kernels.h"
#include "jpeg_make.h"
#include "simd.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525U + 1013904223U;
    return (uint32_t)(((uint64_t)state * below) >> 32);
}

typedef struct code_path {
    sl_jpeg_fast *fast;
    sl_scratch scratch;
} code_path;

static void code_path_open(code_path *r)
{
    sluice_error error;
    assert_int_equal(sl_jpeg_fast_open(&r->fast, &error), SLUICE_OK);
    assert_int_equal(sl_scratch_open(&r->scratch, (size_t)1 << 30, 1 << 20, &error), SLUICE_OK);
}

static void code_path_close(code_path *r)
{
    sl_scratch_close(&r->scratch);
    sl_jpeg_fast_close(r->fast);
}

/* Decodes the part `wanted` of the scaled image (width 0: all of it); false if this code path
 * rejects the image. */
static bool code_path_decode(code_path *r, sl_bytes bytes, uint32_t denominator, sl_rect wanted,
                             sl_image *view)
{
    sl_jpeg_frame frame;
    *view = (sl_image){0};
    sl_scratch_reset(&r->scratch);
    if (!sl_jpeg_frame_read(&frame, bytes)) {
        return false;
    }
    if (wanted.width == 0) {
        wanted.width = (frame.width + denominator - 1) / denominator;
        wanted.height = (frame.height + denominator - 1) / denominator;
    }
    const sl_jpeg_job job = {&frame, bytes, denominator, wanted};
    return sl_jpeg_fast_decode(r->fast, &job, &r->scratch, view);
}

static void assert_view(const sl_image *view, const rgb_picture *whole, sl_rect wanted)
{
    assert_int_equal(view->picture_width, whole->width);
    assert_int_equal(view->picture_height, whole->height);
    assert_true(view->origin_x == wanted.x || view->origin_x + 1 == wanted.x);
    assert_int_equal(view->origin_y, wanted.y);
    assert_true(view->origin_x + view->width >= wanted.x + wanted.width);
    assert_true(view->height >= wanted.height);
    const uint8_t *first = view->pixels + (size_t)(wanted.x - view->origin_x) * 3;
    for (uint32_t y = 0; y < wanted.height; y++) {
        const uint8_t *expected =
            whole->pixels + ((size_t)(wanted.y + y) * whole->width + wanted.x) * 3;
        assert_memory_equal(first + y * view->stride_bytes, expected, (size_t)wanted.width * 3);
    }
}

static sl_rect random_rect(uint32_t width, uint32_t height)
{
    sl_rect rect = {.width = 1 + draw(width), .height = 1 + draw(height)};
    rect.x = draw(width - rect.width + 1);
    rect.y = draw(height - rect.height + 1);
    return rect;
}

typedef struct shape {
    jpeg_colour colour;
    int h, v;
} shape;

static const shape shapes[] = {{JPEG_YCBCR, 1, 1}, {JPEG_YCBCR, 2, 1}, {JPEG_YCBCR, 1, 2},
                               {JPEG_YCBCR, 2, 2}, {JPEG_GREY, 1, 1},  {JPEG_GREY, 2, 2}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void check_picture(code_path *r, uint32_t width, uint32_t height,
                          const jpeg_options *options)
{
    jpeg_file file = jpeg_make_pattern(width, height, width * 31 + height, options);
    const sl_bytes bytes = {file.data, file.size};
    for (uint32_t denominator = 1; denominator <= 8; denominator *= 2) {
        rgb_picture whole = jpeg_library_decode(&file, denominator);
        sl_image view;
        const sl_rect all = {0, 0, whole.width, whole.height};
        assert_true(code_path_decode(r, bytes, denominator, (sl_rect){0}, &view));
        assert_view(&view, &whole, all);
        for (int i = 0; i < 6; i++) {
            const sl_rect wanted = random_rect(whole.width, whole.height);
            assert_true(code_path_decode(r, bytes, denominator, wanted, &view));
            assert_view(&view, &whole, wanted);
        }
        free(whole.pixels);
    }
    jpeg_free(&file);
}

/* Each SIMD level in turn. */
static void pictures_equal_libjpeg(void **unused)
{
    (void)unused;
    static const uint32_t sizes[][2] = {{1, 1},   {2, 3},   {3, 2},  {5, 40},   {17, 16}, {16, 17},
                                        {33, 31}, {64, 48}, {97, 9}, {130, 61}, {250, 70}};
    for (sl_simd simd = SL_SIMD_SCALAR; simd <= sl_simd_best(); simd++) {
        setenv("SLUICE_SIMD", sl_simd_name(simd), 1);
        code_path r;
        code_path_open(&r);
        unsetenv("SLUICE_SIMD");
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            for (size_t s = 0; s < SHAPES; s++) {
                static const int intervals[] = {0, 1, 2, 3, 5, 8, 9, 16, 31, 64};
                const jpeg_options options = {.colour = shapes[s].colour,
                                              .h_factor = shapes[s].h,
                                              .v_factor = shapes[s].v,
                                              .quality = i % 2 == 0 ? 60 : 97,
                                              .restart_interval = intervals[draw(10)]};
                check_picture(&r, sizes[i][0], sizes[i][1], &options);
            }
        }
        code_path_close(&r);
    }
}

/* Chroma neighbours across every kind of edge: all rectangles of a small grid of intervals. */
static void every_alignment(void **unused)
{
    (void)unused;
    code_path r;
    code_path_open(&r);
    for (size_t s = 0; s < SHAPES; s++) {
        const jpeg_options options = {.colour = shapes[s].colour,
                                      .h_factor = shapes[s].h,
                                      .v_factor = shapes[s].v,
                                      .restart_interval = 2};
        jpeg_file file = jpeg_make_pattern(70, 52, 5, &options);
        rgb_picture whole = jpeg_library_decode(&file, 1);
        for (uint32_t x = 0; x < 70; x++) {
            for (uint32_t width = 1; width <= 70 - x; width += 1 + draw(5)) {
                const sl_rect wanted = {x, (x * 7 + width) % 40, width, 1 + (x + width) % 12};
                sl_image view;
                assert_true(
                    code_path_decode(&r, (sl_bytes){file.data, file.size}, 1, wanted, &view));
                assert_view(&view, &whole, wanted);
            }
        }
        free(whole.pixels);
        jpeg_free(&file);
    }
    code_path_close(&r);
}

static void others_are_not_taken(void **unused)
{
    (void)unused;
    static const jpeg_options others[] = {
        {.progressive = true},         {.separate_scans = true}, {.colour = JPEG_CMYK},
        {.colour = JPEG_YCCK},         {.colour = JPEG_RGB},     {.h_factor = 4, .v_factor = 1},
        {.h_factor = 1, .v_factor = 4}};
    code_path r;
    code_path_open(&r);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        jpeg_file file = jpeg_make_pattern(40, 40, 1, &others[i]);
        sl_image view;
        assert_false(
            code_path_decode(&r, (sl_bytes){file.data, file.size}, 1, (sl_rect){0}, &view));
        jpeg_free(&file);
    }
    code_path_close(&r);
}

/* Makes a small image with some bits flipped, sometimes truncated; stores the size in `*size`. */
static jpeg_file damaged_picture(uint32_t seed, size_t *size)
{
    const shape *kind = &shapes[seed % SHAPES];
    const jpeg_options options = {.colour = kind->colour,
                                  .h_factor = kind->h,
                                  .v_factor = kind->v,
                                  .restart_interval = (int)draw(6)};
    jpeg_file file = jpeg_make_pattern(48 + draw(20), 40, seed, &options);
    *size = seed % 7 == 0 ? file.size - draw((uint32_t)file.size / 3) : file.size;
    for (uint32_t hits = draw(4); hits > 0; hits--) {
        const uint32_t bytes = (uint32_t)*size;
        file.data[seed % 3 == 0 ? draw(bytes) : bytes * 3 / 4 - draw(400)] ^=
            (uint8_t)(1U << draw(8));
    }
    return file;
}

static void assert_plain_decode_equals(const jpeg_file *file, size_t size, const sl_image *view)
{
    uint32_t width = 0;
    uint32_t height = 0;
    uint32_t channels = 0;
    long warnings = 0;
    uint8_t *pixels = jpeg_plain_decode(file->data, size, &width, &height, &channels, &warnings);
    assert_non_null(pixels);
    assert_int_equal(warnings, 0);
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *row = pixels + (size_t)y * width * channels;
        for (uint32_t x = 0; x < width * 3; x++) {
            assert_int_equal(view->pixels[y * view->stride_bytes + x],
                             row[channels == 3 ? x : x / 3]);
        }
    }
    free(pixels);
}

/* Whatever this code path accepts, libjpeg accepts without a warning and with the same pixels. */
static void damage_is_never_accepted_alone(void **unused)
{
    (void)unused;
    code_path r;
    code_path_open(&r);
    uint32_t accepted = 0;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 1500; i++) {
        size_t size = 0;
        jpeg_file file = damaged_picture(i, &size);
        sl_image view;
        if (code_path_decode(&r, (sl_bytes){file.data, size}, 1, (sl_rect){0}, &view)) {
            accepted++;
            assert_plain_decode_equals(&file, size, &view);
        } else {
            refused++;
        }
        jpeg_free(&file);
    }
    assert_true(accepted > 100 && refused > 100);
    code_path_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_equal_libjpeg), cmocka_unit_test(every_alignment),
        cmocka_unit_test(others_are_not_taken), cmocka_unit_test(damage_is_never_accepted_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
