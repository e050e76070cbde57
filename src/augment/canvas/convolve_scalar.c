/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: plain loops. */
#include "convolve.h"

static int32_t cut(int32_t value, int32_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

static void convolve_scalar_across(const sl_horizontal *pass, const uint8_t *upper,
                                   const uint8_t *lower, int16_t most, int16_t *out)
{
    const sl_horizontal local = *pass; /* which stores to `out` cannot change */
    const int32_t half = (int32_t)(1U << (local.shift - 1));
    for (uint32_t i = 0; i < local.outputs; i++) {
        const uint8_t *rows[2] = {upper + (size_t)local.starts[i] * 3,
                                  lower + (size_t)local.starts[i] * 3};
        const int16_t *pair = local.weights + (size_t)i * 2;
        int32_t sums[6] = {half, half, half, half, half, half};
        for (uint32_t j = 0; j < local.pairs; j++) {
            const int32_t first = pair[0];
            const int32_t second = pair[1];
            for (size_t c = 0; c < 3; c++) {
                sums[2 * c] += rows[0][c] * first + rows[0][c + 3] * second;
                sums[2 * c + 1] += rows[1][c] * first + rows[1][c + 3] * second;
            }
            rows[0] += 6;
            rows[1] += 6;
            pair += (size_t)local.padded * 2;
        }
        for (size_t k = 0; k < 6; k++) {
            *out++ = (int16_t)cut(sums[k] >> local.shift, most);
        }
    }
}

static void convolve_scalar_down(const sl_row_pair *pairs, uint32_t count, uint32_t shift,
                                 size_t samples, uint8_t *out)
{
    for (size_t x = 0; x < samples; x++) {
        int32_t sum = (int32_t)(1U << (shift - 1));
        for (uint32_t k = 0; k < count; k++) {
            const int16_t *two = pairs[k].samples + x * 2;
            sum += two[0] * (int16_t)(uint16_t)pairs[k].weights + two[1] * (pairs[k].weights >> 16);
        }
        out[x] = (uint8_t)cut(sum >> shift, 255);
    }
}

const sl_convolve_kernels sl_convolve_scalar = {.across = convolve_scalar_across,
                                                .down = convolve_scalar_down};
