/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps: the memory they may access, frames by brute force, every instruction set against the
 * scalar one, and invalid matrices. augment_warp_pillow_test.c compares them with Pillow.
 */
#include "philox.h"
#include "test.h"
#include "warp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CASES = 600, SIDE_MAX = 70, OUT_MAX = 80, BYTES = 1 << 16 };

/* Memory that ends at an unmapped page. */
typedef struct fence {
    uint8_t *block;
    size_t page;
} fence;

static fence fence_open(void)
{
    fence f = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    f.block =
        mmap(NULL, BYTES + f.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.block != MAP_FAILED);
    assert_int_equal(mprotect(f.block + BYTES, f.page, PROT_NONE), 0);
    return f;
}

static void fence_close(fence *f)
{
    munmap(f->block, BYTES + f->page);
}

typedef struct fixture {
    sl_scratch scratch;
    sl_random random;
    fence in, out;
    uint32_t width, height;
    uint8_t pixels[SIDE_MAX * SIDE_MAX * 3];
    uint8_t expected[OUT_MAX * OUT_MAX * 3];
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(sl_scratch_open(&f->scratch, 1 << 20, 1 << 20, NULL), SLUICE_OK);
    f->random = sl_random_for(8, 0, 0, 0);
    f->in = fence_open();
    f->out = fence_open();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    fence_close(&f->in);
    fence_close(&f->out);
    sl_scratch_close(&f->scratch);
    free(f);
    return 0;
}

static double between(fixture *f, double least, double most)
{
    return sl_random_range(&f->random, least, most);
}

/* Draws pixels that all differ from the fill's colour. */
static void random_pixels(fixture *f, int number)
{
    f->width = 1 + sl_random_below(&f->random, number % 5 == 0 ? 4 : SIDE_MAX);
    f->height = 1 + sl_random_below(&f->random, number % 7 == 0 ? 4 : SIDE_MAX);
    for (size_t i = 0; i < (size_t)f->width * f->height * 3; i++) {
        f->pixels[i] = (uint8_t)(20 + sl_random_below(&f->random, 200));
    }
}

/* Draws a matrix around the centres of `width` x `height` and of the output. */
static void random_matrix(fixture *f, const sl_warp *warp, uint32_t width, uint32_t height,
                          bool perspective, double m[9])
{
    const bool straight = sl_random_below(&f->random, 4) == 0;
    m[0] = between(f, -1.5, 1.5);
    m[4] = between(f, -1.5, 1.5);
    m[1] = straight ? 0 : between(f, -1, 1);
    m[3] = straight ? 0 : between(f, -1, 1);
    m[2] = width / 2.0 - (m[0] * warp->width + m[1] * warp->height) / 2;
    m[5] = height / 2.0 - (m[3] * warp->width + m[4] * warp->height) / 2;
    m[6] = perspective ? between(f, -0.004, 0.004) : 0;
    m[7] = perspective ? between(f, -0.004, 0.004) : 0;
    m[8] = 1;
}

static sl_warp random_warp(fixture *f, int number)
{
    sl_warp warp = {.width = 1 + sl_random_below(&f->random, OUT_MAX),
                    .height = 1 + sl_random_below(&f->random, OUT_MAX),
                    .interpolation = (sl_interpolation)(number % 3),
                    .fill = {1, (uint8_t)(number % 2), 3}};
    random_matrix(f, &warp, f->width, f->height, number % 4 == 3, warp.matrix);
    return warp;
}

/* Returns `part` of the image, ending at an unmapped page. */
static sl_image view_of(const fixture *f, sl_rect part)
{
    const size_t bytes = (size_t)part.width * part.height * 3;
    sl_image view = {.pixels = f->pixels + ((size_t)part.y * f->width + part.x) * 3,
                     .width = part.width,
                     .height = part.height,
                     .channels = 3,
                     .stride_bytes = (size_t)f->width * 3,
                     .origin_x = part.x,
                     .origin_y = part.y,
                     .picture_width = f->width,
                     .picture_height = f->height,
                     .denominator = 1};
    uint8_t *to = f->in.block + BYTES - bytes;
    sl_image_copy(&view, to);
    view.pixels = to;
    view.stride_bytes = (size_t)part.width * 3;
    return view;
}

static void apply(fixture *f, sl_simd simd, const sl_warp *warp, sl_rect part, uint8_t *out)
{
    const sl_image view = view_of(f, part);
    const size_t mark = sl_scratch_mark(&f->scratch);
    assert_int_equal(sl_warp_apply(simd, warp, &view, out, &f->scratch, NULL), SLUICE_OK);
    assert_int_equal(sl_scratch_mark(&f->scratch), mark);
}

/* From the whole image and from the needed part, at every level. */
static void expect_all_levels(fixture *f, const sl_warp *warp)
{
    const sl_rect whole = {0, 0, f->width, f->height};
    const sl_rect need = sl_warp_need(warp, f->width, f->height);
    const size_t bytes = (size_t)warp->width * warp->height * 3;
    uint8_t *out = f->out.block + BYTES - bytes;
    assert_true(need.width > 0 && need.x + need.width <= f->width);
    assert_true(need.height > 0 && need.y + need.height <= f->height);
    apply(f, SL_SIMD_SCALAR, warp, whole, f->expected);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        for (int part = 0; part < 2; part++) {
            memset(out - 64, 77, 64 + bytes);
            apply(f, (sl_simd)level, warp, part == 0 ? whole : need, out);
            assert_memory_equal(out, f->expected, bytes);
            for (int i = 1; i <= 64; i++) {
                assert_int_equal(out[-i], 77);
            }
        }
    }
}

TEST_WITH(levels_and_views_are_the_same, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f, i);
        const sl_warp warp = random_warp(f, i);
        expect_all_levels(f, &warp);
    }
}

enum { WIDE = 700, TALL = 9, OUT = 900 };

/* Noise, or so smooth that many interpolated values are integers. */
static void smooth_pixels(fixture *f, uint32_t number, uint8_t picture[WIDE * TALL * 3])
{
    const uint32_t slope = 1 + sl_random_below(&f->random, 40);
    for (uint32_t k = 0; k < WIDE * TALL * 3; k++) {
        const uint32_t noise = sl_random_below(&f->random, number % 3 == 0 ? 256 : 2);
        picture[k] = (uint8_t)(k / 3 % WIDE / slope + k % 3 * 9 + k / (3 * WIDE) / 3 + noise);
    }
}

/* Around the centres, along an axis; half of them give integers. */
static void upright_axis(fixture *f, sl_warp *warp, size_t axis, double size, double made)
{
    static const double factors[] = {1, 0.5, -0.5, 0.75, 1.25, -1, 2, 0.0625, 1.0 / 3};
    const bool simple = sl_random_below(&f->random, 2) == 0;
    double *m = warp->matrix + axis * 3;
    m[axis] = simple ? factors[sl_random_below(&f->random, 9)] : between(f, -2.1, 2.1);
    m[2] = size / 2 - m[axis] * made / 2 + (simple ? 0.25 : between(f, -20, 20));
}

/* Without rotation, over rows of several blocks. */
TEST_WITH(upright_maps_are_the_same, setup, teardown)
{
    static uint8_t picture[WIDE * TALL * 3];
    static uint8_t expected[OUT * TALL * 3];
    static uint8_t ours[OUT * TALL * 3];
    fixture *f = *state;
    const sl_image view = {.pixels = picture,
                           .width = WIDE,
                           .height = TALL,
                           .channels = 3,
                           .stride_bytes = (size_t)WIDE * 3,
                           .picture_width = WIDE,
                           .picture_height = TALL,
                           .denominator = 1};
    for (uint32_t i = 0; i < 300; i++) {
        sl_warp warp = {.width = 1 + sl_random_below(&f->random, OUT),
                        .height = TALL,
                        .interpolation = SL_BILINEAR,
                        .matrix = {[8] = 1}};
        smooth_pixels(f, i, picture);
        upright_axis(f, &warp, 0, WIDE, warp.width);
        upright_axis(f, &warp, 1, TALL, TALL);
        assert_int_equal(sl_warp_apply(SL_SIMD_SCALAR, &warp, &view, expected, &f->scratch, NULL),
                         SLUICE_OK);
        for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
            assert_int_equal(sl_warp_apply((sl_simd)level, &warp, &view, ours, &f->scratch, NULL),
                             SLUICE_OK);
            assert_memory_equal(ours, expected, (size_t)warp.width * TALL * 3);
        }
    }
}

/* Blocks of one colour, so that a row often begins or ends one, and a few differing pixels. */
static void flat_blocks(fixture *f, uint32_t side, uint8_t picture[WIDE * TALL * 3])
{
    static const uint8_t colours[] = {0, 255, 1, 254, 128, 160};
    for (uint32_t k = 0; k < WIDE * TALL; k++) {
        const uint32_t block = k % WIDE / side + k / WIDE / (1 + side % 4);
        for (uint32_t c = 0; c < 3; c++) {
            picture[(size_t)k * 3 + c] = colours[(block * (c + 1) + side) % sizeof(colours)];
        }
    }
    for (uint32_t k = sl_random_below(&f->random, 4); k > 0; k--) {
        const uint32_t place = sl_random_below(&f->random, WIDE * TALL * 3);
        picture[place] ^= (uint8_t)(1 << sl_random_below(&f->random, 8));
    }
}

/* Returns a number a few steps of 2^-52, or of any smaller power of 2, above or below. */
static double hair_off(fixture *f, double value)
{
    const int steps = (int)sl_random_below(&f->random, 7) - 3;
    const bool least = sl_random_below(&f->random, 2) == 0;
    return value + steps * ldexp(1, least ? -52 : -52 + (int)sl_random_below(&f->random, 40));
}

/* Puts coordinates of many pixels at the middles or edges of pixels, or very slightly off. */
static void directed_axis(fixture *f, sl_warp *warp, size_t axis, double size)
{
    static const double factors[] = {1, -1, 0.5, -0.5, 0.25, 2, 0.75, 1.5, 0, 3, 1.0 / 3, 0.0625};
    double *m = warp->matrix + axis * 3;
    m[axis] = hair_off(f, factors[sl_random_below(&f->random, 12)]);
    m[1 - axis] = hair_off(f, axis == 0 && sl_random_below(&f->random, 2) == 0 ? 0.5 : 0);
    const double first = sl_random_below(&f->random, (uint32_t)size * 2 + 2) / 2.0 - 0.5;
    m[2] = hair_off(f, first - 0.5 * m[0] - 0.5 * m[1]);
}

/* In the vector kernels' fixed point, such a coordinate is on the other side of a middle. */
TEST_WITH(coordinates_a_hair_off_are_the_same, setup, teardown)
{
    static uint8_t picture[WIDE * TALL * 3];
    static uint8_t expected[OUT * TALL * 3];
    static uint8_t ours[OUT * TALL * 3];
    fixture *f = *state;
    for (uint32_t i = 0; i < TEST_AMOUNT(6000, 600); i++) {
        const uint32_t width = 1 + sl_random_below(&f->random, i % 4 == 0 ? WIDE : 40);
        const sl_image view = {.pixels = picture,
                               .width = width,
                               .height = TALL,
                               .channels = 3,
                               .stride_bytes = (size_t)WIDE * 3,
                               .picture_width = width,
                               .picture_height = TALL,
                               .denominator = 1};
        sl_warp warp = {.width = 1 + sl_random_below(&f->random, i % 8 == 0 ? 200 : 40),
                        .height = 1 + sl_random_below(&f->random, TALL),
                        .interpolation = (sl_interpolation)(i % 3),
                        .fill = {7, 8, 9},
                        .matrix = {[8] = 1}};
        flat_blocks(f, 1 + sl_random_below(&f->random, 24), picture);
        directed_axis(f, &warp, 0, width);
        directed_axis(f, &warp, 1, TALL);
        assert_int_equal(sl_warp_apply(SL_SIMD_SCALAR, &warp, &view, expected, &f->scratch, NULL),
                         SLUICE_OK);
        for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
            assert_int_equal(sl_warp_apply((sl_simd)level, &warp, &view, ours, &f->scratch, NULL),
                             SLUICE_OK);
            assert_memory_equal(ours, expected, (size_t)warp.width * warp.height * 3);
        }
    }
}

/* A row's constants cancel, so that doubles themselves are less accurate than kernels allow for. */
TEST_WITH(huge_constants_are_the_same, setup, teardown)
{
    static uint8_t picture[WIDE * TALL * 3];
    static uint8_t expected[OUT * TALL * 3];
    static uint8_t ours[OUT * TALL * 3];
    fixture *f = *state;
    const sl_image view = {.pixels = picture,
                           .width = WIDE,
                           .height = TALL,
                           .channels = 3,
                           .stride_bytes = (size_t)WIDE * 3,
                           .picture_width = WIDE,
                           .picture_height = TALL,
                           .denominator = 1};
    for (uint32_t i = 0; i < 600; i++) {
        const double huge = ldexp(between(f, 1, 2), 18 + (int)(i / 6 % 30));
        sl_warp warp = {.width = 300,
                        .height = 3,
                        .interpolation = (sl_interpolation)(1 + i % 2),
                        .matrix = {between(f, 0.3, 1.3), huge, -huge * (i % 3 + 0.5),
                                   between(f, -0.01, 0.01), -huge, huge * (i % 3 + 0.5), 0, 0, 1}};
        smooth_pixels(f, i, picture);
        warp.matrix[2] += between(f, 0, 20);
        warp.matrix[5] += between(f, 1, 8);
        assert_int_equal(sl_warp_apply(SL_SIMD_SCALAR, &warp, &view, expected, &f->scratch, NULL),
                         SLUICE_OK);
        for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
            assert_int_equal(sl_warp_apply((sl_simd)level, &warp, &view, ours, &f->scratch, NULL),
                             SLUICE_OK);
            assert_memory_equal(ours, expected, (size_t)warp.width * warp.height * 3);
        }
    }
}

static bool is_in(const double m[9], uint32_t width, uint32_t height, uint32_t column, uint32_t row)
{
    const double x = column + 0.5;
    const double y = row + 0.5;
    const double w = m[6] * x + m[7] * y + m[8];
    const double there_x = (m[0] * x + m[1] * y + m[2]) / w;
    const double there_y = (m[3] * x + m[4] * y + m[5]) / w;
    return there_x >= 0 && there_x < width && there_y >= 0 && there_y < height;
}

/* The same as without frames, except for pixels outside a frame. */
TEST_WITH(frames_cut, setup, teardown)
{
    fixture *f = *state;
    static uint8_t uncut[OUT_MAX * OUT_MAX * 3];
    size_t cut = 0;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f, i);
        sl_warp warp = random_warp(f, i);
        apply(f, SL_SIMD_SCALAR, &warp, (sl_rect){0, 0, f->width, f->height}, uncut);
        warp.frame_count = 1 + (uint32_t)i % SL_WARP_FRAMES;
        for (uint32_t k = 0; k < warp.frame_count; k++) {
            sl_warp_frame *frame = &warp.frames[k];
            frame->width = 1 + sl_random_below(&f->random, OUT_MAX);
            frame->height = 1 + sl_random_below(&f->random, OUT_MAX);
            random_matrix(f, &warp, frame->width, frame->height,
                          sl_random_below(&f->random, 4) == 0, frame->matrix);
        }
        expect_all_levels(f, &warp);
        for (size_t k = 0; k < (size_t)warp.width * warp.height; k++) {
            bool inside = true;
            for (uint32_t j = 0; j < warp.frame_count; j++) {
                const sl_warp_frame *frame = &warp.frames[j];
                inside = inside && is_in(frame->matrix, frame->width, frame->height,
                                         (uint32_t)(k % warp.width), (uint32_t)(k / warp.width));
            }
            assert_memory_equal(f->expected + k * 3, inside ? uncut + k * 3 : warp.fill, 3);
            cut += !inside && memcmp(uncut + k * 3, warp.fill, 3) != 0;
        }
    }
    assert_true(cut > CASES);
}

/* Pixels are copied with every interpolation, also when rotated by right angles. */
TEST_WITH(whole_steps_copy, setup, teardown)
{
    fixture *f = *state;
    static const int turns[][4] = {{1, 0, 0, 1}, {-1, 0, 0, 1}, {0, 1, 1, 0}, {0, -1, 1, 0}};
    for (int i = 0; i < CASES; i++) {
        random_pixels(f, i);
        sl_warp warp = random_warp(f, i);
        const int *t = turns[i / 3 % 4];
        const int dx = (int)sl_random_below(&f->random, 60) - 10;
        const int dy = (int)sl_random_below(&f->random, 60) - 10;
        const double m[9] = {t[0], t[1], dx, t[2], t[3], dy, 0, 0, 1};
        memcpy(warp.matrix, m, sizeof(m));
        expect_all_levels(f, &warp);
        for (uint32_t k = 0; k < warp.width * warp.height; k++) {
            const int column = (int)(k % warp.width);
            const int row = (int)(k / warp.width);
            const int x = t[0] * column + t[1] * row + dx - (t[0] + t[1] < 0);
            const int y = t[2] * column + t[3] * row + dy - (t[2] + t[3] < 0);
            const bool inside = x >= 0 && x < (int)f->width && y >= 0 && y < (int)f->height;
            const uint8_t *from = f->pixels + ((size_t)y * f->width + (size_t)x) * 3;
            assert_memory_equal(f->expected + (size_t)k * 3, inside ? from : warp.fill, 3);
        }
    }
}

/* Flat stays flat up to the edges: no fill is mixed in. */
TEST_WITH(flat_stays_flat, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f, i);
        memset(f->pixels, 20 + i % 236, sizeof(f->pixels));
        const sl_warp warp = random_warp(f, i);
        expect_all_levels(f, &warp);
        for (size_t k = 0; k < (size_t)warp.width * warp.height; k++) {
            const uint8_t *pixel = f->expected + k * 3;
            assert_true(memcmp(pixel, warp.fill, 3) == 0 || memcmp(pixel, f->pixels, 3) == 0);
        }
    }
}

TEST_WITH(maps_that_fold_are_shown_whole, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f, i);
        sl_warp warp = random_warp(f, i);
        warp.matrix[6] = between(f, -2, 2);
        warp.matrix[7] = between(f, -2, 2);
        warp.matrix[8] = i % 2 == 0 ? 1 : between(f, -1, 1);
        bool proper = true;
        for (uint32_t k = 0; k < 4; k++) {
            const double x = k % 2 == 0 ? 0 : warp.width;
            const double y = k / 2 == 0 ? 0 : warp.height;
            proper = proper && warp.matrix[6] * x + warp.matrix[7] * y + warp.matrix[8] > 0;
        }
        assert_true(sl_warp_is_proper(&warp) == proper);
        const sl_rect need = sl_warp_need(&warp, f->width, f->height);
        assert_true(proper || (need.width == f->width && need.height == f->height));
        expect_all_levels(f, &warp);
    }
}

/* Numbers that no image has, including NaN: the output is filled and nothing else is accessed. */
TEST_WITH(any_numbers_are_safe, setup, teardown)
{
    fixture *f = *state;
    const double odd[] = {0,    -0.0,     1e-300, 1e-9,    1e9,      -1e9, 3e9,
                          1e18, -DBL_MAX, 1e300,  DBL_MAX, INFINITY, NAN,  32768};
    const uint32_t count = sizeof(odd) / sizeof(odd[0]);
    for (int i = 0; i < CASES * 2; i++) {
        random_pixels(f, i);
        sl_warp warp = random_warp(f, i);
        for (uint32_t k = 0; k <= sl_random_below(&f->random, 4); k++) {
            warp.matrix[sl_random_below(&f->random, i % 2 == 0 ? 6 : 9)] =
                odd[sl_random_below(&f->random, count)];
        }
        warp.frame_count = i % 3 == 0;
        memcpy(warp.frames[0].matrix, warp.matrix, sizeof(warp.matrix));
        warp.frames[0].matrix[sl_random_below(&f->random, 6)] =
            odd[sl_random_below(&f->random, count)];
        warp.frames[0].width = warp.frames[0].height = 50;
        expect_all_levels(f, &warp);
    }
}

TEST_WITH(too_little_scratch_is_an_error, setup, teardown)
{
    fixture *f = *state;
    random_pixels(f, 1);
    const sl_warp warp = random_warp(f, 1);
    const sl_image view = view_of(f, (sl_rect){0, 0, f->width, f->height});
    sl_scratch tiny;
    for (size_t limit = 64; limit < 4096; limit += 64) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sl_scratch_open(&tiny, limit, limit, NULL), SLUICE_OK);
        const sluice_status status =
            sl_warp_apply(sl_simd_best(), &warp, &view, f->expected, &tiny, &error);
        assert_true(status == SLUICE_OK || status == SLUICE_NOMEM);
        if (limit == 64) {
            assert_int_equal(status, SLUICE_NOMEM);
            assert_string_equal(error.stage, "augment");
        }
        sl_scratch_close(&tiny);
    }
}
