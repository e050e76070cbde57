/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizing by filters other than bilinear against Pillow: the nearest pixel bit for bit, the others
 * within 1. Arguments: Python, pillow_oracle.py.
 */
#include "jpeg_make.h"
#include "philox.h"
#include "pillow.h"
#include "resample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { RESIZES = 1800, PICTURES = 37, SIDE_MAX = 200, OUT_MAX = 120 };

static const struct {
    sl_interpolation interpolation;
    const char *name;
} filters[] = {{SL_NEAREST, "nearest"}, {SL_BICUBIC, "bicubic"}, {SL_LANCZOS, "lanczos"}};

/* Kinds of resizes, in turn. */
enum { ANY_SIZE, FEW_OUTPUTS, FEW_PIXELS, WINDOW_OUTSIDE, SCALED_DOWN, KINDS };

typedef struct picture {
    uint8_t pixels[SIDE_MAX * SIDE_MAX * 3];
    uint32_t width, height;
} picture;

static picture pictures[PICTURES];

/* A third noise; a third black and white, where filters overshoot most; some thin. */
static void make_pictures(sl_random *random)
{
    for (uint32_t i = 0; i < PICTURES; i++) {
        picture *p = &pictures[i];
        p->width = 1 + sl_random_below(random, i % 7 == 6 ? 3 : SIDE_MAX);
        p->height = 1 + sl_random_below(random, i % 7 == 5 ? 3 : SIDE_MAX);
        pattern_fill(p->pixels, p->width, p->height, 3, i);
        for (size_t k = 0; i % 3 > 0 && k < (size_t)p->width * p->height * 3; k++) {
            p->pixels[k] = i % 3 == 1 ? (uint8_t)sl_random_below(random, 256)
                                      : (uint8_t)(255 * sl_random_below(random, 2));
        }
    }
}

static uint32_t random_size(sl_random *random, uint32_t kind)
{
    return 1 + sl_random_below(random, kind == FEW_OUTPUTS ? 4 : OUT_MAX);
}

/* Draws boxes of whole pixels of the scaled image. */
static sl_mapping random_mapping(sl_random *random, uint32_t kind, const picture *p, uint32_t d)
{
    sl_mapping m = {0};
    const uint32_t most = kind == FEW_PIXELS ? 5 : SIDE_MAX;
    const uint32_t width = 1 + sl_random_below(random, p->width < most ? p->width : most);
    const uint32_t height = 1 + sl_random_below(random, p->height < most ? p->height : most);
    m.source =
        (sl_rect){sl_random_below(random, p->width - width + 1) * d,
                  sl_random_below(random, p->height - height + 1) * d, width * d, height * d};
    m.virtual_width = sl_random_below(random, 8) == 0 ? width : random_size(random, kind);
    m.virtual_height = sl_random_below(random, 8) == 0 ? height : random_size(random, kind);
    m.width = m.virtual_width < OUT_MAX ? m.virtual_width : OUT_MAX;
    m.height = m.virtual_height < OUT_MAX ? m.virtual_height : OUT_MAX;
    if (kind == WINDOW_OUTSIDE) {
        m.window_x = (int32_t)sl_random_below(random, m.virtual_width + 30) - 30;
        m.window_y = (int32_t)sl_random_below(random, m.virtual_height + 30) - 30;
    }
    m.flip_x = sl_random_below(random, 2) == 1;
    return m;
}

/* The needed part of the image, in memory of exactly that size, in the scaled image. The caller
 * frees the memory. */
static sl_image view_of(const picture *p, sl_rect need, uint32_t d, uint8_t **memory)
{
    const uint32_t x = need.x / d;
    const uint32_t y = need.y / d;
    const uint32_t width = (need.x + need.width + d - 1) / d - x;
    const uint32_t height = (need.y + need.height + d - 1) / d - y;
    uint8_t *pixels = malloc((size_t)width * height * 3);
    assert_non_null(pixels);
    *memory = pixels;
    const sl_image part = {.pixels = p->pixels + ((size_t)y * p->width + x) * 3,
                           .width = width,
                           .height = height,
                           .channels = 3,
                           .stride_bytes = (size_t)p->width * 3};
    sl_image_copy(&part, pixels);
    return (sl_image){.pixels = pixels,
                      .width = width,
                      .height = height,
                      .channels = 3,
                      .stride_bytes = (size_t)width * 3,
                      .origin_x = x,
                      .origin_y = y,
                      .picture_width = p->width,
                      .picture_height = p->height,
                      .denominator = d};
}

/* All levels give the same result, also with rows flipped. */
static void resize(const sl_image *view, sl_mapping mapping, uint8_t *out, sl_scratch *scratch)
{
    static uint8_t twin[OUT_MAX * OUT_MAX * 3];
    const size_t row = (size_t)mapping.width * 3;
    assert_int_equal(sl_resample(SL_SIMD_SCALAR, view, &mapping, out, scratch, NULL), SLUICE_OK);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        assert_int_equal(sl_resample((sl_simd)level, view, &mapping, twin, scratch, NULL),
                         SLUICE_OK);
        assert_memory_equal(twin, out, row * mapping.height);
    }
    mapping.flip_y = true;
    assert_int_equal(sl_resample(sl_simd_best(), view, &mapping, twin, scratch, NULL), SLUICE_OK);
    for (uint32_t y = 0; y < mapping.height; y++) {
        assert_memory_equal(twin + (mapping.height - 1 - y) * row, out + y * row, row);
    }
}

static void ask_resize(pillow *oracle, uint32_t number, const picture *image, const sl_mapping *p,
                       uint32_t d, const char *filter)
{
    pillow_ask(oracle, "resize %u %u %u %u %u %u %u %u %u %u %d %d %u %u %d %s", number,
               image->width, image->height, d, p->source.x, p->source.y, p->source.width,
               p->source.height, p->virtual_width, p->virtual_height, p->window_x, p->window_y,
               p->width, p->height, p->flip_x, filter);
}

/* Reports differences by filter. */
static void expect_close(pillow *oracle, uint8_t ours[][OUT_MAX * OUT_MAX * 3],
                         const size_t bytes[RESIZES])
{
    static uint8_t theirs[OUT_MAX * OUT_MAX * 3];
    size_t differ[3] = {0};
    size_t all[3] = {0};
    for (uint32_t i = 0; i < RESIZES; i++) {
        pillow_answer(oracle, i, theirs, bytes[i]);
        for (size_t k = 0; k < bytes[i]; k++) {
            differ[i % 3] += ours[i][k] != theirs[k];
        }
        const int largest = largest_difference(ours[i], theirs, bytes[i]);
        const int allowed = filters[i % 3].interpolation == SL_NEAREST ? 0 : 1;
        if (largest > allowed) {
            print_message("resize %u (kind %u, %s): off by %d\n", i, i / 3 % KINDS,
                          filters[i % 3].name, largest);
        }
        assert_true(largest <= allowed);
        all[i % 3] += bytes[i];
    }
    for (int i = 0; i < 3; i++) {
        print_message("%s: %zu of %zu differ\n", filters[i].name, differ[i], all[i]);
    }
}

TEST(filters_are_pillows)
{
    static uint8_t ours[RESIZES][OUT_MAX * OUT_MAX * 3];
    static size_t bytes[RESIZES];
    pillow oracle;
    sl_scratch scratch;
    pillow_open(&oracle);
    assert_int_equal(sl_scratch_open(&scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    sl_random random = sl_random_for(6, 0, 0, 0);
    make_pictures(&random);
    for (uint32_t i = 0; i < PICTURES; i++) {
        pillow_input(&oracle, i, pictures[i].pixels,
                     (size_t)pictures[i].width * pictures[i].height * 3);
    }
    for (uint32_t i = 0; i < RESIZES; i++) {
        const picture *p = &pictures[i % PICTURES];
        const uint32_t kind = i / 3 % KINDS;
        const uint32_t d = kind == SCALED_DOWN ? 2U << (i / 15 % 3) : 1;
        sl_mapping mapping = random_mapping(&random, kind, p, d);
        sl_mapping_interpolate(&mapping, filters[i % 3].interpolation);
        uint8_t *memory = NULL;
        const sl_image view = view_of(p, sl_mapping_need(&mapping), d, &memory);
        bytes[i] = (size_t)mapping.width * mapping.height * 3;
        resize(&view, mapping, ours[i], &scratch);
        free(memory);
        ask_resize(&oracle, i % PICTURES, p, &mapping, d, filters[i % 3].name);
    }
    pillow_run(&oracle);
    expect_close(&oracle, ours, bytes);
    pillow_close(&oracle);
    sl_scratch_close(&scratch);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
