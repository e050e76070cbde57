/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of each instruction set against the scalar ones, with unmapped pages around the data. */
#include "convert.h"
#include "converter.h"
#include "philox.h"
#include "resample_kernels.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CASES = 400, SAMPLES_MAX = 300, TAPS_MAX = 40, OUTPUTS_MAX = 100, STEP_MAX = 7, GUARD = 64 };

/* A block of memory between two unmapped pages. */
typedef struct fence {
    uint8_t *block;
    size_t bytes, page;
} fence;

static fence fence_open(size_t bytes)
{
    fence f = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    f.bytes = (bytes + f.page - 1) / f.page * f.page;
    uint8_t *memory = mmap(NULL, f.bytes + 2 * f.page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory, f.page, PROT_NONE), 0);
    assert_int_equal(mprotect(memory + f.page + f.bytes, f.page, PROT_NONE), 0);
    f.block = memory + f.page;
    return f;
}

/* Returns `bytes` that end, or begin, at an unmapped page. */
static void *at_end(const fence *f, size_t bytes)
{
    return f->block + f->bytes - bytes;
}

static void *at_either(const fence *f, size_t bytes, bool end)
{
    return end ? at_end(f, bytes) : f->block;
}

static void fence_close(fence *f)
{
    munmap(f->block - f->page, f->bytes + 2 * f->page);
}

typedef struct fixture {
    sl_random random;
    fence in, out;
    sl_scratch scratch;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->random = sl_random_for(3, 0, 0, 0);
    f->in = fence_open((size_t)2 * SAMPLES_MAX * TAPS_MAX);
    f->out = fence_open((size_t)3 * SAMPLES_MAX * sizeof(float));
    assert_int_equal(sl_scratch_open(&f->scratch, 4 << 20, 4 << 20, NULL), SLUICE_OK);
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

/* Every third buffer is white, where sums are largest. */
static void fill_bytes(fixture *f, uint8_t *bytes, size_t count, int number)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = number % 3 == 0 ? 255 : (uint8_t)sl_random_below(&f->random, 256);
    }
}

/* Weights of `taps` that sum to 1 << bits, in any proportion; each fits. */
static void fill_weights(sl_random *random, int16_t *weights, uint32_t taps, uint32_t bits)
{
    uint32_t left = 1U << bits;
    for (uint32_t k = 0; k < taps; k++) {
        const uint32_t most = left < INT16_MAX ? left : INT16_MAX;
        const uint32_t share = k + 1 == taps ? most : sl_random_below(random, most + 1);
        weights[k] = (int16_t)share;
        left -= share;
    }
}

TEST_WITH(vertical_passes, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        int16_t weights[TAPS_MAX + 1] = {0};
        int16_t expected[SAMPLES_MAX];
        sl_vertical pass = {.weights = weights,
                            .taps = 1 + sl_random_below(&f->random, i % 2 == 0 ? 6 : TAPS_MAX),
                            .shift = 7 + sl_random_below(&f->random, 9),
                            .samples = 1 + sl_random_below(&f->random, SAMPLES_MAX)};
        pass.stride_bytes = pass.samples + sl_random_below(&f->random, SAMPLES_MAX);
        fill_weights(&f->random, weights, pass.taps, 7 + pass.shift);
        const size_t bytes = pass.stride_bytes * (pass.taps - 1) + pass.samples;
        uint8_t *in = at_either(&f->in, bytes, i % 4 < 2);
        fill_bytes(f, in, bytes, i);
        pass.in = in;
        sl_resample_scalar.vertical(&pass, expected);
        for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
            int16_t *out = at_end(&f->out, pass.samples * sizeof(*out));
            memset(out - GUARD, 77, GUARD * sizeof(*out));
            sl_resample_kernels_for((sl_simd)level)->vertical(&pass, out);
            assert_memory_equal(out, expected, pass.samples * sizeof(*out));
            for (int k = 1; k <= GUARD; k++) {
                assert_int_equal(out[-k], 77 * 257);
            }
        }
    }
}

/* A horizontal pass with its input and the scalar kernel's output. */
typedef struct across {
    sl_horizontal pass;
    uint32_t bits, fraction;
    int32_t starts[OUTPUTS_MAX + SL_LANES];
    int16_t weights[(OUTPUTS_MAX + SL_LANES) * TAPS_MAX];
    int16_t row[(OUTPUTS_MAX + SL_LANES) * STEP_MAX * 3 + TAPS_MAX * 3 + SL_ROW_SLACK];
    uint8_t expected[OUTPUTS_MAX * 3];
} across;

/* Fills starts that rise or fall, by steps up to `step`. */
static void fill_starts(sl_random *random, across *a, uint32_t step, bool falling)
{
    int32_t start = 0;
    for (uint32_t i = 0; i < a->pass.padded; i++) {
        const uint32_t place = falling ? a->pass.padded - 1 - i : i;
        a->starts[place] = start;
        start += (int32_t)sl_random_below(random, step + 1);
    }
}

static void fill_pairs(sl_random *random, across *a)
{
    int16_t taps[TAPS_MAX];
    memset(a->weights, 0, sizeof(a->weights));
    for (uint32_t k = 0; k < a->pass.outputs; k++) {
        fill_weights(random, taps, a->pass.pairs * 2, a->bits);
        for (uint32_t j = 0; j < a->pass.pairs; j++) {
            memcpy(a->weights + ((size_t)j * a->pass.padded + k) * 2, taps + (size_t)j * 2,
                   2 * sizeof(taps[0]));
        }
    }
}

/* Every fifth row is white, where sums are largest. */
static void fill_row(sl_random *random, across *a, bool white)
{
    const uint32_t largest = 255U << a->fraction;
    for (size_t k = 0; k < sizeof(a->row) / sizeof(a->row[0]); k++) {
        a->row[k] = (int16_t)(white ? largest : sl_random_below(random, largest + 1));
    }
}

static void random_across(sl_random *random, across *a, int number)
{
    a->bits = 14 + (uint32_t)number % 6;
    a->fraction = a->bits < 16 ? 7 : 23 - a->bits;
    a->pass =
        (sl_horizontal){.outputs = 1 + sl_random_below(random, OUTPUTS_MAX),
                        .pairs = 1 + sl_random_below(random, number % 2 == 0 ? TAPS_MAX / 2 : 4),
                        .shift = a->bits + a->fraction,
                        .starts = a->starts,
                        .weights = a->weights};
    a->pass.padded = (a->pass.outputs + SL_LANES - 1) / SL_LANES * SL_LANES;
    fill_starts(random, a, (uint32_t)number % (STEP_MAX + 1), number % 3 == 0);
    fill_pairs(random, a);
    fill_row(random, a, number % 5 == 0);
    sl_resample_scalar.horizontal(&a->pass, a->row, a->expected);
}

TEST_WITH(horizontal_passes, setup, teardown)
{
    fixture *f = *state;
    static across a;
    for (int i = 0; i < CASES; i++) {
        random_across(&f->random, &a, i);
        for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
            const sl_resample_kernels *kernels = sl_resample_kernels_for((sl_simd)level);
            uint8_t *out = at_end(&f->out, (size_t)a.pass.padded * 3 + SL_ROW_SLACK);
            sl_horizontal own = a.pass;
            sl_scratch_reset(&f->scratch);
            assert_true(kernels->prepare == NULL || kernels->prepare(&own, &f->scratch));
            memset(out - GUARD, 77, GUARD);
            kernels->horizontal(&own, a.row, out);
            assert_memory_equal(out, a.expected, (size_t)a.pass.outputs * 3);
            for (int k = 1; k <= GUARD; k++) {
                assert_int_equal(out[-k], 77);
            }
        }
    }
}

static void check_mirror(fixture *f, size_t pixels, bool end)
{
    uint8_t *in = at_either(&f->in, pixels * 3, end);
    fill_bytes(f, in, pixels * 3, 1);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        uint8_t *out = at_either(&f->out, pixels * 3, !end);
        sl_resample_kernels_for((sl_simd)level)->mirror(in, out, pixels);
        for (size_t i = 0; i < pixels; i++) {
            assert_memory_equal(out + i * 3, in + (pixels - 1 - i) * 3, 3);
        }
    }
}

TEST_WITH(mirrored_rows, setup, teardown)
{
    fixture *f = *state;
    for (size_t pixels = 0; pixels <= OUTPUTS_MAX; pixels++) {
        check_mirror(f, pixels, true);
        check_mirror(f, pixels, false);
    }
}

/* One row of each kind of converter; all byte values occur. */
static void check_conversion(fixture *f, const sl_converter *reference, uint32_t y)
{
    const size_t bytes = sl_converter_row_bytes(reference);
    const size_t pixels = (size_t)reference->width * 3;
    uint8_t *in = at_end(&f->in, pixels);
    uint8_t *expected = calloc(1, bytes);
    assert_non_null(expected);
    for (size_t i = 0; i < pixels; i++) {
        in[i] = (uint8_t)(i + (size_t)y * 7);
    }
    sl_converter converter = *reference;
    converter.tools.simd = SL_SIMD_SCALAR;
    const size_t first = (size_t)y * converter.width;
    sl_convert_for (&converter)(&converter, in, first, converter.width, expected);
    for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
        for (int end = 0; end < 2; end++) {
            void *out = at_either(&f->out, bytes, end == 1);
            memset(out, 0, bytes);
            converter.tools.simd = (sl_simd)level;
            sl_convert_for (&converter)(&converter, in, first, converter.width, out);
            assert_memory_equal(out, expected, bytes);
        }
    }
    free(expected);
}

/* Draws numbers of any size: small ones become subnormal halves, large ones infinite. */
static sluice_augment *random_recipe(sl_random *random, int number, bool normalize)
{
    sluice_augment *recipe = NULL;
    const uint32_t width = 1 + sl_random_below(random, OUTPUTS_MAX);
    const uint32_t height = 1 + sl_random_below(random, 2);
    float mean[3];
    float stddev[3];
    for (int c = 0; c < 3; c++) {
        const double range = number % 4 == 1 ? 1.0 : 40.0;
        mean[c] = (float)sl_random_range(random, -1.0, 2.0);
        stddev[c] = (float)exp(sl_random_range(random, -range, range));
    }
    if (number % 8 == 3) { /* infinities and NaNs */
        stddev[0] = 1e-42F;
        mean[1] = 3e38F;
        stddev[1] = 1e-30F;
    }
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_random_crop(recipe, width, height, 0), SLUICE_OK);
    if (normalize) {
        assert_int_equal(sluice_augment_normalize(recipe, mean, stddev, 3), SLUICE_OK);
    }
    return recipe;
}

TEST_WITH(conversions, setup, teardown)
{
    fixture *f = *state;
    for (int i = 0; i < CASES; i++) {
        for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
            sl_random random = sl_random_for(17, (uint64_t)i, 0, 0);
            sluice_augment *recipe = random_recipe(&random, i, i % 4 != 0 && dtype != SLUICE_U8);
            sl_converter converter;
            const sluice_layout layout = i / 8 % 2 == 0 ? SLUICE_NHWC : SLUICE_NCHW;
            assert_int_equal(
                sl_converter_make(&converter, recipe, (sluice_dtype)dtype, layout, NULL),
                SLUICE_OK);
            check_conversion(f, &converter, recipe->height - 1);
            sluice_augment_destroy(recipe);
        }
    }
}

int main(void)
{
    if (sl_simd_best() == SL_SIMD_SCALAR) {
        (void)printf("no kernels but the scalar ones run here\n");
    }
    return test_run(NULL, NULL);
}
