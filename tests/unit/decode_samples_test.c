/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of PNGs as stored, compared with Pillow: every kind, interlaced or not; some of the rows;
 * damaged and hostile files. Arguments: Python, pillow_oracle.py.
 */
#include "codecs.h"
#include "decoder.h"
#include "jpeg_make.h"
#include "philox.h"
#include "pillow.h"
#include "png_make.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_PIXELS = 1 << 24, PARTS = 20 };

static const png_options kinds[] = {
    {.is_grey = true, .depth = 1},
    {.is_grey = true, .depth = 2},
    {.is_grey = true, .depth = 4, .transparent = true},
    {.is_grey = true, .depth = 8, .transparent = true},
    {.is_grey = true, .depth = 16},
    {.is_grey = true, .depth = 16, .transparent = true, .orientation = 6, .data_bytes = 50},
    {.colour = 3, .depth = 1},
    {.colour = 3, .depth = 2, .colours = 3},
    {.colour = 3, .depth = 4, .transparent = true},
    {.colour = 3, .depth = 8, .data_bytes = 7},
    {.colour = 3, .depth = 8, .colours = 21, .excess = 200}, /* a pixel without a colour */
    {.colour = 2, .depth = 8, .transparent = true},
    {.colour = 4, .depth = 8},
    {.colour = 6, .depth = 8},
    {.colour = 2, .depth = 16, .filter = 1},
    {.colour = 4, .depth = 16, .filter = 1},
    {.colour = 6, .depth = 16, .filter = 1},
};
static const sl_picture sizes[] = {{1, 1},  {2, 1},  {1, 9},   {5, 3},   {7, 8},
                                   {9, 17}, {33, 2}, {61, 43}, {300, 3}, {1, 300}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static sl_decoder *decoder;

static sl_decoder *open_decoder(uint64_t scratch_bytes)
{
    sl_decoder *made = NULL;
    const sl_decoder_config config = {.max_pixels = MAX_PIXELS,
                                      .max_unpacked_bytes = 1 << 20,
                                      .exif = SLUICE_EXIF_APPLY,
                                      .scratch_bytes = scratch_bytes};
    assert_int_equal(sl_decoder_open(&made, &config, NULL), SLUICE_OK);
    return made;
}

static int setup(void **state)
{
    decoder = open_decoder(0);
    return 0;
}

static int teardown(void **state)
{
    sl_decoder_close(decoder);
    return 0;
}

typedef struct samples {
    sl_picture picture;
    size_t row_bytes;
    uint8_t *data; /* freed by the caller */
} samples;

/* Decodes rows [first, first + count) of a copy of exactly that size, for the sanitizer; count 0:
 * all. */
static sluice_status take(const uint8_t *file, size_t size, uint32_t first, uint32_t count,
                          samples *taken, sluice_error *error)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, file, size);
    *taken = (samples){.data = NULL};
    const sl_value stored = {.bytes = {copy, size}, .codec = sl_codec_png.number};
    const uint8_t *rows = NULL;
    sl_decoded_form form = {.dims = 0};
    sluice_status status = sl_decoder_open_values(decoder, &stored, &form, error);
    if (status == SLUICE_OK) {
        assert_int_equal(form.dims, 3);
        taken->picture = (sl_picture){(uint32_t)form.shape[1], (uint32_t)form.shape[0]};
        count = count > 0 ? count : taken->picture.height;
        taken->row_bytes = sl_decoded_step_bytes(&form);
        assert_int_equal(taken->row_bytes,
                         form.shape[1] * form.shape[2] * (form.dtype == SLUICE_U16 ? 2 : 1));
        status = sl_decoder_values(decoder, first, count, &rows, error);
    }
    if (status == SLUICE_OK) {
        taken->data = malloc(taken->row_bytes * count);
        assert_non_null(taken->data);
        memcpy(taken->data, rows, taken->row_bytes * count);
    }
    free(copy);
    return status;
}

static samples take_all(const png_file *file)
{
    samples taken;
    sluice_error error = SLUICE_ERROR_INIT;
    if (take(file->data, file->size, 0, 0, &taken, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return taken;
}

static void refused(const uint8_t *file, size_t size, sluice_status expected, const char *text)
{
    samples taken;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = take(file, size, 0, 0, &taken, &error);
    free(taken.data);
    assert_int_equal(status, expected);
    if (error.text[0] == '\0' || strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, error.text);
    }
    assert_true(status != SLUICE_CORRUPT || error.offset <= (int64_t)size);
}

static png_file make(uint32_t number, bool interlaced)
{
    png_options options = kinds[number / SIZES];
    options.interlaced = interlaced;
    return png_make(sizes[number % SIZES].width, sizes[number % SIZES].height, number, &options);
}

/* An interlaced file has the same image as a non-interlaced one. */
TEST_WITH(every_kind_is_as_stored, setup, teardown)
{
    static samples ours[KINDS * SIZES];
    pillow oracle;
    pillow_open(&oracle);
    for (uint32_t i = 0; i < KINDS * SIZES; i++) {
        png_file file = make(i, false);
        png_file interlaced = make(i, true);
        ours[i] = take_all(&file);
        samples again = take_all(&interlaced);
        assert_memory_equal(&ours[i].picture, &sizes[i % SIZES], sizeof(sl_picture));
        assert_int_equal(ours[i].row_bytes, again.row_bytes);
        assert_memory_equal(ours[i].data, again.data, ours[i].row_bytes * ours[i].picture.height);
        pillow_input(&oracle, i, file.data, file.size);
        pillow_ask(&oracle, "samples %u %u", i, kinds[i / SIZES].depth);
        free(again.data);
        png_make_free(&file);
        png_make_free(&interlaced);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < KINDS * SIZES; i++) {
        const size_t bytes = ours[i].row_bytes * ours[i].picture.height;
        uint8_t *theirs = malloc(bytes);
        assert_non_null(theirs);
        pillow_answer(&oracle, i, theirs, bytes);
        if (memcmp(ours[i].data, theirs, bytes) != 0) {
            fail_msg("kind %u of size %u is not as stored", i / SIZES, i % SIZES);
        }
        free(theirs);
        free(ours[i].data);
    }
    pillow_close(&oracle);
}

TEST_WITH(some_rows_are_those_of_all, setup, teardown)
{
    sl_random random = sl_random_for(7, 3, 2, 1);
    for (uint32_t i = 0; i < KINDS * 2; i++) {
        png_options options = kinds[i / 2];
        options.interlaced = i % 2 == 1;
        png_file file = png_make(61, 43, i, &options);
        samples all = take_all(&file);
        for (int part = 0; part < PARTS; part++) {
            const uint32_t first = sl_random_below(&random, 43);
            const uint32_t count = 1 + sl_random_below(&random, 43 - first);
            samples some;
            assert_int_equal(take(file.data, file.size, first, count, &some, NULL), SLUICE_OK);
            assert_memory_equal(some.data, all.data + first * all.row_bytes, count * all.row_bytes);
            free(some.data);
        }
        free(all.data);
        png_make_free(&file);
    }
}

/* One open image gives both, in any order. */
TEST_WITH(pixels_and_samples_in_turn, setup, teardown)
{
    const png_options options = {.is_grey = true, .depth = 16};
    png_file file = png_make(13, 9, 1, &options);
    const sl_value stored = {.bytes = {file.data, file.size}};
    const sl_rect need = {0, 0, 13, 9};
    sl_picture picture;
    assert_int_equal(sl_decoder_open_picture(decoder, &stored, &picture, NULL), SLUICE_OK);
    for (int turn = 0; turn < 3; turn++) {
        const uint8_t *rows = NULL;
        sl_image view;
        assert_int_equal(sl_decoder_values(decoder, 0, 9, &rows, NULL), SLUICE_OK);
        assert_int_equal(sl_decoder_decode(decoder, need, 0, 0, &view, NULL), SLUICE_OK);
        for (size_t i = 0; i < 13UL * 9; i++) {
            uint16_t sample;
            memcpy(&sample, rows + 2 * i, sizeof(sample));
            assert_int_equal(view.pixels[3 * i], sample >> 8);
        }
    }
    png_make_free(&file);
}

TEST_WITH(truncated_everywhere, setup, teardown)
{
    for (uint32_t i = 0; i < 2 * KINDS; i++) {
        png_options options = kinds[i / 2];
        options.interlaced = i % 2 == 1;
        png_file file = png_make(13, 11, i, &options);
        for (size_t size = 1; size < file.size; size++) {
            refused(file.data, size, SLUICE_CORRUPT, "");
        }
        png_make_free(&file);
    }
}

/* Flips each bit, first with wrong checksums, then with corrected ones. */
TEST_WITH(flipped_everywhere, setup, teardown)
{
    const uint32_t some[] = {0, 4, 9, 16};
    for (uint32_t i = 0; i < 8; i++) {
        png_options options = kinds[some[i / 2]];
        options.interlaced = i % 2 == 1;
        png_file file = png_make(7, 5, i, &options);
        uint8_t *damaged = malloc(file.size);
        assert_non_null(damaged);
        for (size_t bit = 0; bit < 8 * file.size; bit++) {
            samples taken;
            memcpy(damaged, file.data, file.size);
            damaged[bit / 8] ^= (uint8_t)(1U << bit % 8);
            const sluice_status status = take(damaged, file.size, 0, 0, &taken, NULL);
            free(taken.data);
            assert_true(status == SLUICE_CORRUPT || status == SLUICE_UNSUPPORTED);
            png_make_seal(damaged, file.size);
            (void)take(damaged, file.size, 0, 0, &taken, NULL);
            free(taken.data);
        }
        free(damaged);
        samples all = take_all(&file);
        free(all.data);
        png_make_free(&file);
    }
}

static uint64_t peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss;
}

/* Headers of 16-bit grey that claim missing or excessive data. */
TEST_WITH(bombs_cost_nothing, setup, teardown)
{
    const uint64_t before = peak_kib();
    png_file large = png_make_begin(4000, 4000, 16, 0, true);
    png_make_data(&large, "\0\1\2\3", 4);
    png_make_chunk(&large, "IEND", NULL, 0);
    refused(large.data, large.size, SLUICE_CORRUPT, "too few for 4000 x 4000 pixels");
    png_make_free(&large);
    png_file huge = png_make_begin(60000, 60000, 16, 0, false);
    refused(huge.data, huge.size, SLUICE_UNSUPPORTED, "60000 x 60000");
    png_make_free(&huge);
    assert_true(peak_kib() - before < 20 << 10);
}

/* The bound in the codec's row is enough; with less memory there is an error. */
TEST_WITH(memory_stays_within_the_bound, setup, teardown)
{
    static const sl_picture shapes[] = {{60000, 1}, {1, 60000}, {300, 200}, {2, 1}};
    sl_decoder *usual = decoder;
    for (uint32_t i = 0; i < KINDS * 4; i++) {
        const sl_picture shape = shapes[i % 4];
        png_options options = kinds[i / 4];
        options.interlaced = i % 3 == 0;
        png_file file = png_make(shape.width, shape.height, i, &options);
        const uint64_t most = sl_codec_png.scratch_bytes((uint64_t)shape.width * shape.height);
        for (uint32_t has_it = 0; has_it < 2; has_it++) {
            samples taken;
            decoder = open_decoder(has_it == 1 ? most : 4096);
            assert_int_equal(take(file.data, file.size, 0, 0, &taken, NULL),
                             has_it == 1 ? SLUICE_OK : SLUICE_NOMEM);
            free(taken.data);
            sl_decoder_close(decoder);
        }
        png_make_free(&file);
    }
    decoder = usual;
}

TEST_WITH(a_jpeg_has_none, setup, teardown)
{
    const jpeg_options options = {.colour = JPEG_GREY};
    jpeg_file file = jpeg_make_pattern(20, 10, 1, &options);
    const sl_value stored = {.bytes = {file.data, file.size}};
    sl_decoded_form form;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_decoder_open_values(decoder, &stored, &form, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "stored as JPEG, which gives pixels only; values as stored "
                                       "can be read from: PNG"));
    jpeg_free(&file);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
