/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: plain loops, which the compiler may vectorise. */
#include "resample_kernels.h"

#include <string.h>

enum { BLOCK = 256 };

static void resample_scalar_add_row(const uint8_t *in, int16_t weight, int32_t *restrict sums,
                                    size_t count)
{
    for (size_t x = 0; x < count; x++) {
        sums[x] += (int16_t)in[x] * weight;
    }
}

static void vertical(const sl_vertical *pass, int16_t *out)
{
    int32_t sums[BLOCK];
    const int32_t half = (int32_t)(1U << (pass->shift - 1));
    for (size_t start = 0; start < pass->samples; start += BLOCK) {
        const size_t left = pass->samples - start;
        const size_t count = left < BLOCK ? left : BLOCK;
        for (size_t x = 0; x < count; x++) {
            sums[x] = half;
        }
        const uint8_t *in = pass->in + start;
        for (uint32_t k = 0; k < pass->taps; k++) {
            resample_scalar_add_row(in, pass->weights[k], sums, count);
            in += pass->stride_bytes;
        }
        for (size_t x = 0; x < count; x++) {
            out[start + x] = (int16_t)(sums[x] >> pass->shift);
        }
    }
}

/* Inlined with constant `pairs`, the inner loop unrolls. */
static inline void resample_scalar_horizontal_row(const sl_horizontal *pass, uint32_t pairs,
                                                  const int16_t *in, uint8_t *out)
{
    const sl_horizontal local = *pass; /* which stores to `out` cannot change */
    const int32_t half = (int32_t)(1U << (local.shift - 1));
    for (uint32_t i = 0; i < local.outputs; i++) {
        const int16_t *pixel = in + (ptrdiff_t)local.starts[i] * 3;
        const int16_t *pair = local.weights + (size_t)i * 2;
        int32_t red = half;
        int32_t green = half;
        int32_t blue = half;
        for (uint32_t j = 0; j < pairs; j++) {
            red += pixel[0] * pair[0] + pixel[3] * pair[1];
            green += pixel[1] * pair[0] + pixel[4] * pair[1];
            blue += pixel[2] * pair[0] + pixel[5] * pair[1];
            pixel += 6;
            pair += (size_t)local.padded * 2;
        }
        out[0] = (uint8_t)(red >> local.shift);
        out[1] = (uint8_t)(green >> local.shift);
        out[2] = (uint8_t)(blue >> local.shift);
        out += 3;
    }
}

static void horizontal(const sl_horizontal *pass, const int16_t *in, uint8_t *out)
{
    switch (pass->pairs) {
    case 1:
        resample_scalar_horizontal_row(pass, 1, in, out);
        break;
    case 2:
        resample_scalar_horizontal_row(pass, 2, in, out);
        break;
    default:
        resample_scalar_horizontal_row(pass, pass->pairs, in, out);
        break;
    }
}

static void mirror(const uint8_t *in, uint8_t *out, size_t pixels)
{
    const uint8_t *pixel = in + pixels * 3;
    for (size_t i = 0; i < pixels; i++) {
        pixel -= 3;
        memcpy(out, pixel, 3);
        out += 3;
    }
}

const sl_resample_kernels sl_resample_scalar = {.vertical = vertical,
                                                .horizontal = horizontal,
                                                .mirror = mirror};

const sl_resample_kernels *sl_resample_kernels_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd == SL_SIMD_AVX512) {
        return &sl_resample_avx512;
    }
    if (simd == SL_SIMD_AVX2) {
        return &sl_resample_avx2;
    }
#elif defined(__aarch64__)
    if (simd == SL_SIMD_NEON) {
        return &sl_resample_neon;
    }
#endif
    (void)simd;
    return &sl_resample_scalar;
}
