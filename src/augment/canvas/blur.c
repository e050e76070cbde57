/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, and rows: each is blurred down to one row in between, which is then blurred across. */
#include "blur.h"

#include "portable_math.h"

#include "error.h"
#include "stencil_kernels.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    REACH_MAX = SL_BLUR_KERNEL_MAX / 2,
    WEIGHTS = REACH_MAX + 3, /* two more, 0, to make pairs */
    DOWN_BITS_MAX = 22,
    ACROSS_BITS_MAX = 17
};

typedef struct gaussian_weights {
    int16_t of[WEIGHTS];
    sl_stencil_taps taps;
} gaussian_weights;

static void blur_make_weights(gaussian_weights *made, uint32_t kernel, double sigma, uint32_t bits)
{
    double beyond[WEIGHTS] = {0}; /* sums of those at this distance and farther */
    const uint32_t reach = kernel / 2;
    for (uint32_t j = reach; j > 0; j--) {
        const double x = (double)j / sigma;
        beyond[j] = beyond[j + 1] + sl_exp(-0.5 * x * x);
    }
    const double all = 1.0 + 2.0 * beyond[1];
    while (ldexp(1.0 / all, (int)bits) > INT16_MAX - 1) {
        bits--;
    }
    *made = (gaussian_weights){.taps = {.weights = made->of, .bits = bits}};
    int32_t sum = 0;
    for (uint32_t j = reach; j > 0; j--) {
        const int32_t next = (int32_t)lrint(ldexp(beyond[j] / all, (int)bits));
        made->of[j] = (int16_t)(next - sum);
        sum = next;
        if (made->taps.reach == 0 && sum > 0) {
            made->taps.reach = j;
        }
    }
    made->of[0] = (int16_t)((1 << bits) - 2 * sum);
}

/* Mirrored at 0 and at size - 1, as often as it takes. */
static uint32_t mirror_index(int64_t i, uint32_t size)
{
    if (i >= 0 && i < (int64_t)size) {
        return (uint32_t)i;
    }
    if (size == 1) {
        return 0;
    }
    const int64_t period = 2 * ((int64_t)size - 1);
    i = i < 0 ? -i % period : i % period;
    return (uint32_t)(i < (int64_t)size ? i : period - i);
}

/* Fills the pixels outside the row's ends. */
static void mirror_ends(int16_t *row, uint32_t width, uint32_t reach)
{
    for (uint32_t j = 1; j <= reach; j++) {
        const size_t left = mirror_index(-(int64_t)j, width);
        const size_t right = mirror_index((int64_t)width - 1 + j, width);
        memcpy(row - (size_t)j * 3, row + left * 3, 3 * sizeof(*row));
        memcpy(row + ((size_t)width - 1 + j) * 3, row + right * 3, 3 * sizeof(*row));
    }
}

sluice_status sl_blur_gaussian(sl_simd simd, const sl_image *in, const sl_gaussian *blur,
                               uint8_t *out, sl_scratch *scratch, sluice_error *error)
{
    assert(blur->kernel_x % 2 == 1 && blur->kernel_x <= SL_BLUR_KERNEL_MAX && blur->sigma_x > 0.0);
    assert(blur->kernel_y % 2 == 1 && blur->kernel_y <= SL_BLUR_KERNEL_MAX && blur->sigma_y > 0.0);
    assert(in->width > 0 && in->height > 0 && in->channels == 3 && in->pixels != out);
    const sl_stencil_kernels *kernels = sl_stencil_kernels_for(simd);
    const size_t samples = (size_t)in->width * 3;
    gaussian_weights x;
    gaussian_weights y;
    blur_make_weights(&x, blur->kernel_x, blur->sigma_x, ACROSS_BITS_MAX);
    blur_make_weights(&y, blur->kernel_y, blur->sigma_y, DOWN_BITS_MAX);
    const size_t mark = sl_scratch_mark(scratch);
    const size_t aside = (size_t)x.taps.reach * 3;
    int16_t *memory = sl_scratch_take(scratch, (samples + 2 * aside) * sizeof(*memory));
    if (memory == NULL) {
        return sl_no_memory(error, "augment", "to blur an image");
    }
    int16_t *between = memory + aside;
    const uint8_t *rows[SL_BLUR_KERNEL_MAX];
    for (uint32_t i = 0; i < in->height; i++) {
        for (uint32_t k = 0; k <= 2 * y.taps.reach; k++) {
            const uint32_t row = mirror_index((int64_t)i + k - y.taps.reach, in->height);
            rows[k] = in->pixels + row * in->stride_bytes;
        }
        kernels->down(&y.taps, rows, samples, between);
        mirror_ends(between, in->width, x.taps.reach);
        kernels->across(&x.taps, between, samples, out + i * samples);
    }
    sl_scratch_release(scratch, mark);
    return SLUICE_OK;
}
