/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: Pillow's sums, a sample at a time. */
#include "convolve.h"

static uint8_t cut_sum(int32_t sum)
{
    const int32_t value = sum >> SL_CONVOLVE_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void convolve_scalar_across(const sl_convolver *convolver, const uint8_t *in, uint8_t *out)
{
    const sl_weights *across = &convolver->across;
    for (uint32_t i = 0; i < across->outputs; i++) {
        const int32_t *weights = across->weights + (size_t)i * across->taps;
        const uint8_t *pixel = in + (size_t)across->starts[i] * 3;
        int32_t sums[3] = {1 << (SL_CONVOLVE_BITS - 1), 1 << (SL_CONVOLVE_BITS - 1),
                           1 << (SL_CONVOLVE_BITS - 1)};
        for (uint32_t k = 0; k < across->counts[i]; k++) {
            sums[0] += pixel[0] * weights[k];
            sums[1] += pixel[1] * weights[k];
            sums[2] += pixel[2] * weights[k];
            pixel += 3;
        }
        for (size_t c = 0; c < 3; c++) {
            *out++ = cut_sum(sums[c]);
        }
    }
}

static void convolve_scalar_down(const uint8_t *const *rows, const int32_t *weights, uint32_t taps,
                                 size_t bytes, uint8_t *out)
{
    for (size_t x = 0; x < bytes; x++) {
        int32_t sum = 1 << (SL_CONVOLVE_BITS - 1);
        for (uint32_t k = 0; k < taps; k++) {
            sum += rows[k][x] * weights[k];
        }
        out[x] = cut_sum(sum);
    }
}

const sl_convolve_kernels sl_convolve_scalar = {.across = convolve_scalar_across,
                                                .down = convolve_scalar_down};
