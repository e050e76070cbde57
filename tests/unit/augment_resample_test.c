/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling against the filter's definition in doubles, the memory it may access, and every
 * instruction set against the scalar one.
 */
#include "jpeg_make.h"
#include "philox.h"
#include "resample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 300, SIDE_MAX = 120, OUT_MAX = 90 };

typedef struct fixture {
    sl_scratch scratch;
    sl_random random;
    uint8_t pixels[SIDE_MAX * SIDE_MAX * 3];
    uint8_t out[OUT_MAX * OUT_MAX * 3], twin[OUT_MAX * OUT_MAX * 3];
    uint32_t width, height;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(sl_scratch_open(&f->scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    f->random = sl_random_for(7, 0, 0, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    sl_scratch_close(&f->scratch);
    free(f);
    return 0;
}

static void random_pixels(fixture *f)
{
    f->width = 1 + sl_random_below(&f->random, SIDE_MAX);
    f->height = 1 + sl_random_below(&f->random, SIDE_MAX);
    for (size_t i = 0; i < (size_t)f->width * f->height * 3; i++) {
        f->pixels[i] = (uint8_t)sl_random_below(&f->random, 256);
    }
}

static sl_mapping random_mapping(fixture *f)
{
    sl_random *r = &f->random;
    sl_mapping mapping = {0};
    mapping.source.width = 1 + sl_random_below(r, f->width);
    mapping.source.height = 1 + sl_random_below(r, f->height);
    mapping.source.x = sl_random_below(r, f->width - mapping.source.width + 1);
    mapping.source.y = sl_random_below(r, f->height - mapping.source.height + 1);
    mapping.virtual_width = 1 + sl_random_below(r, OUT_MAX);
    mapping.virtual_height = 1 + sl_random_below(r, OUT_MAX);
    mapping.width = 1 + sl_random_below(r, mapping.virtual_width);
    mapping.height = 1 + sl_random_below(r, mapping.virtual_height);
    mapping.window_x = (int32_t)sl_random_below(r, mapping.virtual_width - mapping.width + 1);
    mapping.window_y = (int32_t)sl_random_below(r, mapping.virtual_height - mapping.height + 1);
    mapping.flip_x = sl_random_below(r, 2) == 1;
    mapping.flip_y = sl_random_below(r, 2) == 1;
    return mapping;
}

static sl_image whole_view(const fixture *f)
{
    return (sl_image){.pixels = f->pixels,
                      .width = f->width,
                      .height = f->height,
                      .channels = 3,
                      .stride_bytes = (size_t)f->width * 3,
                      .picture_width = f->width,
                      .picture_height = f->height,
                      .denominator = 1};
}

/* Returns the weight of pixel `x` for output `i`, before dividing by the sum of weights. */
static double weight(double start, double size, uint32_t outputs, int64_t i, double x)
{
    double scale = size / outputs;
    double reach = scale > 1.0 ? scale : 1.0;
    double distance = fabs(x + 0.5 - (start + ((double)i + 0.5) * scale)) / reach;
    return distance < 1.0 ? 1.0 - distance : 0.0;
}

/* Returns how much of pixel `x` is inside. */
static double inside(double start, double size, double x)
{
    return fmin(x + 1, start + size) - fmax(x, start);
}

/* Computes one channel of one output pixel by the definition, over the pixels of the box. */
static double reference(const sl_image *view, const sl_mapping *p, uint32_t column, uint32_t row,
                        uint32_t channel)
{
    double d = view->denominator;
    int64_t i = p->window_x + (int64_t)(p->flip_x ? p->width - 1 - column : column);
    int64_t j = p->window_y + (int64_t)(p->flip_y ? p->height - 1 - row : row);
    if (i < 0 || i >= p->virtual_width || j < 0 || j >= p->virtual_height) {
        return 0.0;
    }
    double sum = 0.0;
    double weights = 0.0;
    uint32_t right = (uint32_t)ceil((p->source.x + p->source.width) / d);
    uint32_t bottom = (uint32_t)ceil((p->source.y + p->source.height) / d);
    for (uint32_t y = (uint32_t)(p->source.y / d); y < bottom; y++) {
        double down = weight(p->source.y / d, p->source.height / d, p->virtual_height, j, y) *
                      inside(p->source.y / d, p->source.height / d, y);
        for (uint32_t x = (uint32_t)(p->source.x / d); down > 0 && x < right; x++) {
            double both = down *
                          weight(p->source.x / d, p->source.width / d, p->virtual_width, i, x) *
                          inside(p->source.x / d, p->source.width / d, x);
            sum += both * view->pixels[y * view->stride_bytes + (size_t)x * 3 + channel];
            weights += both;
        }
    }
    return sum / weights;
}

/* The error stated in resample.h: half a step, rounded weights, and the rounding between passes. */
static double tolerance(const sl_image *view, const sl_mapping *p)
{
    const uint32_t factor = 8 * view->denominator;
    const bool small = p->source.width < factor * p->virtual_width &&
                       p->source.height < factor * p->virtual_height;
    return small ? 0.57 : 0.65;
}

static void assert_near_reference(const fixture *f, const sl_image *view, const sl_mapping *p)
{
    for (size_t i = 0; i < (size_t)p->width * p->height; i++) {
        uint32_t x = (uint32_t)(i % p->width);
        uint32_t y = (uint32_t)(i / p->width);
        uint32_t c = (x + y) % 3;
        double expected = reference(view, p, x, y, c);
        double ours = f->out[i * 3 + c];
        if (fabs(ours - expected) > tolerance(view, p)) {
            fail_msg("pixel (%u, %u): %f where %f was expected", x, y, ours, expected);
        }
    }
}

/* Compares with the reference, and expects the same bits from every level available here. */
static void run(fixture *f, const sl_image *view, const sl_mapping *mapping)
{
    const size_t mark = sl_scratch_mark(&f->scratch);
    const size_t bytes = (size_t)mapping->width * mapping->height * 3;
    assert_int_equal(sl_resample(SL_SIMD_SCALAR, view, mapping, f->out, &f->scratch, NULL),
                     SLUICE_OK);
    for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
        memset(f->twin, 99, bytes);
        assert_int_equal(sl_resample((sl_simd)level, view, mapping, f->twin, &f->scratch, NULL),
                         SLUICE_OK);
        assert_memory_equal(f->twin, f->out, bytes);
    }
    assert_int_equal(sl_scratch_mark(&f->scratch), mark);
}

TEST_WITH(random_boxes_match_the_definition, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f);
        sl_mapping mapping = random_mapping(f);
        sl_image view = whole_view(f);
        run(f, &view, &mapping);
        assert_near_reference(f, &view, &mapping);
    }
}

/* Stripes of one pixel, where errors of the weights do not cancel, at factors up to 255. */
TEST_WITH(stripes_match_the_definition, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        const uint32_t length = 200 + sl_random_below(&f->random, 9000);
        const uint32_t outputs = length / 255 + 1 + sl_random_below(&f->random, 4);
        const bool tall = i % 2 == 0;
        for (uint32_t x = 0; x < length * 3; x++) {
            f->pixels[x] = x / 3 % 2 == 0 ? 0 : 255;
        }
        f->width = tall ? 1 : length;
        f->height = tall ? length : 1;
        sl_mapping mapping = {.source = {0, 0, f->width, f->height},
                              .virtual_width = tall ? 1 : outputs,
                              .virtual_height = tall ? outputs : 1,
                              .width = tall ? 1 : outputs,
                              .height = tall ? outputs : 1};
        sl_image view = whole_view(f);
        run(f, &view, &mapping);
        assert_near_reference(f, &view, &mapping);
    }
}

/* Views from a scaling decoder: the image is 1/2, 1/4 or 1/8 of the stored one. */
TEST_WITH(scaled_views_match_the_definition, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f);
        sl_image view = whole_view(f);
        uint32_t full_width = f->width;
        uint32_t full_height = f->height;
        uint32_t d = 2U << (i % 3);
        f->width *= d;
        f->height *= d;
        sl_mapping mapping = random_mapping(f);
        f->width = full_width;
        f->height = full_height;
        view.denominator = d;
        run(f, &view, &mapping);
        assert_near_reference(f, &view, &mapping);
    }
}

/* The same result from a block of exactly the needed pixels: ASan sees any read outside. */
TEST_WITH(only_the_needed_pixels_are_read, setup, teardown)
{
    fixture *f = *state;
    static uint8_t expected[sizeof(f->out)];
    for (int i = 0; i < CASES; i++) {
        random_pixels(f);
        sl_mapping mapping = random_mapping(f);
        sl_image view = whole_view(f);
        run(f, &view, &mapping);
        memcpy(expected, f->out, sizeof(expected));
        const sl_rect need = sl_mapping_need(&mapping);
        size_t row = (size_t)need.width * 3;
        uint8_t *block = malloc(row * need.height);
        assert_non_null(block);
        for (uint32_t y = 0; y < need.height; y++) {
            memcpy(block + y * row,
                   f->pixels + (need.y + y) * view.stride_bytes + (size_t)need.x * 3, row);
        }
        view.pixels = block;
        view.stride_bytes = row;
        view.width = need.width;
        view.height = need.height;
        view.origin_x = need.x;
        view.origin_y = need.y;
        run(f, &view, &mapping);
        assert_memory_equal(f->out, expected, (size_t)mapping.width * mapping.height * 3);
        free(block);
    }
}

TEST_WITH(same_size_copies_and_flips, setup, teardown)
{
    fixture *f = *state;
    random_pixels(f);
    f->width = 31;
    f->height = 17;
    sl_mapping mapping = {.source = {0, 0, 31, 17},
                          .virtual_width = 31,
                          .virtual_height = 17,
                          .width = 31,
                          .height = 17};
    sl_image view = whole_view(f);
    run(f, &view, &mapping);
    assert_memory_equal(f->out, f->pixels, (size_t)31 * 17 * 3);
    mapping.flip_x = true;
    run(f, &view, &mapping);
    for (size_t i = 0; i < (size_t)31 * 17; i++) {
        size_t mirrored = i / 31 * 31 + (30 - i % 31);
        assert_memory_equal(f->out + i * 3, f->pixels + mirrored * 3, 3);
    }
    mapping.flip_x = false;
    mapping.flip_y = true;
    run(f, &view, &mapping);
    for (size_t y = 0; y < 17; y++) {
        assert_memory_equal(f->out + y * 31 * 3, f->pixels + (16 - y) * 31 * 3, (size_t)31 * 3);
    }
}

/* Same size, any window, flipped or not: copied rows, black edges. */
TEST_WITH(random_windows_without_resizing, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f);
        sl_mapping mapping = {.source = {0, 0, f->width, f->height},
                              .virtual_width = f->width,
                              .virtual_height = f->height,
                              .window_x = (int32_t)sl_random_below(&f->random, f->width + 20) - 10,
                              .window_y = (int32_t)sl_random_below(&f->random, f->height + 20) - 10,
                              .width = 1 + sl_random_below(&f->random, OUT_MAX),
                              .height = 1 + sl_random_below(&f->random, OUT_MAX),
                              .flip_x = i % 2 == 0,
                              .flip_y = i % 4 < 2};
        sl_image view = whole_view(f);
        run(f, &view, &mapping);
        for (size_t k = 0; k < (size_t)mapping.width * mapping.height; k++) {
            const uint8_t *pixel = f->out + k * 3;
            const int64_t column = (int64_t)(k % mapping.width);
            const int64_t x =
                mapping.window_x + (mapping.flip_x ? mapping.width - 1 - column : column);
            const int64_t line = (int64_t)(k / mapping.width);
            const int64_t y =
                mapping.window_y + (mapping.flip_y ? mapping.height - 1 - line : line);
            const bool inside = x >= 0 && x < f->width && y >= 0 && y < f->height;
            const uint8_t black[3] = {0};
            assert_memory_equal(pixel, inside ? f->pixels + (y * f->width + x) * 3 : black, 3);
        }
    }
}

/* Padding: a window that extends past each edge, and one entirely outside. */
TEST_WITH(outside_is_black, setup, teardown)
{
    fixture *f = *state;
    const int32_t places[][2] = {{-3, -2}, {4, 5}, {-12, 0}, {0, 12}, {12, 12}, {-1, 3}};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        random_pixels(f);
        f->width = 12;
        f->height = 12;
        sl_mapping mapping = {.source = {0, 0, 12, 12},
                              .virtual_width = 12,
                              .virtual_height = 12,
                              .window_x = places[i][0],
                              .window_y = places[i][1],
                              .width = 12,
                              .height = 12,
                              .flip_x = i % 2 == 0,
                              .flip_y = i % 4 < 2};
        sl_image view = whole_view(f);
        memset(f->out, 99, sizeof(f->out));
        run(f, &view, &mapping);
        assert_near_reference(f, &view, &mapping);
    }
}

/* Weights sum to exactly 1, however many there are. */
TEST_WITH(flat_stays_flat, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        random_pixels(f);
        const uint8_t value = i % 3 == 0 ? 255 : (uint8_t)sl_random_below(&f->random, 256);
        memset(f->pixels, value, sizeof(f->pixels));
        sl_mapping mapping = random_mapping(f);
        sl_image view = whole_view(f);
        run(f, &view, &mapping);
        for (size_t k = 0; k < (size_t)mapping.width * mapping.height * 3; k++) {
            assert_int_equal(f->out[k], value);
        }
    }
}

/* Far beyond the scale factors for which the accuracy is stated. */
TEST(white_stays_white)
{
    static sl_scratch scratch;
    const uint32_t length = 200000;
    assert_int_equal(sl_scratch_open(&scratch, 64 << 20, 64 << 20, NULL), SLUICE_OK);
    uint8_t *row = malloc((size_t)length * 3);
    assert_non_null(row);
    memset(row, 255, (size_t)length * 3);
    for (uint32_t outputs = 1; outputs < 8; outputs++) {
        for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
            const bool tall = outputs % 2 == 0;
            sl_mapping mapping = {.source = {0, 0, tall ? 1 : length, tall ? length : 1},
                                  .virtual_width = outputs,
                                  .virtual_height = 1,
                                  .width = outputs,
                                  .height = 1};
            sl_image view = {row, tall ? 1 : length, tall ? length : 1, 3, 3, 0, 0, length, 1, 1};
            uint8_t out[8 * 3] = {0};
            assert_int_equal(sl_resample((sl_simd)level, &view, &mapping, out, &scratch, NULL),
                             SLUICE_OK);
            for (size_t i = 0; i < (size_t)outputs * 3; i++) {
                assert_int_equal(out[i], 255);
            }
        }
    }
    free(row);
    sl_scratch_close(&scratch);
}

/* ---- bicubic and Lanczos over many pixels: both passes are in binary32 ---- */

enum { LONG_SIDE = 4096, SHORT_SIDE = 3, FEW = 2 };

static double lobes(sl_interpolation kind, double x)
{
    x = fabs(x);
    if (kind == SL_BICUBIC) { /* a = -0.5 */
        return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
    }
    const double pi = acos(-1);
    const double sinc = x > 0 ? sin(pi * x) / (pi * x) : 1;
    return x >= 3 ? 0 : x > 0 ? sinc * sin(pi * x / 3) / (pi * x / 3) : 1;
}

/* Computes output `i` of `count`, from `size` samples that are `step` apart. */
static double along(sl_interpolation kind, const double *in, uint32_t size, uint32_t step,
                    uint32_t i, uint32_t count)
{
    const double scale = (double)size / count;
    const double reach = scale > 1 ? scale : 1;
    double sum = 0;
    double weights = 0;
    for (uint32_t x = 0; x < size; x++) {
        const double w = lobes(kind, (x + 0.5 - (i + 0.5) * scale) / reach);
        sum += w * in[(size_t)x * step];
        weights += w;
    }
    return sum / weights;
}

static void check_reduction(sl_interpolation kind, const uint8_t *pixels, uint32_t width,
                            uint32_t height)
{
    static double in[LONG_SIDE * SHORT_SIDE * 3];
    static double rows[FEW * LONG_SIDE * 3];
    static uint8_t first[FEW * FEW * 3];
    static uint8_t out[FEW * FEW * 3];
    sl_scratch scratch;
    sl_mapping mapping = {.source = {0, 0, width, height},
                          .virtual_width = FEW,
                          .virtual_height = FEW,
                          .width = FEW,
                          .height = FEW};
    const sl_image view = {.pixels = pixels,
                           .width = width,
                           .height = height,
                           .channels = 3,
                           .stride_bytes = (size_t)width * 3,
                           .picture_width = width,
                           .picture_height = height,
                           .denominator = 1};
    sl_mapping_interpolate(&mapping, kind);
    assert_int_equal(sl_scratch_open(&scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        assert_int_equal(sl_resample((sl_simd)level, &view, &mapping, out, &scratch, NULL),
                         SLUICE_OK);
        if (level == SL_SIMD_SCALAR) {
            memcpy(first, out, sizeof(first));
        }
        assert_memory_equal(out, first, sizeof(out));
    }
    sl_scratch_close(&scratch);
    for (size_t k = 0; k < (size_t)width * height * 3; k++) {
        in[k] = pixels[k];
    }
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t k = 0; k < FEW * 3; k++) {
            rows[y * FEW * 3 + k] =
                along(kind, in + (size_t)y * width * 3 + k % 3, width, 3, k / 3, FEW);
        }
    }
    for (uint32_t k = 0; k < FEW * FEW * 3; k++) {
        const double exact = along(kind, rows + k % (FEW * 3), height, FEW * 3, k / (FEW * 3), FEW);
        assert_true(fabs(fmin(fmax(exact, 0), 255) - out[k]) < 1);
    }
}

TEST(large_reductions_match_the_definition)
{
    static uint8_t pixels[LONG_SIDE * SHORT_SIDE * 3];
    sl_random random = sl_random_for(31, 0, 0, 0);
    for (uint32_t round = 0; round < 6; round++) {
        for (size_t k = 0; k < sizeof(pixels); k++) {
            const uint32_t shade = sl_random_below(&random, 256);
            pixels[k] = (uint8_t)(round < 2 ? shade : round < 4 ? 255 * (shade & 1) : 255);
        }
        const sl_interpolation kind = round % 2 == 0 ? SL_BICUBIC : SL_LANCZOS;
        check_reduction(kind, pixels, LONG_SIDE, SHORT_SIDE);
        check_reduction(kind, pixels, SHORT_SIDE, LONG_SIDE);
    }
}

TEST_WITH(too_little_scratch_is_an_error, setup, teardown)
{
    fixture *f = *state;
    random_pixels(f);
    sl_mapping mapping = random_mapping(f);
    sl_image view = whole_view(f);
    sl_scratch tiny;
    for (size_t limit = 64; limit < 1024; limit += 64) {
        assert_int_equal(sl_scratch_open(&tiny, limit, limit, NULL), SLUICE_OK);
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_status status = sl_resample(sl_simd_best(), &view, &mapping, f->out, &tiny, &error);
        assert_true(status == SLUICE_OK || status == SLUICE_NOMEM);
        if (limit == 64) {
            assert_int_equal(status, SLUICE_NOMEM);
            assert_string_equal(error.stage, "augment");
        }
        sl_scratch_close(&tiny);
    }
}
