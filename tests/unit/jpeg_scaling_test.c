/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images scaled down while decoding: by the factor of the rule, with all pixels that the resampler
 * needs, and with a result close to that of the full size.
 */
#include "decoder.h"
#include "jpeg_make.h"
#include "philox.h"
#include "recipe.h"
#include "resample.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 64, SCRATCH = 1 << 24 };

typedef struct scaling {
    sl_decoder *decoder;
    sl_scratch scratch;
} scaling;

enum { RECIPES = 5 };

static sluice_augment *recipes[RECIPES]; /* the first two: random resized crops */

static bool make_recipes(void)
{
    for (int i = 0; i < RECIPES; i++) {
        if (sluice_augment_create(&recipes[i]) != SLUICE_OK) {
            return false;
        }
    }
    return sluice_augment_random_resized_crop(recipes[0], 32, 24, 0.05, 1, 0.75, 1.33) ==
               SLUICE_OK &&
           sluice_augment_random_flip(recipes[0], 0.5) == SLUICE_OK &&
           sluice_augment_random_resized_crop(recipes[1], 9, 9, 0.05, 1, 0.5, 2) == SLUICE_OK &&
           sluice_augment_resize_center_crop(recipes[2], 32, 28, 28) == SLUICE_OK &&
           sluice_augment_resize_center_crop(recipes[3], 16, 11, 7) == SLUICE_OK &&
           sluice_augment_random_crop(recipes[4], 30, 30, 4) == SLUICE_OK;
}

static int setup(void **state)
{
    static scaling made;
    const sl_decoder_config config = {
        .max_pixels = 1 << 24, .max_unpacked_bytes = 1 << 24, .exif = SLUICE_EXIF_APPLY};
    *state = &made;
    return make_recipes() && sl_decoder_open(&made.decoder, &config, NULL) == SLUICE_OK &&
                   sl_scratch_open(&made.scratch, SCRATCH, SCRATCH, NULL) == SLUICE_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    scaling *made = *state;
    for (int i = 0; i < RECIPES; i++) {
        sluice_augment_destroy(recipes[i]);
    }
    sl_decoder_close(made->decoder);
    sl_scratch_close(&made->scratch);
    return 0;
}

static void decode(const scaling *s, const jpeg_file *file, const sl_params *params, bool exact,
                   sl_image *view)
{
    const sl_value stored = {.bytes = {file->data, file->size}};
    sl_picture picture;
    uint32_t width = 0;
    uint32_t height = 0;
    if (!exact) {
        sl_mapping_least(&params->geometries[0].box, &params->need, &width, &height);
    }
    assert_int_equal(sl_decoder_open_picture(s->decoder, &stored, &picture, NULL), SLUICE_OK);
    assert_int_equal(sl_decoder_decode(s->decoder, params->need, width, height, view, NULL),
                     SLUICE_OK);
}

static void expect_covered(const sl_axis *axis, uint32_t origin, uint32_t size)
{
    int32_t begin;
    int32_t end;
    sl_filter_span(axis, &begin, &end);
    if (begin < end) {
        assert_true(begin >= (int32_t)origin && end <= (int32_t)(origin + size));
    }
}

/* The rule by another method: how far the box can shrink and still have 2 pixels for each raster
 * pixel. */
static uint32_t rule(const sl_params *params)
{
    const sl_mapping *box = &params->geometries[0].box;
    const double across = (double)box->source.width / box->virtual_width;
    const double down = (double)box->source.height / box->virtual_height;
    const double times = fmin(across, down) / 2;
    return times >= 8 ? 8 : times >= 4 ? 4 : times >= 2 ? 2 : 1;
}

/* Returns the factor by which the image was scaled down. */
static uint32_t check_draw(scaling *s, const jpeg_file *file, const sl_params *params)
{
    static uint8_t ours[SIDE_MAX * SIDE_MAX * 3];
    static uint8_t exact[SIDE_MAX * SIDE_MAX * 3];
    sl_image view;
    decode(s, file, params, true, &view);
    assert_int_equal(view.denominator, 1);
    assert_int_equal(
        sl_resample(SL_SIMD_SCALAR, &view, &params->geometries[0].box, exact, &s->scratch, NULL),
        SLUICE_OK);
    decode(s, file, params, false, &view);
    sl_axis across;
    sl_axis down;
    sl_mapping_axes(&params->geometries[0].box, view.denominator, &across, &down);
    expect_covered(&across, view.origin_x, view.width);
    expect_covered(&down, view.origin_y, view.height);
    assert_int_equal(
        sl_resample(SL_SIMD_SCALAR, &view, &params->geometries[0].box, ours, &s->scratch, NULL),
        SLUICE_OK);
    uint64_t difference = 0;
    const size_t bytes =
        (size_t)params->geometries[0].box.width * params->geometries[0].box.height * 3;
    for (size_t i = 0; i < bytes; i++) {
        difference += (uint64_t)abs(ours[i] - exact[i]);
    }
    if (view.denominator == 1) {
        assert_int_equal(difference, 0);
    } else if (difference > bytes) {
        fail_msg("at 1/%u pixels differ by %.2f on average", view.denominator,
                 (double)difference / (double)bytes);
    }
    return view.denominator;
}

/* The needed part of the image, in whole pixels of the scaled one, equals the needed part of the
 * scaled one. */
TEST(spans_stay_on_what_is_needed)
{
    for (uint32_t run = 0; run < TEST_AMOUNT(50000, 5000); run++) {
        sl_random random = sl_random_for(4, run, 0, 0);
        const uint32_t d = 2U << run % 3;
        sl_mapping mapping = {.width = 1 + sl_random_below(&random, 40), .height = 1};
        mapping.source.x = sl_random_below(&random, 100);
        mapping.source.width = d * mapping.width + sl_random_below(&random, run % 2 == 0 ? 3 : 900);
        mapping.source.height = d;
        mapping.virtual_width =
            mapping.width + sl_random_below(&random, mapping.source.width / d - mapping.width + 1);
        mapping.virtual_height = 1;
        mapping.window_x =
            (int32_t)sl_random_below(&random, mapping.virtual_width - mapping.width + 1);
        sl_axis axis;
        sl_axis other;
        int32_t begin;
        int32_t end;
        sl_mapping_axes(&mapping, 1, &axis, &other);
        sl_filter_span(&axis, &begin, &end);
        const uint32_t first = (uint32_t)begin / d;
        sl_mapping_axes(&mapping, d, &axis, &other);
        expect_covered(&axis, first, ((uint32_t)end + d - 1) / d - first);
    }
}

/* Waves that are long compared with the pixels of any scale: all filters give the same result. */
static jpeg_file make_waves(uint32_t width, uint32_t height, const jpeg_options *options)
{
    uint8_t *pixels = malloc((size_t)width * height * 3);
    assert_non_null(pixels);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                const double value = sin(x / 70.0 + c) + cos(y / 60.0 - c);
                pixels[((size_t)y * width + x) * 3 + c] = (uint8_t)(128 + 60 * value);
            }
        }
    }
    jpeg_file file = jpeg_make(pixels, width, height, options);
    free(pixels);
    return file;
}

/* Counts the scaling factors of the images in `seen`. */
static void check_recipes(scaling *s, const jpeg_file *file, sl_picture upright, bool turned,
                          uint32_t seen[9])
{
    for (uint64_t draw = 0; draw < 40; draw++) {
        WHOLE_PARAMS(params);
        const sluice_augment *recipe = recipes[draw % RECIPES];
        assert_int_equal(sl_draw(recipe, &(sl_draw_key){.seed = 3, .epoch = draw}, upright.width,
                                 upright.height, &params, NULL),
                         SLUICE_OK);
        const uint32_t d = check_draw(s, file, &params);
        if (d != rule(&params) && (d > rule(&params) || !turned)) {
            fail_msg("1/%u where 1/%u is right: %ux%u of %ux%u to %ux%u", d, rule(&params),
                     params.need.width, params.need.height, params.geometries[0].box.source.width,
                     params.geometries[0].box.source.height, params.geometries[0].box.virtual_width,
                     params.geometries[0].box.virtual_height);
        }
        seen[d]++;
    }
}

TEST_WITH(draws_of_all_recipes, setup, teardown)
{
    static const uint32_t sizes[][2] = {{301, 263}, {256, 256}, {97, 128}, {64, 70}};
    uint32_t seen[9] = {0};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (int orientation = 1; orientation <= 8; orientation += TEST_AMOUNT(1, 3)) {
            /* libjpeg repeats the chroma of 4:2:2 and 4:4:0 at 1/8, which is visible */
            const int factor = 1 + orientation % 2;
            const jpeg_options options = {.quality = 95,
                                          .h_factor = factor,
                                          .v_factor = factor,
                                          .orientation = orientation,
                                          .restart_interval = orientation % 3};
            jpeg_file file = make_waves(sizes[i][0], sizes[i][1], &options);
            const sl_picture upright = {sizes[i][orientation >= 5], sizes[i][orientation < 5]};
            check_recipes(*state, &file, upright, orientation > 1, seen);
            jpeg_free(&file);
        }
    }
    for (uint32_t i = 1; i <= 8; i *= 2) {
        assert_true(seen[i] > TEST_AMOUNT(20, 5));
    }
}

/*
 * Waves of all lengths down to two pixels, with amplitudes proportional to the length: like photos,
 * and as sharp as an image can be.
 */
static jpeg_file make_texture(uint32_t side, uint64_t seed)
{
    enum { WAVES = 150 };
    struct {
        double x, y, phase, height;
    } waves[WAVES];
    sl_random random = sl_random_for(seed, 0, 0, 0);
    for (int i = 0; i < WAVES; i++) {
        const double frequency = 0.5 * pow(0.01, sl_random_range(&random, 0, 1));
        const double angle = sl_random_range(&random, 0, 2 * 3.14159265358979);
        waves[i].x = 2 * 3.14159265358979 * frequency * cos(angle);
        waves[i].y = 2 * 3.14159265358979 * frequency * sin(angle);
        waves[i].phase = sl_random_range(&random, 0, 6.28);
        waves[i].height = 2 / sqrt(frequency);
    }
    uint8_t *pixels = malloc((size_t)side * side * 3);
    assert_non_null(pixels);
    for (uint32_t k = 0; k < side * side; k++) {
        const uint32_t x = k % side;
        const uint32_t y = k / side;
        double value = 128;
        for (int i = 0; i < WAVES; i++) {
            value += waves[i].height * cos(waves[i].x * x + waves[i].y * y + waves[i].phase);
        }
        memset(pixels + (size_t)k * 3, value < 0 ? 0 : value > 255 ? 255 : (int)value, 3);
    }
    jpeg_file file =
        jpeg_make(pixels, side, side, &(jpeg_options){.quality = 95, .h_factor = 1, .v_factor = 1});
    free(pixels);
    return file;
}

static double psnr(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    double sum = 0;
    for (size_t i = 0; i < bytes; i++) {
        sum += (double)(a[i] - b[i]) * (a[i] - b[i]);
    }
    return 10 * log10(255.0 * 255.0 * (double)bytes / (sum + 1));
}

TEST_WITH(fine_texture_is_kept, setup, teardown)
{
    static uint8_t ours[SIDE_MAX * SIDE_MAX * 3];
    static uint8_t exact[SIDE_MAX * SIDE_MAX * 3];
    scaling *s = *state;
    uint32_t scaled = 0;
    double least = 99;
    for (uint64_t seed = 0; seed < TEST_AMOUNT(12, 1); seed++) {
        jpeg_file file = make_texture(160, seed);
        for (uint64_t draw = 0; draw < 60; draw++) {
            WHOLE_PARAMS(params);
            sl_image view;
            assert_int_equal(sl_draw(recipes[draw % 2], &(sl_draw_key){.seed = seed, .epoch = draw},
                                     160, 160, &params, NULL),
                             SLUICE_OK);
            decode(s, &file, &params, true, &view);
            assert_int_equal(sl_resample(SL_SIMD_SCALAR, &view, &params.geometries[0].box, exact,
                                         &s->scratch, NULL),
                             SLUICE_OK);
            decode(s, &file, &params, false, &view);
            assert_int_equal(sl_resample(SL_SIMD_SCALAR, &view, &params.geometries[0].box, ours,
                                         &s->scratch, NULL),
                             SLUICE_OK);
            least = fmin(least, psnr(ours, exact,
                                     (size_t)params.geometries[0].box.width *
                                         params.geometries[0].box.height * 3));
            scaled += view.denominator > 1;
        }
        jpeg_free(&file);
    }
    print_message("%u scaled, least %.1f dB\n", scaled, least);
    assert_true(scaled > TEST_AMOUNT(100, 8) && least >= 36);
}
