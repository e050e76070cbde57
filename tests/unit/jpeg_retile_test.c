/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Re-tiling: libjpeg decodes the result to the same pixels, the files are as small as with
 * libjpeg's own tables, damage is treated as in the decoder, and files that cannot be tiled are
 * kept.
 */
#include "decoder.h"
#include "exif.h"
#include "jpeg_header.h"
#include "jpeg_make.h"
#include "jpeg_range.h"
#include "jpeg_readback.h"
#include "jpeg_retile.h"
#include "jpeg_tiles.h"
#include "philox.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { MAX_PIXELS = 13000000, MAX_BYTES = 1 << 26 };

static sl_jpeg_retiler *open_retiler(uint32_t tile_mcus, bool drop)
{
    sl_jpeg_retiler *retiler;
    const sl_jpeg_retile_options how = {.max_pixels = MAX_PIXELS,
                                        .max_bytes = MAX_BYTES,
                                        .tile_mcus = tile_mcus,
                                        .drop_metadata = drop};
    assert_int_equal(sl_jpeg_retiler_open(&retiler, &how, NULL), SLUICE_OK);
    return retiler;
}

/* Result of the retiler; `bytes` is valid until the next run. */
typedef struct result {
    sluice_status status;
    sl_jpeg_outcome outcome;
    sl_bytes bytes;
    sluice_error error;
} result;

static result retile(sl_jpeg_retiler *retiler, const uint8_t *data, size_t size)
{
    uint64_t memory;
    result r = {.error = SLUICE_ERROR_INIT};
    r.status = sl_jpeg_retiler_begin(retiler, (sl_bytes){data, size}, &memory, &r.error);
    if (r.status == SLUICE_OK) {
        r.status = sl_jpeg_retiler_run(retiler, &r.outcome, &r.bytes, &r.error);
    }
    const bool kept = r.status == SLUICE_OK && r.outcome != SL_JPEG_RETILED;
    assert_true((r.status == SLUICE_OK && !kept) || r.error.text[0] != '\0');
    return r;
}

/* libjpeg alone: reads and writes coefficients; errors end the program. */
typedef struct transcode {
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    jvirt_barray_ptr *coefficients;
    unsigned char *data;
    unsigned long size;
} transcode;

static void transcode_begin(transcode *t, sl_bytes jpeg)
{
    memset(t, 0, sizeof(*t));
    t->in.err = jpeg_std_error(&t->errors);
    t->out.err = &t->errors;
    jpeg_create_decompress(&t->in);
    jpeg_create_compress(&t->out);
    jpeg_mem_src(&t->in, jpeg.data, jpeg.size);
    jpeg_mem_dest(&t->out, &t->data, &t->size);
    jpeg_read_header(&t->in, TRUE);
    t->coefficients = jpeg_read_coefficients(&t->in);
    jpeg_copy_critical_parameters(&t->in, &t->out);
}

static JCOEF *coefficient(transcode *t, int component, JDIMENSION row, JDIMENSION column)
{
    return t->in.mem->access_virt_barray((j_common_ptr)&t->in, t->coefficients[component], row, 1,
                                         TRUE)[0][column];
}

static void transcode_write(transcode *t)
{
    jpeg_write_coefficients(&t->out, t->coefficients);
    jpeg_finish_compress(&t->out);
}

static void transcode_end(transcode *t)
{
    jpeg_destroy_compress(&t->out);
    jpeg_destroy_decompress(&t->in);
    free(t->data);
}

/*
 * As small as with libjpeg's own optimised tables and the same interval, except for stuffed bytes,
 * which differ between codes of the same lengths.
 */
static void assert_small(sl_bytes jpeg, sl_bytes made, uint32_t interval)
{
    transcode t;
    transcode_begin(&t, jpeg);
    t.out.optimize_coding = TRUE;
    t.out.restart_interval = interval;
    t.out.write_JFIF_header = t.in.saw_JFIF_marker;
    t.out.write_Adobe_marker = t.in.saw_Adobe_marker;
    transcode_write(&t);
    assert_true(made.size <= t.size + t.size / 400 + 8);
    transcode_end(&t);
}

/* Returns the interval. */
static uint32_t assert_baseline(sl_bytes made, unsigned tables)
{
    transcode t;
    transcode_begin(&t, made);
    assert_false(t.in.progressive_mode || t.in.arith_code);
    assert_int_equal(t.in.comps_in_scan, t.in.num_components);
    const uint32_t interval = t.in.restart_interval;
    const uint32_t mcu = 8 * (t.in.num_components == 1 ? 1 : (uint32_t)t.in.max_h_samp_factor);
    const uint32_t across = t.in.num_components == 1 ? t.in.comp_info[0].width_in_blocks
                                                     : (t.in.image_width + mcu - 1) / mcu;
    assert_int_equal(interval, sl_tile_interval(across, mcu, tables));
    transcode_end(&t);
    assert_non_null(memmem(made.data, made.size, "\xFF\xC0\0", 3));
    return interval;
}

static const jpeg_options kinds[] = {
    {0},
    {.h_factor = 1, .v_factor = 1},
    {.h_factor = 2, .v_factor = 1, .quality = 30},
    {.h_factor = 1, .v_factor = 2},
    {.h_factor = 4, .v_factor = 1, .restart_interval = 2},
    {.h_factor = 4, .v_factor = 2, .quality = 100},
    {.h_factor = 3, .v_factor = 1},
    {.colour = JPEG_GREY},
    {.colour = JPEG_GREY, .h_factor = 2, .v_factor = 2, .restart_interval = 1},
    {.colour = JPEG_RGB, .restart_interval = 1},
    {.colour = JPEG_CMYK, .quality = 98},
    {.colour = JPEG_YCCK},
    {.colour = JPEG_YCCK, .h_factor = 1, .v_factor = 2, .progressive = true},
    {.progressive = true},
    {.progressive = true, .h_factor = 1, .v_factor = 1, .restart_interval = 5, .quality = 97},
    {.colour = JPEG_GREY, .progressive = true},
    {.separate_scans = true},
    {.separate_scans = true, .colour = JPEG_CMYK, .restart_interval = 3},
    {.orientation = 6, .exif_big_endian = true},
    {.arithmetic = true},
    {.arithmetic = true, .progressive = true, .h_factor = 2, .v_factor = 1},
    {.arithmetic = true, .separate_scans = true, .restart_interval = 4},
    {.orientation = 8, .exif_big_endian = true, .exif_long = true},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void check_kind(sl_jpeg_retiler *retiler, uint32_t tile_mcus, const jpeg_options *kind,
                       const jpeg_file *file)
{
    const sl_bytes source = {file->data, file->size};
    const result r = retile(retiler, file->data, file->size);
    assert_int_equal(r.status, SLUICE_OK);
    assert_int_equal(r.outcome, SL_JPEG_RETILED);
    jpeg_expect_same_pixels(source, r.bytes);
    const uint32_t interval = assert_baseline(r.bytes, tile_mcus);
    if (kind->orientation == 0) {
        assert_small(source, r.bytes, interval);
    }
    assert_int_equal(sl_exif_orientation(r.bytes), kind->orientation ? kind->orientation : 1);
    /* Re-tiles again: nothing is left to change. */
    uint8_t *first = malloc(r.bytes.size);
    assert_non_null(first);
    memcpy(first, r.bytes.data, r.bytes.size);
    const result again = retile(retiler, first, r.bytes.size);
    assert_int_equal(again.outcome, SL_JPEG_RETILED);
    assert_int_equal(again.bytes.size, r.bytes.size);
    assert_memory_equal(again.bytes.data, first, r.bytes.size);
    free(first);
}

TEST(every_kind_keeps_its_pixels)
{
    static const uint32_t sizes[][2] = {{1, 1},    {8, 8},   {16, 17},  {33, 15},
                                        {300, 40}, {97, 65}, {1000, 3}, {5, 130}};
    static const uint32_t tiles[] = {0, 1, 3, 65535};
    const bool arithmetic = jpeg_can_arithmetic();
    sl_jpeg_retiler *retilers[4];
    for (uint32_t i = 0; i < 4; i++) {
        retilers[i] = open_retiler(tiles[i], false);
    }
    for (uint32_t i = 0; i < KINDS * 8; i++) {
        const jpeg_options *kind = &kinds[i % KINDS];
        if (!kind->arithmetic || arithmetic) {
            const uint32_t *size = sizes[i / KINDS];
            jpeg_file file = jpeg_make_pattern(size[0], size[1], i, kind);
            check_kind(retilers[i % 4], tiles[i % 4], kind, &file);
            jpeg_free(&file);
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        sl_jpeg_retiler_close(retilers[i]);
    }
}

/* Decodes the whole result. With `keep`, returns the pixels, which the caller frees. */
static sluice_status decode(sl_decoder *decoder, sl_bytes jpeg, uint8_t **keep, size_t *bytes)
{
    const sl_value stored = {.bytes = jpeg};
    sl_picture picture;
    sl_image view;
    sluice_status status = sl_decoder_open_picture(decoder, &stored, &picture, NULL);
    if (status == SLUICE_OK) {
        const sl_rect all = {0, 0, picture.width, picture.height};
        status = sl_decoder_decode(decoder, all, 0, 0, &view, NULL);
    }
    if (status == SLUICE_OK) {
        const size_t row = (size_t)picture.width * 3;
        *bytes = row * picture.height;
        *keep = malloc(*bytes);
        for (uint32_t y = 0; y < picture.height; y++) {
            memcpy(*keep + y * row, view.pixels + y * view.stride_bytes, row);
        }
    }
    return status;
}

/* For any damage: accepted or rejected as by the decoder. An accepted file keeps its pixels where
 * out-of-range values give the same pixels before and after (jpeg_range.h). */
static void check_damaged(sl_decoder *decoder, sl_jpeg_retiler *retiler, sl_bytes damaged,
                          uint32_t counts[2])
{
    uint8_t *old = NULL;
    uint8_t *new = NULL;
    size_t old_bytes = 0;
    size_t new_bytes = 0;
    const sluice_status status = decode(decoder, damaged, &old, &old_bytes);
    const result r = retile(retiler, damaged.data, damaged.size);
    assert_int_equal(r.status, status);
    counts[status == SLUICE_OK]++;
    assert_int_not_equal(r.outcome, SL_JPEG_DIFFERENT);
    if (status == SLUICE_OK && r.outcome == SL_JPEG_RETILED) {
        assert_int_equal(decode(decoder, r.bytes, &new, &new_bytes), SLUICE_OK);
        assert_int_equal(new_bytes, old_bytes);
        if (jpeg_is_portable(damaged.data, damaged.size)) {
            assert_memory_equal(new, old, old_bytes);
        }
    }
    free(old);
    free(new);
}

TEST(damage_is_judged_as_by_the_decoder)
{
    const bool arithmetic = jpeg_can_arithmetic();
    const sl_decoder_config config = {
        .max_pixels = MAX_PIXELS, .max_unpacked_bytes = 0, .exif = SLUICE_EXIF_APPLY};
    sl_decoder *decoder;
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    sl_jpeg_retiler *retiler = open_retiler(2, false);
    uint32_t counts[2] = {0};
    for (uint32_t i = 0; i < KINDS; i++) {
        if (kinds[i].arithmetic && !arithmetic) {
            continue;
        }
        jpeg_file file = jpeg_make_pattern(61, 38, i, &kinds[i]);
        assert_true(jpeg_is_in_range(file.data, file.size));
        for (size_t size = 2; size < file.size; size += 1 + size / 60) {
            check_damaged(decoder, retiler, (sl_bytes){file.data, size}, counts);
        }
        for (uint32_t run = 0; run < 60; run++) {
            sl_random random = sl_random_for(i, run, 0, 0);
            const size_t at = sl_random_below(&random, (uint32_t)file.size);
            const uint8_t was = file.data[at];
            file.data[at] ^= (uint8_t)(1u << sl_random_below(&random, 8));
            check_damaged(decoder, retiler, (sl_bytes){file.data, file.size}, counts);
            file.data[at] = was;
        }
        jpeg_free(&file);
    }
    print_message("%u refused, %u taken\n", counts[0], counts[1]);
    assert_true(counts[0] > 500 && counts[1] > 100);
    sl_decoder_close(decoder);
    sl_jpeg_retiler_close(retiler);
}

/* A valid image gives the same pixels on every architecture; a damaged one need not. */
TEST(ranges_are_seen)
{
    jpeg_file file = jpeg_make_pattern(61, 38, 3, NULL);
    uint8_t *tables = memmem(file.data, file.size, "\xFF\xDB", 2);
    assert_non_null(tables);
    assert_true(jpeg_is_in_range(file.data, file.size));
    for (size_t i = 5; i < 5 + 64; i++) {
        tables[i] = 255;
    }
    assert_false(jpeg_is_in_range(file.data, file.size));
    assert_false(jpeg_is_in_range(file.data, 100));
    jpeg_free(&file);
}

/* Data after the only scan, or after the last of several, are not read, as in decoding: junk, no
 * end marker, another image. */
TEST(what_follows_the_picture_is_left_behind)
{
    sl_jpeg_retiler *retiler = open_retiler(0, false);
    const bool arithmetic = jpeg_can_arithmetic();
    for (uint32_t i = 0; i < 4; i++) {
        const jpeg_options how = {.restart_interval = i == 1 ? 2 : 0, .arithmetic = i == 2};
        if (how.arithmetic && !arithmetic) {
            continue;
        }
        jpeg_file file = jpeg_make_pattern(61, 38, 3, i == 3 ? &kinds[13] : &how);
        const result alone = retile(retiler, file.data, file.size);
        assert_int_equal(alone.outcome, SL_JPEG_RETILED);
        const size_t size = alone.bytes.size;
        uint8_t *want = malloc(size);
        uint8_t *twice = malloc(file.size * 2);
        assert_non_null(want);
        assert_non_null(twice);
        memcpy(want, alone.bytes.data, size);
        for (size_t end = 0; end <= 2; end += 2) { /* without and with the end marker */
            memcpy(twice, file.data, file.size);
            memcpy(twice + file.size - 2 + end, file.data, file.size);
            const result r = retile(retiler, twice, file.size * 2 - 2 + end);
            assert_int_equal(r.outcome, SL_JPEG_RETILED);
            assert_int_equal(r.bytes.size, size);
            assert_memory_equal(r.bytes.data, want, size);
        }
        free(want);
        free(twice);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(retiler);
}

/* Offset after the JFIF segment that jpeg_make writes. */
enum { JFIF_END = 20 };

/* Makes an image with a thumbnail, EXIF, ICC, XMP, Adobe and a comment; `head` gets the
 * segments. */
static void make_rich(jpeg_pieces *rich, jpeg_pieces *head, int orientation)
{
    const jpeg_options exif = {.orientation = orientation};
    jpeg_file with = jpeg_make_pattern(40, 30, 5, &exif);
    jpeg_file plain = jpeg_make_pattern(40, 30, 5, NULL);
    *rich = *head = (jpeg_pieces){.size = 0};
    const uint8_t jfif[] = "JFIF\0\1\2\1\0\x48\0\x48\1\1abc";
    jpeg_put_segment(head, 0xE0, jfif, sizeof(jfif) - 1);
    jpeg_put(head, with.data + JFIF_END, with.size - plain.size);
    jpeg_put_segment(head, 0xE2, "ICC_PROFILE\0\1\1profile", 21);
    jpeg_put_segment(head, 0xE1, "http://ns.adobe.com/xap/1.0/\0<x/>", 33);
    jpeg_put_segment(head, 0xFE, "a comment", 9);
    jpeg_put_segment(head, 0xEE, "Adobe\0\x64\0\0\0\0\1", 12);
    jpeg_put_segment(head, 0xE0, "JFXX\0\x10thumbnail", 15);
    jpeg_put(rich, plain.data, 2);
    jpeg_put(rich, head->data, head->size);
    jpeg_put(rich, plain.data + JFIF_END, plain.size - JFIF_END);
    jpeg_free(&with);
    jpeg_free(&plain);
}

/* Most damage leaves bytes between the last interval and the end marker; rewriting the image would
 * lose them. */
TEST(what_is_left_over_is_kept)
{
    enum { MORE = 40 };
    sl_jpeg_retiler *retiler = open_retiler(0, false);
    for (int interval = 0; interval <= 2; interval += 2) {
        const jpeg_options how = {.restart_interval = interval};
        jpeg_file file = jpeg_make_pattern(61, 38, 3, &how);
        uint8_t *more = malloc(file.size + MORE);
        assert_non_null(more);
        memcpy(more, file.data, file.size - 2);
        memset(more + file.size - 2, 0x5A, MORE);
        memcpy(more + file.size - 2 + MORE, file.data + file.size - 2, 2);
        const result r = retile(retiler, more, file.size + MORE);
        assert_int_equal(r.status, SLUICE_OK);
        assert_int_equal(r.outcome, SL_JPEG_UNUSUAL);
        free(more);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(retiler);
}

TEST(metadata_goes_along_or_not)
{
    static jpeg_pieces rich;
    static jpeg_pieces head;
    sl_jpeg_retiler *keeps = open_retiler(0, false);
    sl_jpeg_retiler *drops = open_retiler(0, true);
    for (int orientation = 1; orientation <= 8; orientation++) {
        make_rich(&rich, &head, orientation);
        const sl_bytes source = {rich.data, rich.size};
        result r = retile(keeps, rich.data, rich.size);
        assert_int_equal(r.outcome, SL_JPEG_RETILED);
        assert_memory_equal(r.bytes.data + 2, head.data, head.size);
        jpeg_expect_same_pixels(source, r.bytes);
        r = retile(drops, rich.data, rich.size);
        assert_int_equal(r.outcome, SL_JPEG_RETILED);
        jpeg_expect_same_pixels(source, r.bytes);
        assert_int_equal(sl_exif_orientation(r.bytes), orientation);
        assert_memory_equal(r.bytes.data + 2, "\xFF\xE0\0\x10JFIF\0\1\2\1\0\x48\0\x48\0\0", 18);
        assert_memory_equal(r.bytes.data + 20,
                            "\xFF\xEE\0\x0E"
                            "Adobe\0\x64\0\0\0\0\1",
                            16);
        assert_null(memmem(r.bytes.data, r.bytes.size, "ICC", 3));
        assert_null(memmem(r.bytes.data, r.bytes.size, "comment", 7));
        assert_null(memmem(r.bytes.data, r.bytes.size, "JFXX", 4));
        assert_null(memmem(r.bytes.data, r.bytes.size, "adobe.com", 9));
        const void *exif = memmem(r.bytes.data, r.bytes.size, "Exif", 4);
        assert_true(orientation == 1 ? exif == NULL : exif != NULL);
    }
    sl_jpeg_retiler_close(keeps);
    sl_jpeg_retiler_close(drops);
}

/* Component ids decide colours that only missing segments explain. */
TEST(nothing_is_added_to_what_has_no_segments)
{
    sl_jpeg_retiler *retiler = open_retiler(1, false);
    for (int i = 0; i < 2; i++) {
        const jpeg_options how = {.colour = i == 0 ? JPEG_YCBCR : JPEG_RGB};
        jpeg_file file = jpeg_make_pattern(40, 30, 5, &how);
        const size_t cut = i == 0 ? 18 : 16; /* the only segment */
        memmove(file.data + 2, file.data + 2 + cut, file.size - cut - 2);
        const result r = retile(retiler, file.data, file.size - cut);
        assert_int_equal(r.outcome, SL_JPEG_RETILED);
        assert_int_equal(r.bytes.data[3], 0xDB);
        jpeg_expect_same_pixels((sl_bytes){file.data, file.size - cut}, r.bytes);
        jpeg_free(&file);
    }
    sl_jpeg_retiler_close(retiler);
}

static void assert_kept(sl_bytes jpeg, sl_jpeg_outcome why)
{
    sl_jpeg_retiler *retiler = open_retiler(0, false);
    const result r = retile(retiler, jpeg.data, jpeg.size);
    assert_int_equal(r.status, SLUICE_OK);
    assert_int_equal(r.outcome, why);
    assert_int_equal(r.error.status, SLUICE_UNSUPPORTED);
    sl_jpeg_retiler_close(retiler);
}

/* Returns the offset of the n-th marker of this kind, from 0. */
static size_t find_marker(const jpeg_file *file, uint8_t marker, int n)
{
    for (size_t i = 2; i + 1 < file->size; i++) {
        if (file->data[i] == 0xFF && file->data[i + 1] == marker && n-- == 0) {
            return i;
        }
    }
    fail_msg("no marker %02X", marker);
    return 0;
}

TEST(what_cannot_be_tiled_is_kept)
{
    const jpeg_options large = {.h_factor = 4, .v_factor = 4, .separate_scans = true};
    jpeg_file file = jpeg_make_pattern(50, 40, 1, &large);
    assert_kept((sl_bytes){file.data, file.size}, SL_JPEG_LARGE_MCU);
    jpeg_free(&file);
    /* Without its last scan, but properly terminated. */
    const jpeg_options progressive = {.progressive = true};
    file = jpeg_make_pattern(50, 40, 1, &progressive);
    size_t at = find_marker(&file, 0xDA, 9);
    while (file.data[at - 4] != 0xFF || file.data[at - 3] != 0xC4) { /* nor its table */
        at--;
    }
    memcpy(file.data + at - 4, "\xFF\xD9", 2);
    assert_kept((sl_bytes){file.data, at - 2}, SL_JPEG_INCOMPLETE);
    jpeg_free(&file);
    /* Another table under the number of one in use. */
    const jpeg_options separate = {.separate_scans = true};
    file = jpeg_make_pattern(50, 40, 1, &separate);
    static jpeg_pieces p;
    p.size = 0;
    at = find_marker(&file, 0xDA, 1);
    jpeg_put(&p, file.data, at);
    const size_t table = find_marker(&file, 0xDB, 0);
    jpeg_put(&p, file.data + table, 69);
    p.data[p.size - 1] ^= 1;
    jpeg_put(&p, file.data + at, file.size - at);
    assert_kept((sl_bytes){p.data, p.size}, SL_JPEG_UNUSUAL);
    jpeg_free(&file);
}

/* Arithmetic coding allows values that 8-bit Huffman coding does not. */
TEST(values_out_of_range_are_kept)
{
    if (!jpeg_can_arithmetic()) {
        print_message("skipped: this libjpeg writes no arithmetic coding\n");
        skip();
    }
    static const struct {
        int place;
        JCOEF value;
        sl_jpeg_outcome outcome;
    } rows[] = {
        {5, 1023, SL_JPEG_RETILED},  {5, -1023, SL_JPEG_RETILED}, {5, 1024, SL_JPEG_UNUSUAL},
        {5, -1024, SL_JPEG_UNUSUAL}, {63, 2000, SL_JPEG_UNUSUAL}, {0, 2047, SL_JPEG_RETILED},
        {0, -3000, SL_JPEG_UNUSUAL},
    };
    jpeg_file file = jpeg_make_pattern(8, 8, 1, &(jpeg_options){.colour = JPEG_GREY});
    sl_jpeg_retiler *retiler = open_retiler(0, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        transcode t;
        transcode_begin(&t, (sl_bytes){file.data, file.size});
        coefficient(&t, 0, 0, 0)[rows[i].place] = rows[i].value;
        t.out.arith_code = TRUE;
        transcode_write(&t);
        const result r = retile(retiler, t.data, t.size);
        assert_int_equal(r.status, SLUICE_OK);
        assert_int_equal(r.outcome, rows[i].outcome);
        transcode_end(&t);
    }
    sl_jpeg_retiler_close(retiler);
    jpeg_free(&file);
}

/* They exceed a baseline file; the result is extended sequential. */
TEST(wide_quantisation_tables_stay)
{
    jpeg_file file = jpeg_make_pattern(70, 40, 1, NULL);
    transcode t;
    transcode_begin(&t, (sl_bytes){file.data, file.size});
    t.out.quant_tbl_ptrs[0]->quantval[3] = 700;
    transcode_write(&t);
    sl_jpeg_retiler *retiler = open_retiler(0, false);
    const result r = retile(retiler, t.data, t.size);
    assert_int_equal(r.outcome, SL_JPEG_RETILED);
    assert_non_null(memmem(r.bytes.data, r.bytes.size, "\xFF\xC1\0", 3));
    jpeg_expect_same_pixels((sl_bytes){t.data, t.size}, r.bytes);
    sl_jpeg_retiler_close(retiler);
    transcode_end(&t);
    jpeg_free(&file);
}

/* An image that was read, and data for comparing others with it. */
typedef struct reading {
    transcode t;
    sl_jpeg_original original;
    sl_scratch scratch;
} reading;

static void reading_begin(reading *r)
{
    jpeg_file file = jpeg_make_pattern(70, 40, 1, NULL);
    transcode_begin(&r->t, (sl_bytes){file.data, file.size});
    jpeg_free(&file);
    r->original = (sl_jpeg_original){&r->t.in, r->t.coefficients};
    assert_int_equal(sl_scratch_open(&r->scratch, 1 << 22, 1 << 22, NULL), SLUICE_OK);
}

static sluice_status read_back(reading *r, const uint8_t *data, size_t size)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_scratch_reset(&r->scratch);
    const sluice_status status =
        sl_jpeg_readback(&r->original, (sl_bytes){data, size}, 2, &r->scratch, &error);
    assert_true(status == SLUICE_OK || error.text[0] != '\0');
    return status;
}

static void reading_end(reading *r)
{
    sl_scratch_close(&r->scratch);
    transcode_end(&r->t);
}

TEST(reading_back_notices_another_picture)
{
    static const struct {
        jpeg_options how;
        uint32_t width, height, seed;
    } others[] = {
        {{.restart_interval = 2}, 70, 40, 1}, /* the same */
        {{.restart_interval = 3}, 70, 40, 1},
        {{.restart_interval = 2, .quality = 89}, 70, 40, 1},
        {{.restart_interval = 2, .h_factor = 2, .v_factor = 1}, 70, 40, 1},
        {{.restart_interval = 2, .colour = JPEG_RGB}, 70, 40, 1},
        {{.restart_interval = 2, .progressive = true}, 70, 40, 1},
        {{.restart_interval = 2, .separate_scans = true}, 70, 40, 1},
        {{.restart_interval = 2}, 71, 40, 1},
        {{.restart_interval = 2}, 70, 48, 1},
        {{.restart_interval = 2}, 70, 40, 2},
    };
    reading r;
    reading_begin(&r);
    for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        jpeg_file other =
            jpeg_make_pattern(others[i].width, others[i].height, others[i].seed, &others[i].how);
        assert_int_equal(read_back(&r, other.data, other.size),
                         i == 0 ? SLUICE_OK : SLUICE_INTERNAL);
        assert_int_equal(read_back(&r, other.data, other.size / 2), SLUICE_INTERNAL);
        jpeg_free(&other);
    }
    reading_end(&r);
}

TEST(reading_back_notices_one_value)
{
    const jpeg_options how = {.restart_interval = 2};
    jpeg_file same = jpeg_make_pattern(70, 40, 1, &how);
    reading r;
    reading_begin(&r);
    for (int component = 0; component < 3; component++) {
        /* the last block */
        JCOEF *block = coefficient(&r.t, component, component == 0 ? 4 : 2, component == 0 ? 8 : 4);
        block[63]++;
        assert_int_equal(read_back(&r, same.data, same.size), SLUICE_INTERNAL);
        block[63]--;
        UINT16 *divisor = &r.t.in.comp_info[component].quant_table->quantval[63];
        *divisor += 1;
        assert_int_equal(read_back(&r, same.data, same.size), SLUICE_INTERNAL);
        *divisor -= 1;
        assert_int_equal(read_back(&r, same.data, same.size), SLUICE_OK);
    }
    reading_end(&r);
    jpeg_free(&same);
}

/* No decoder here accepts it, so shards do not either. */
TEST(fractional_sampling_is_refused)
{
    const jpeg_options how = {.h_factor = 3, .v_factor = 1};
    jpeg_file file = jpeg_make_pattern(50, 40, 1, &how);
    file.data[find_marker(&file, 0xC0, 0) + 14] = 0x21; /* second component, ratio 3 to 1 */
    sl_jpeg_retiler *retiler = open_retiler(0, false);
    const result r = retile(retiler, file.data, file.size);
    assert_int_equal(r.status, SLUICE_UNSUPPORTED);
    assert_non_null(strstr(r.error.text, "sampling"));
    sl_jpeg_retiler_close(retiler);
    jpeg_free(&file);
}

TEST(limits_hold)
{
    sl_jpeg_retiler *retiler;
    const sl_jpeg_retile_options how = {.max_pixels = (uint64_t)63 * 64, .max_bytes = 500};
    assert_int_equal(sl_jpeg_retiler_open(&retiler, &how, NULL), SLUICE_OK);
    jpeg_file large = jpeg_make_pattern(64, 64, 1, NULL);
    jpeg_file small = jpeg_make_pattern(63, 64, 1, NULL);
    assert_int_equal(retile(retiler, large.data, large.size).status, SLUICE_UNSUPPORTED);
    const result r = retile(retiler, small.data, small.size);
    assert_int_equal(r.status, SLUICE_OK);
    assert_int_equal(r.outcome, SL_JPEG_UNUSUAL); /* it takes more than 500 bytes */
    jpeg_free(&large);
    jpeg_free(&small);
    /* A header without data takes hardly any memory, and a run may be left out. */
    uint64_t memory;
    jpeg_file file = jpeg_make_pattern(48, 32, 1, NULL);
    assert_int_equal(
        sl_jpeg_retiler_begin(retiler, (sl_bytes){file.data, file.size}, &memory, NULL), SLUICE_OK);
    assert_int_equal(memory, (size_t)48 * 32 * 3 / 2 * sizeof(JCOEF) + file.size);
    assert_int_equal(retile(retiler, (const uint8_t *)"\xFF\xD8", 2).status, SLUICE_CORRUPT);
    assert_int_equal(
        sl_jpeg_retiler_begin(retiler, (sl_bytes){file.data, file.size}, &memory, NULL), SLUICE_OK);
    sl_jpeg_retiler_close(retiler);
    sl_jpeg_retiler_close(NULL);
    jpeg_free(&file);
}

/* 64 KB of metadata per segment, more than the memory for it. */
TEST(metadata_without_end_is_kept)
{
    enum { SEGMENTS = 1100, SEGMENT = 65535 + 2 };
    static const uint8_t head[] = {0xFF, 0xE5, 0xFF, 0xFF};
    jpeg_file file = jpeg_make_pattern(40, 30, 1, NULL);
    const size_t size = file.size + (size_t)SEGMENTS * SEGMENT;
    uint8_t *data = calloc(size, 1);
    assert_non_null(data);
    memcpy(data, file.data, JFIF_END);
    for (size_t i = 0; i < SEGMENTS; i++) {
        memcpy(data + JFIF_END + i * SEGMENT, head, sizeof(head));
    }
    memcpy(data + size - (file.size - JFIF_END), file.data + JFIF_END, file.size - JFIF_END);
    assert_kept((sl_bytes){data, size}, SL_JPEG_UNUSUAL);
    sl_jpeg_retiler *drops = open_retiler(0, true);
    const result r = retile(drops, data, size);
    assert_int_equal(r.outcome, SL_JPEG_RETILED);
    assert_true(r.bytes.size < file.size + 200);
    sl_jpeg_retiler_close(drops);
    free(data);
    jpeg_free(&file);
}

TEST(twelve_megapixels_work)
{
    enum { WIDTH = 4000, HEIGHT = 3000 };
    uint8_t *pixels = malloc((size_t)WIDTH * HEIGHT * 3);
    assert_non_null(pixels);
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * 3; i++) {
        pixels[i] = (uint8_t)(i >> 5 ^ i >> 16);
    }
    const jpeg_options how = {.quality = 60};
    jpeg_file file = jpeg_make(pixels, WIDTH, HEIGHT, &how);
    sl_jpeg_retiler *retiler = open_retiler(0, false);
    const result r = retile(retiler, file.data, file.size);
    assert_int_equal(r.outcome, SL_JPEG_RETILED);
    jpeg_expect_same_pixels((sl_bytes){file.data, file.size}, r.bytes);
    sl_jpeg_retiler_close(retiler);
    jpeg_free(&file);
    free(pixels);
}
