/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden vectors: digests of decoded, scaled, resampled, warped, filtered, recoloured and converted
 * pixels, of images that are computed or stored in the repository. Each SIMD level must reproduce
 * tests/data/golden/pixels.txt, so that no pixel changes unintentionally.
 *
 * Arguments: that file, and images to decode. After an intended change,
 *     SLUICE_WRITE_GOLDEN=1 ctest --test-dir build/release -R augment_golden_test
 * rewrites the file. Its diff shows which pixels changed; the commit message gives the reason.
 */
#include "canvas_make.h"
#include "checksum.h"
#include "converter.h"
#include "decoder_setup.h"
#include "recipe.h"
#include "resample.h"
#include "shard_bytes.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 61, HEIGHT = 47, OUT_WIDTH = 23, OUT_HEIGHT = 19, SAMPLES = 4 };
enum { SCRATCH = 8 << 20, LINES_MAX = 512, NAME_BYTES = 64, ROW_MOST = WIDTH * HEIGHT * 3 * 4 };

typedef struct line {
    char name[NAME_BYTES];
    uint64_t sum;
} line;

static const char *golden_path;
static const char *const *pictures;
static int picture_count;
static line wanted[LINES_MAX];
static uint32_t wanted_count, made_count;
static bool seen[LINES_MAX];
static FILE *written; /* NULL: compare lines */

/* ---- the file ---- */

static void read_golden(void)
{
    char text[256];
    FILE *file = fopen(golden_path, "r");
    assert_non_null(file);
    while (fgets(text, sizeof(text), file) != NULL) {
        char *space = strchr(text, ' ');
        if (text[0] == '#' || space == NULL) {
            continue;
        }
        assert_true(wanted_count < LINES_MAX && space - text < NAME_BYTES);
        line *next = &wanted[wanted_count++];
        memcpy(next->name, text, (size_t)(space - text));
        next->sum = strtoull(space + 1, NULL, 16);
    }
    (void)fclose(file);
}

static uint32_t find_line(const char *name)
{
    for (uint32_t i = 0; i < wanted_count; i++) {
        if (strcmp(wanted[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("%s is not in %s", name, golden_path);
    return 0;
}

/* Expects the digest of `name`, made at a SIMD level. */
static void expect(const char *name, sl_simd level, uint64_t sum)
{
    made_count++;
    if (written != NULL) {
        if (level == SL_SIMD_SCALAR) {
            (void)fprintf(written, "%s %016llx\n", name, (unsigned long long)sum);
        }
        return;
    }
    const uint32_t at = find_line(name);
    seen[at] = true;
    if (wanted[at].sum != sum) {
        fail_msg("%s at SIMD level %d: %016llx, not %016llx", name, (int)level,
                 (unsigned long long)sum, (unsigned long long)wanted[at].sum);
    }
}

/* ---- images ---- */

/* Draws edges, gradients, single pixels and noise with integers only. */
static const uint8_t *picture(void)
{
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    uint32_t noise = 12345;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        const uint32_t x = i % WIDTH;
        const uint32_t y = i / WIDTH;
        for (uint32_t c = 0; c < 3; c++) {
            noise = noise * 1664525 + 1013904223;
            const uint32_t slope = x * 4 + y * c;
            const uint32_t value = x > 40                  ? noise >> 24
                                   : y > 30                ? ((x / 5 + y / 3) % 2) * 255
                                   : x % 17 == 3 && y == 9 ? 255
                                                           : slope;
            pixels[i * 3 + c] = (uint8_t)value;
        }
    }
    return pixels;
}

static sl_image whole_view(void)
{
    return (sl_image){.pixels = picture(),
                      .width = WIDTH,
                      .height = HEIGHT,
                      .channels = 3,
                      .stride_bytes = (size_t)WIDTH * 3,
                      .picture_width = WIDTH,
                      .picture_height = HEIGHT,
                      .denominator = 1};
}

/* Returns the part of the image that a program needs. */
static sl_image needed(const sl_rect *need)
{
    sl_image view = whole_view();
    view.pixels += ((size_t)need->y * WIDTH + need->x) * 3;
    view.origin_x = need->x;
    view.origin_y = need->y;
    view.width = need->width;
    view.height = need->height;
    return view;
}

/* ---- recipes ---- */

/* Adds a recipe's result for a sample at a level to a sum. */
static void add_row(sl_checksum_stream *stream, const sl_converter *converter,
                    const sl_params *params, sl_scratch *scratch)
{
    static uint8_t row[ROW_MOST];
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_image view = needed(&params->need);
    const sl_apply_work work = {.scratch = scratch};
    const uint64_t bytes =
        (uint64_t)params->width * params->height * 3 * sl_dtype_bytes(converter->dtype);
    assert_true(bytes <= sizeof(row));
    sl_scratch_reset(scratch);
    if (sl_augment_apply(converter, &view, params, &work, row, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sl_checksum_add(stream, row, bytes);
}

static uint64_t sum_of(const sluice_augment *recipe, sluice_dtype dtype, sluice_layout layout,
                       sl_simd level, bool exact)
{
    STATIC_PARAMS(params);
    sl_scratch scratch;
    sl_converter converter;
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    assert_int_equal(sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL), SLUICE_OK);
    assert_int_equal(sl_converter_make(&converter, recipe, dtype, layout, NULL), SLUICE_OK);
    converter.tools.simd = level;
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        const sl_draw_key key = {.seed = 5, .epoch = 2, .sample = sample, .exact = exact};
        assert_int_equal(sl_draw(recipe, &key, WIDTH, HEIGHT, &params, NULL), SLUICE_OK);
        add_row(&stream, &converter, &params, &scratch);
    }
    sl_scratch_close(&scratch);
    return sl_checksum_value(&stream);
}

static sluice_augment *recipe_of(const char *step, const double *arguments, uint32_t count)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    if (sluice_augment_add(recipe, step, arguments, count) != SLUICE_OK) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_augment_get_error(recipe, &error);
        fail_msg("%s: %s", step, error.text);
    }
    return recipe;
}

typedef struct golden_step {
    const char *name, *step;
    double arguments[10];
    uint32_t count;
    bool sizes; /* the step sets the size; otherwise a crop precedes it */
} golden_step;

/* Numbers instead of words: interpolation nearest 0, bilinear 1, bicubic 2, lanczos 3. */
static const golden_step golden_steps[] = {
    {"resize/nearest", "resize", {23, 19, 0}, 3, true},
    {"random_resized_crop/nearest",
     "random_resized_crop",
     {23, 19, 0.08, 1, 0.75, 1.33, 0},
     7,
     true},
    {"resize/bilinear", "resize", {23, 19, 1}, 3, true},
    {"random_resized_crop/bilinear",
     "random_resized_crop",
     {23, 19, 0.08, 1, 0.75, 1.33, 1},
     7,
     true},
    {"resize/bicubic", "resize", {23, 19, 2}, 3, true},
    {"random_resized_crop/bicubic",
     "random_resized_crop",
     {23, 19, 0.08, 1, 0.75, 1.33, 2},
     7,
     true},
    {"resize/lanczos", "resize", {23, 19, 3}, 3, true},
    {"random_resized_crop/lanczos",
     "random_resized_crop",
     {23, 19, 0.08, 1, 0.75, 1.33, 3},
     7,
     true},
    {"letter_box", "letter_box", {31, 29}, 2, true},
    {"random_crop/reflect", "random_crop", {40, 30, 9, 2}, 4, true},
    {"fixed_size_crop", "fixed_size_crop", {70, 40, 0, 114}, 4, true},
    {"rotation/nearest", "random_rotation", {-180, 180, 0, 7}, 4, false},
    {"affine/nearest", "random_affine", {-15, 15, 0.1, 0.1, 0.8, 1.2, -10, 10}, 8, false},
    {"perspective/nearest", "random_perspective", {0.5, 1, 0, 9}, 4, false},
    {"rotation/bilinear", "random_rotation", {-180, 180, 1, 7}, 4, false},
    {"perspective/bilinear", "random_perspective", {0.5, 1, 1, 9}, 4, false},
    {"rotation/bicubic", "random_rotation", {-180, 180, 2, 7}, 4, false},
    {"perspective/bicubic", "random_perspective", {0.5, 1, 2, 9}, 4, false},
    {"elastic/nearest", "elastic_transform", {30, 30, 4, 4, 0}, 5, false},
    {"elastic/bilinear", "elastic_transform", {30, 30, 4, 4, 1}, 5, false},
    {"flip", "random_flip", {1}, 1, false},
    {"vertical_flip", "random_vertical_flip", {1}, 1, false},
    {"brightness", "color_jitter", {0.4}, 1, false},
    {"contrast", "color_jitter", {0, 0.4}, 2, false},
    {"saturation", "color_jitter", {0, 0, 0.4}, 3, false},
    {"hue", "color_jitter", {0, 0, 0, 0.4}, 4, false},
    {"color_jitter", "color_jitter", {0.4, 0.4, 0.4, 0.1}, 4, false},
    {"grayscale", "random_grayscale", {1}, 1, false},
    {"invert", "random_invert", {1}, 1, false},
    {"posterize", "random_posterize", {2, 1}, 2, false},
    {"solarize", "random_solarize", {128, 1}, 2, false},
    {"solarize_add", "random_solarize_add", {110, 128, 1}, 3, false},
    {"autocontrast", "random_autocontrast", {1}, 1, false},
    {"equalize", "random_equalize", {1}, 1, false},
    {"channel_permutation", "random_channel_permutation", {0}, 0, false},
    {"hsv", "random_hsv", {0.1, 0.7, 0.4}, 3, false},
    {"gaussian_blur", "gaussian_blur", {5, 7, 0.1, 3}, 4, false},
    {"pillow_blur", "pillow_blur", {0.1, 3}, 2, false},
    {"sharpness", "random_sharpness", {2.5, 1}, 2, false},
    {"blurred_sharpness", "random_sharpness", {0.2, 1}, 2, false},
    {"erasing", "random_erasing", {1}, 1, false},
    {"erasing/noise", "random_erasing", {1, 0.02, 0.33, 0.3, 3.3, -1, -1, -1, 1}, 9, false},
    {"rand_augment", "rand_augment", {3, 9}, 2, false},
    {"trivial_augment_wide", "trivial_augment_wide", {0}, 0, false},
    {"auto_augment", "auto_augment", {0}, 0, false},
    {"aug_mix", "aug_mix", {0}, 0, false},
    {"timm_augment", "timm_augment", {0}, 0, false},
};

static void check_step(const golden_step *of)
{
    static const double size[] = {OUT_WIDTH, OUT_HEIGHT};
    sluice_augment *recipe = of->sizes ? recipe_of(of->step, of->arguments, of->count)
                                       : recipe_of("center_crop", size, 2);
    if (!of->sizes) {
        sluice_error error = SLUICE_ERROR_INIT;
        if (sluice_augment_add(recipe, of->step, of->arguments, of->count) != SLUICE_OK) {
            (void)sluice_augment_get_error(recipe, &error);
            fail_msg("%s: %s", of->step, error.text);
        }
    }
    for (int exact = 0; exact < 2; exact++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "step/%s%s", of->name, exact ? "/exact" : "");
        sl_simd level = SL_SIMD_SCALAR;
        do {
            expect(name, level, sum_of(recipe, SLUICE_U8, SLUICE_NHWC, level, exact != 0));
            level = canvas_next_level(level);
        } while (level != SL_SIMD_SCALAR);
    }
    sluice_augment_destroy(recipe);
}

TEST(steps)
{
    for (size_t i = 0; i < sizeof(golden_steps) / sizeof(golden_steps[0]); i++) {
        check_step(&golden_steps[i]);
    }
}

/* Each dtype and layout, with and without normalize. */
TEST(conversions)
{
    static const struct {
        const char *name;
        sluice_dtype dtype;
    } dtypes[] = {
        {"u8", SLUICE_U8}, {"f32", SLUICE_F32}, {"f16", SLUICE_F16}, {"bf16", SLUICE_BF16}};
    static const float mean[] = {0.485F, 0.456F, 0.406F};
    static const float deviation[] = {0.229F, 0.224F, 0.225F};
    static const double size[] = {OUT_WIDTH, OUT_HEIGHT};
    for (uint32_t i = 0; i < 16; i++) {
        char name[NAME_BYTES];
        const bool normalised = i % 2 == 1;
        const sluice_layout layout = i / 2 % 2 == 0 ? SLUICE_NHWC : SLUICE_NCHW;
        const uint32_t type = i / 4;
        if (normalised && type == 0) {
            continue;
        }
        sluice_augment *recipe = recipe_of("random_resized_crop", size, 2);
        if (normalised) {
            assert_int_equal(sluice_augment_normalize(recipe, mean, deviation, 3), SLUICE_OK);
        }
        (void)snprintf(name, sizeof(name), "convert/%s/%s%s", dtypes[type].name,
                       layout == SLUICE_NHWC ? "nhwc" : "nchw", normalised ? "/normalised" : "");
        sl_simd level = SL_SIMD_SCALAR;
        do {
            expect(name, level, sum_of(recipe, dtypes[type].dtype, layout, level, false));
            level = canvas_next_level(level);
        } while (level != SL_SIMD_SCALAR);
        sluice_augment_destroy(recipe);
    }
}

/* ---- filters ---- */

/* Down, up, by odd ratios, mirrored, and beyond the image. */
static sl_mapping mapping_of(uint32_t number, sl_interpolation interpolation)
{
    static const uint32_t sizes[][2] = {{7, 5}, {61, 47}, {100, 90}, {33, 95}, {1, 1}};
    const uint32_t *size = sizes[number / 2];
    sl_mapping mapping = {.source = {3, 2, 50, 40},
                          .width = size[0],
                          .height = size[1],
                          .virtual_width = size[0] + number,
                          .virtual_height = size[1] + number,
                          .window_x = (int32_t)number / 3,
                          .window_y = (int32_t)number / 4,
                          .flip_x = number % 2 == 1,
                          .flip_y = number % 4 == 3};
    sl_mapping_interpolate(&mapping, interpolation);
    return mapping;
}

TEST(filters)
{
    static const char *const names[] = {"nearest", "bilinear", "bicubic", "lanczos"};
    static uint8_t out[100 * 100 * 3];
    sl_scratch scratch;
    const sl_image view = whole_view();
    assert_int_equal(sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL), SLUICE_OK);
    for (int kind = SL_NEAREST; kind <= SL_LANCZOS; kind++) {
        for (uint32_t number = 0; number < 10; number++) {
            char name[NAME_BYTES];
            const sl_mapping mapping = mapping_of(number, (sl_interpolation)kind);
            (void)snprintf(name, sizeof(name), "filter/%s/%ux%u%s", names[kind], mapping.width,
                           mapping.height, number % 2 == 1 ? "/mirrored" : "");
            sl_simd level = SL_SIMD_SCALAR;
            do {
                assert_int_equal(sl_resample(level, &view, &mapping, out, &scratch, NULL),
                                 SLUICE_OK);
                expect(name, level, sl_checksum(out, (size_t)mapping.width * mapping.height * 3));
                level = canvas_next_level(level);
            } while (level != SL_SIMD_SCALAR);
        }
    }
    sl_scratch_close(&scratch);
}

/* ---- decoding ---- */

/* Decodes at the process's level (SLUICE_SIMD), scaled by each denominator. */
TEST(decoding)
{
    for (int i = 0; i < picture_count; i++) {
        file_bytes file;
        decoder_setup *f = decoder_open(0, SLUICE_EXIF_APPLY, 0);
        const char *slash = strrchr(pictures[i], '/');
        char folder[512];
        assert_non_null(slash);
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - pictures[i]), pictures[i]);
        file_load(&file, folder, slash + 1);
        for (uint32_t denominator = 1; denominator <= 8; denominator *= 2) {
            char name[NAME_BYTES];
            sl_image view;
            sl_checksum_stream stream;
            const sl_picture open = decoder_picture(f, file.data, file.size);
            const sl_rect all = {0, 0, open.width, open.height};
            sl_checksum_begin(&stream);
            assert_int_equal(sl_decoder_decode(f->decoder, all, open.width / denominator,
                                               open.height / denominator, &view, NULL),
                             SLUICE_OK);
            assert_int_equal(view.denominator, denominator);
            for (uint32_t y = 0; y < view.height; y++) {
                sl_checksum_add(&stream, view.pixels + y * view.stride_bytes,
                                (size_t)view.width * view.channels);
            }
            (void)snprintf(name, sizeof(name), "decode/%s/%u", slash + 1, denominator);
            expect(name, SL_SIMD_SCALAR, sl_checksum_value(&stream));
        }
        file_free(&file);
        decoder_close(f);
    }
}

/* No line is left for results that are no longer made. */
TEST(all_lines_are_made)
{
    assert_true(made_count > 100);
    for (uint32_t i = 0; written == NULL && i < wanted_count; i++) {
        if (!seen[i]) {
            fail_msg("nothing makes %s", wanted[i].name);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 1;
    }
    golden_path = argv[1];
    pictures = (const char *const *)argv + 2;
    picture_count = argc - 2;
    if (getenv("SLUICE_WRITE_GOLDEN") != NULL) {
        written = fopen(golden_path, "w");
        (void)fputs(
            "# Digests (XXH3-64) of pixels: tests/unit/augment_golden_test.c describes them, "
            "and how to write this file.\n",
            written);
    } else {
        read_golden();
    }
    const int failed = test_run(NULL, NULL);
    return written != NULL && fclose(written) != 0 ? 1 : failed;
}
