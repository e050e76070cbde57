/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stored form of JPEGs: small ones keep or get the standard Huffman tables, large ones get
 * optimised tables and tiles; the pixels do not change, and the choice depends only on the image.
 */
#include "decoder.h"
#include "jpeg_form.h"
#include "jpeg_frame.h"
#include "jpeg_header.h"
#include "jpeg_make.h"
#include "jpeg_retile.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PIXELS = 13000000, MAX_BYTES = 1 << 26 };

typedef struct result {
    sluice_status status;
    sl_jpeg_outcome outcome;
    sl_bytes bytes; /* valid until the next call; the source's if kept */
} result;

static sl_jpeg_retiler *open_retiler(bool fastest, bool drop)
{
    sl_jpeg_retiler *retiler;
    const sl_jpeg_retile_options how = {.max_pixels = MAX_PIXELS,
                                        .max_bytes = MAX_BYTES,
                                        .drop_metadata = drop,
                                        .fastest = fastest};
    assert_int_equal(sl_jpeg_retiler_open(&retiler, &how, NULL), SLUICE_OK);
    return retiler;
}

static result retile(sl_jpeg_retiler *retiler, sl_bytes jpeg)
{
    uint64_t memory;
    sluice_error error = SLUICE_ERROR_INIT;
    result r = {.bytes = jpeg};
    sl_bytes made;
    r.status = sl_jpeg_retiler_begin(retiler, jpeg, &memory, &error);
    if (r.status == SLUICE_OK) {
        r.status = sl_jpeg_retiler_run(retiler, &r.outcome, &made, &error);
    }
    assert_int_equal(r.status, SLUICE_OK);
    if (r.outcome == SL_JPEG_RETILED) {
        r.bytes = made;
    } else {
        assert_string_not_equal(error.text, "");
    }
    return r;
}

/* The form that an image's header describes. */
typedef struct form {
    bool usual; /* tables that can code any image */
    uint32_t interval;
} form;

static form form_of(sl_bytes jpeg)
{
    sl_jpeg_frame frame;
    assert_true(sl_jpeg_frame_read(&frame, jpeg));
    uint32_t symbols = 0;
    for (int length = 1; length <= 16; length++) {
        symbols += frame.components[0].ac.bits[length];
    }
    return (form){symbols == 162, frame.interval};
}

static sl_bytes bytes_of(const jpeg_file *file)
{
    return (sl_bytes){file->data, file->size};
}

/* Makes colours with noise: more bytes than jpeg_make_pattern's. */
static jpeg_file make_noisy(uint32_t side, const jpeg_options *options)
{
    uint8_t *pixels = malloc((size_t)side * side * 3);
    assert_non_null(pixels);
    uint32_t random = side;
    for (size_t i = 0; i < (size_t)side * side * 3; i++) {
        random = random * 1664525U + 1013904223U;
        pixels[i] = (uint8_t)(random >> 24);
    }
    jpeg_file file = jpeg_make(pixels, side, side, options);
    free(pixels);
    return file;
}

TEST(the_smallest_stay)
{
    static const jpeg_options kinds[] = {{0},
                                         {.colour = JPEG_GREY},
                                         {.h_factor = 1, .v_factor = 1, .quality = 50},
                                         {.h_factor = 2, .v_factor = 1}};
    sl_jpeg_retiler *retiler = open_retiler(true, false);
    for (uint32_t i = 0; i < 4; i++) {
        jpeg_file file = jpeg_make_pattern(24, 20, i, &kinds[i]);
        assert_int_equal(retile(retiler, bytes_of(&file)).outcome, SL_JPEG_FAST);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(retiler);
}

/* Custom tables, several scans, markers between all MCUs: each makes decoding slower. */
TEST(small_ones_lose_what_makes_them_slow)
{
    static const jpeg_options kinds[] = {{.own_tables = true},
                                         {.own_tables = true, .colour = JPEG_GREY},
                                         {.progressive = true},
                                         {.separate_scans = true},
                                         {.restart_interval = 1}};
    sl_jpeg_retiler *retiler = open_retiler(true, false);
    for (uint32_t i = 0; i < 5; i++) {
        jpeg_file file = jpeg_make_pattern(24, 20, i, &kinds[i]);
        const result r = retile(retiler, bytes_of(&file));
        assert_int_equal(r.outcome, SL_JPEG_RETILED);
        const form f = form_of(r.bytes);
        assert_true(f.usual);
        assert_int_equal(f.interval, 0);
        assert_null(memmem(r.bytes.data, r.bytes.size, "\xFF\xDD", 2));
        jpeg_expect_same_pixels(bytes_of(&file), r.bytes);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(retiler);
}

TEST(larger_ones_get_tiles_and_the_usual_tables)
{
    static const jpeg_options kinds[] = {
        {.quality = 75}, {.quality = 75, .own_tables = true}, {.quality = 75, .progressive = true}};
    sl_jpeg_retiler *retiler = open_retiler(true, false);
    for (uint32_t i = 0; i < 3; i++) {
        jpeg_file file = jpeg_make_pattern(100, 80, 1, &kinds[i]);
        const result r = retile(retiler, bytes_of(&file));
        assert_int_equal(r.outcome, SL_JPEG_RETILED);
        const form f = form_of(r.bytes);
        assert_true(f.usual);
        assert_int_equal(f.interval, 7); /* a row of MCUs */
        jpeg_expect_same_pixels(bytes_of(&file), r.bytes);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(retiler);
}

/* The standard tables would need many more bytes than optimised tables cost. */
TEST(what_they_do_not_fit_gets_its_own)
{
    static const jpeg_options kinds[] = {{.quality = 98}, {.quality = 98, .own_tables = true}};
    sl_jpeg_retiler *fastest = open_retiler(true, false);
    sl_jpeg_retiler *smallest = open_retiler(false, false);
    for (uint32_t i = 0; i < 4; i++) {
        jpeg_file file = make_noisy(i < 2 ? 200 : 60, &kinds[i % 2]);
        const result quick = retile(fastest, bytes_of(&file));
        const result small = retile(smallest, bytes_of(&file));
        assert_int_equal(quick.outcome, SL_JPEG_RETILED);
        assert_false(form_of(quick.bytes).usual);
        assert_int_equal(quick.bytes.size, small.bytes.size);
        assert_memory_equal(quick.bytes.data, small.bytes.data, small.bytes.size);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(fastest);
    sl_jpeg_retiler_close(smallest);
}

/* libjpeg, which decodes these, does not cache tables, so the standard ones have no advantage. */
TEST(what_no_kernel_decodes_is_made_small)
{
    static const jpeg_options kinds[] = {{.colour = JPEG_CMYK},
                                         {.colour = JPEG_RGB},
                                         {.colour = JPEG_YCCK},
                                         {.h_factor = 4, .v_factor = 1},
                                         {.h_factor = 3, .v_factor = 1, .progressive = true}};
    sl_jpeg_retiler *fastest = open_retiler(true, false);
    sl_jpeg_retiler *smallest = open_retiler(false, false);
    for (uint32_t i = 0; i < 5; i++) {
        jpeg_file file = jpeg_make_pattern(40, 30, i, &kinds[i]);
        const result quick = retile(fastest, bytes_of(&file));
        const result small = retile(smallest, bytes_of(&file));
        assert_int_equal(quick.outcome, SL_JPEG_RETILED);
        assert_int_equal(quick.bytes.size, small.bytes.size);
        assert_memory_equal(quick.bytes.data, small.bytes.data, small.bytes.size);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(fastest);
    sl_jpeg_retiler_close(smallest);
}

/* Unwanted data are removed, even if decoding the image was already fast. */
TEST(nothing_unwanted_stays)
{
    const jpeg_options exif = {.orientation = 6};
    jpeg_file turned = jpeg_make_pattern(24, 20, 1, &exif);
    jpeg_file plain = jpeg_make_pattern(24, 20, 1, NULL);
    sl_jpeg_retiler *keeps = open_retiler(true, false);
    sl_jpeg_retiler *drops = open_retiler(true, true);
    assert_int_equal(retile(keeps, bytes_of(&turned)).outcome, SL_JPEG_FAST);
    assert_int_equal(retile(drops, bytes_of(&plain)).outcome, SL_JPEG_FAST);
    const result dropped = retile(drops, bytes_of(&turned));
    assert_int_equal(dropped.outcome, SL_JPEG_RETILED);
    assert_true(form_of(dropped.bytes).usual);
    uint8_t more[4096];
    assert_true(plain.size + 5 <= sizeof(more));
    memcpy(more, plain.data, plain.size);
    memcpy(more + plain.size, "a film", 5);
    const result r = retile(keeps, (sl_bytes){more, plain.size + 5});
    assert_int_equal(r.outcome, SL_JPEG_RETILED);
    assert_true(r.bytes.size <= plain.size);
    assert_null(memmem(r.bytes.data, r.bytes.size, "a fi", 4));
    sl_jpeg_retiler_close(keeps);
    sl_jpeg_retiler_close(drops);
    jpeg_free(&turned);
    jpeg_free(&plain);
}

/* All sizes and qualities: the same pixels, and re-tiling the result again does not change it. */
TEST(every_choice_is_final)
{
    sl_jpeg_retiler *retiler = open_retiler(true, false);
    uint32_t left = 0;
    uint32_t usual = 0;
    uint32_t own = 0;
    for (uint32_t i = 0; i < 240; i++) {
        const jpeg_options options = {.colour = i % 5 == 0 ? JPEG_GREY : JPEG_YCBCR,
                                      .quality = (int)(30 + i * 7 % 70),
                                      .h_factor = 1 + (int)(i % 2),
                                      .v_factor = 1 + (int)(i / 2 % 2),
                                      .progressive = i % 11 == 0,
                                      .own_tables = i % 3 == 0,
                                      .restart_interval = i % 7 == 0 ? 3 : 0};
        jpeg_file file = i % 4 == 0 ? make_noisy(8 + i, &options)
                                    : jpeg_make_pattern(1 + i, 1 + i * 3 % 150, i, &options);
        const result first = retile(retiler, bytes_of(&file));
        left += first.outcome == SL_JPEG_FAST;
        if (first.outcome == SL_JPEG_RETILED) {
            const form f = form_of(first.bytes);
            usual += f.usual;
            own += !f.usual;
            jpeg_expect_same_pixels(bytes_of(&file), first.bytes);
            uint8_t *copy = malloc(first.bytes.size);
            assert_non_null(copy);
            memcpy(copy, first.bytes.data, first.bytes.size);
            const result second = retile(retiler, (sl_bytes){copy, first.bytes.size});
            assert_int_equal(second.bytes.size, first.bytes.size);
            assert_memory_equal(second.bytes.data, copy, first.bytes.size);
            free(copy);
        } else {
            assert_int_equal(first.outcome, SL_JPEG_FAST);
        }
        jpeg_free(&file);
    }
    print_message("%u left, %u with the usual tables, %u with their own\n", left, usual, own);
    assert_true(left >= 10 && usual >= 50 && own >= 20);
    sl_jpeg_retiler_close(retiler);
}

TEST(the_estimate_goes_the_right_way)
{
    const sl_jpeg_form base = {.coded_bytes = 1000, .least_bytes = 1000};
    sl_jpeg_form other = base;
    other.own_sets = 2;
    assert_true(sl_jpeg_form_cost(&other) > sl_jpeg_form_cost(&base));
    other = base;
    other.coded_bytes = 1100;
    assert_true(sl_jpeg_form_cost(&other) > sl_jpeg_form_cost(&base));
    other.coded_bytes = 900; /* no code is shorter than the shortest: the estimate was wrong */
    assert_int_equal(sl_jpeg_form_cost(&other), sl_jpeg_form_cost(&base));
    other = base;
    other.tiled = true;
    assert_true(sl_jpeg_form_cost(&other) < sl_jpeg_form_cost(&base));
    other.coded_bytes = other.least_bytes = 100;
    sl_jpeg_form small = other;
    small.tiled = false;
    assert_true(sl_jpeg_form_cost(&other) > sl_jpeg_form_cost(&small));
    const sl_jpeg_form large = {UINT64_C(1) << 30, 1 << 29, 2, false};
    assert_true(sl_jpeg_form_cost(&large) > sl_jpeg_form_cost(&base));
}
