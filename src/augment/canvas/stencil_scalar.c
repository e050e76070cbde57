/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: plain loops, which the compiler may vectorise. */
#include "stencil_kernels.h"

enum { BLOCK = 256, LANES = SL_STENCIL_LANES };

static void stencil_scalar_start(int32_t *sums, size_t count, int32_t value)
{
    for (size_t x = 0; x < count; x++) {
        sums[x] = value;
    }
}

static void stencil_scalar_add_row(const uint8_t *in, int16_t weight, int32_t *restrict sums,
                                   size_t count)
{
    for (size_t x = 0; x < count; x++) {
        sums[x] += (int16_t)in[x] * weight;
    }
}

static void down(const sl_stencil_taps *taps, const uint8_t *const *rows, size_t samples,
                 int16_t *out)
{
    int32_t sums[BLOCK];
    const uint32_t shift = taps->bits - SL_STENCIL_FRACTION;
    const int32_t first = (1 << (shift - 1)) - (SL_STENCIL_CENTRE << taps->bits);
    for (size_t start = 0; start < samples; start += BLOCK) {
        const size_t left = samples - start;
        const size_t count = left < BLOCK ? left : BLOCK;
        stencil_scalar_start(sums, count, first);
        for (uint32_t k = 0; k <= 2 * taps->reach; k++) {
            const uint32_t j = k < taps->reach ? taps->reach - k : k - taps->reach;
            stencil_scalar_add_row(rows[k] + start, taps->weights[j], sums, count);
        }
        for (size_t x = 0; x < count; x++) {
            out[start + x] = (int16_t)(sums[x] >> shift);
        }
    }
}

static void across(const sl_stencil_taps *taps, const int16_t *in, size_t samples, uint8_t *out)
{
    const uint32_t shift = taps->bits + SL_STENCIL_FRACTION;
    for (size_t x = 0; x < samples; x++) {
        int32_t sum = (1 << (shift - 1)) + in[x] * taps->weights[0];
        const int16_t *left = in + x;
        const int16_t *right = in + x;
        for (uint32_t j = 1; j <= taps->reach; j++) {
            left -= 3;
            right += 3;
            sum += (*left + *right) * taps->weights[j];
        }
        out[x] = (uint8_t)((sum >> shift) + SL_STENCIL_CENTRE);
    }
}

/* ---- boxes ---- */

static const uint8_t *stencil_element(const sl_stencil_box *pass, int64_t i)
{
    const int64_t last = (int64_t)pass->count - 1;
    return pass->in + (size_t)(i < 0 ? 0 : i > last ? last : i) * pass->in_stride;
}

/* The sums of the element before the first: from -reach - 1 to reach - 1. */
static void start_sums(const sl_stencil_box *pass, uint32_t sums[LANES])
{
    const uint8_t *first = stencil_element(pass, 0);
    const uint8_t *last = stencil_element(pass, (int64_t)pass->count - 1);
    const uint32_t inside = pass->reach < pass->count ? pass->reach : pass->count;
    for (size_t x = 0; x < LANES; x++) {
        sums[x] = first[x] * (pass->reach + 1) + last[x] * (pass->reach - inside);
    }
    for (uint32_t i = 0; i < inside; i++) {
        for (size_t x = 0; x < LANES; x++) {
            sums[x] += stencil_element(pass, i)[x];
        }
    }
}

static void box(const sl_stencil_box *pass)
{
    uint32_t sums[LANES];
    const uint32_t half = 1U << 23;
    const int64_t reach = pass->reach;
    start_sums(pass, sums);
    for (int64_t i = 0; i < (int64_t)pass->count; i++) {
        const uint8_t *leaving =
            stencil_element(pass, i - reach - 1); /* and the far one on the left */
        const uint8_t *coming = stencil_element(pass, i + reach);
        const uint8_t *far = stencil_element(pass, i + reach + 1);
        uint8_t *out = pass->out + (size_t)i * pass->out_stride;
        for (size_t x = 0; x < LANES; x++) {
            sums[x] += (uint32_t)coming[x] - leaving[x];
            const uint32_t beyond = (uint32_t)leaving[x] + far[x];
            out[x] = (uint8_t)((sums[x] * pass->weight + beyond * pass->far_weight + half) >> 24);
        }
    }
}

static void to_lines(const uint8_t *const rows[LANES], size_t count, uint8_t *lines)
{
    for (size_t b = 0; b < count; b++) {
        for (size_t r = 0; r < LANES; r++) {
            lines[b * LANES + r] = rows[r][b];
        }
    }
}

static void from_lines(const uint8_t *lines, size_t count, uint8_t *row, size_t stride,
                       uint32_t used)
{
    for (size_t r = 0; r < used; r++) {
        for (size_t b = 0; b < count; b++) {
            row[r * stride + b] = lines[b * LANES + r];
        }
    }
}

/* ---- sharpness ---- */

/* Pillow's ImagingBlend, for a factor below 2^20 in size: cut towards zero, then to a sample. */
static uint8_t stencil_scalar_blend(int32_t smooth, int32_t value, float factor)
{
    const float mixed = (float)smooth + factor * (float)(value - smooth);
    const int32_t whole = (int32_t)mixed;
    return (uint8_t)(whole > UINT8_MAX ? UINT8_MAX : whole < 0 ? 0 : whole);
}

static void sharpen(const sl_stencil_rows *rows, size_t samples, float factor, int16_t *sums,
                    uint8_t *out)
{
    for (size_t x = 0; x < samples + 6; x++) {
        sums[x] = (int16_t)(rows->above[x] + rows->middle[x] + rows->below[x]);
    }
    for (size_t x = 3; x < samples + 3; x++) {
        const int32_t value = rows->middle[x];
        const int32_t sum = sums[x - 3] + sums[x] + sums[x + 3] + 4 * value;
        out[x] = stencil_scalar_blend((sum + 6) / 13, value, factor);
    }
}

const sl_stencil_kernels sl_stencil_scalar = {.down = down,
                                              .across = across,
                                              .box = box,
                                              .to_lines = to_lines,
                                              .from_lines = from_lines,
                                              .sharpen = sharpen};

const sl_stencil_kernels *sl_stencil_kernels_for(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd == SL_SIMD_AVX512) {
        return &sl_stencil_avx512;
    }
    if (simd == SL_SIMD_AVX2) {
        return &sl_stencil_avx2;
    }
#elif defined(__aarch64__)
    if (simd == SL_SIMD_NEON) {
        return &sl_stencil_neon;
    }
#endif
    (void)simd;
    return &sl_stencil_scalar;
}
