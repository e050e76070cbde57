/* SPDX-License-Identifier: Apache-2.0 */
/* Both passes in binary32, for strong downscaling: one loop, the same at every level. */
#include "convolve.h"

#include <string.h>

static float cut_real(float value)
{
    return value < 0.0F ? 0.0F : value > 255.0F ? 255.0F : value;
}

sluice_status sl_convolver_open_real(sl_convolver *convolver, const sl_axis axes[2],
                                     const int32_t begin[2], sl_scratch *scratch)
{
    sl_convolver *c = convolver;
    c->is_real = true;
    if (sl_filter_make_real(&c->real_across, &axes[0], scratch, NULL) != SLUICE_OK ||
        sl_filter_make_real(&c->down, &axes[1], scratch, NULL) != SLUICE_OK) {
        return SLUICE_NOMEM;
    }
    sl_filter_move(&c->real_across, begin[0]);
    sl_filter_move(&c->down, begin[1]);
    const size_t samples = (size_t)c->real_across.outputs * 3;
    c->slots = c->down.taps > 0 ? c->down.taps : 1;
    c->real_kept = sl_scratch_take(scratch, samples * c->slots * sizeof(*c->real_kept));
    c->real_sums = sl_scratch_take(scratch, samples * sizeof(*c->real_sums));
    c->held = sl_scratch_take(scratch, c->slots * sizeof(*c->held));
    c->pixels = sl_scratch_take(scratch, samples);
    if (c->real_kept == NULL || c->real_sums == NULL || c->held == NULL || c->pixels == NULL) {
        return SLUICE_NOMEM;
    }
    for (uint32_t i = 0; i < c->slots; i++) {
        c->held[i] = -1;
    }
    return SLUICE_OK;
}

static void across_real(const sl_convolver *c, const uint8_t *in, float *out)
{
    const sl_filter *across = &c->real_across;
    for (uint32_t i = 0; i < across->outputs; i++) {
        const float *weights = across->real + (c->flip_x ? across->outputs - 1 - i : i);
        const uint32_t from = c->flip_x ? across->outputs - 1 - i : i;
        const uint8_t *pixel = in + (size_t)across->starts[from] * 3;
        float sums[3] = {0.0F, 0.0F, 0.0F};
        for (uint32_t k = 0; k < across->counts[from]; k++) {
            const float weight = weights[(size_t)k * across->outputs];
            for (size_t j = 0; j < 3; j++) {
                sums[j] += weight * (float)pixel[j];
            }
            pixel += 3;
        }
        for (size_t j = 0; j < 3; j++) {
            *out++ = cut_real(sums[j]);
        }
    }
}

static const float *kept_real(const sl_convolver *c, uint32_t row)
{
    const uint32_t slot = row % c->slots;
    float *samples = c->real_kept + (size_t)c->real_across.outputs * 3 * slot;
    if (c->held[slot] != (int32_t)row) {
        across_real(c, c->first + (size_t)row * c->stride_bytes, samples);
        c->held[slot] = (int32_t)row;
    }
    return samples;
}

const uint8_t *sl_convolver_row_real(const sl_convolver *convolver, uint32_t row)
{
    const sl_filter *down = &convolver->down;
    const size_t samples = (size_t)convolver->real_across.outputs * 3;
    float *sums = convolver->real_sums;
    row = convolver->flip_y ? down->outputs - 1 - row : row;
    for (size_t x = 0; x < samples; x++) {
        sums[x] = 0.0F;
    }
    const uint32_t count = convolver->columns > 0 ? down->counts[row] : 0;
    for (uint32_t k = 0; k < count; k++) {
        const float weight = down->real[(size_t)k * down->outputs + row];
        const float *in = kept_real(convolver, (uint32_t)down->starts[row] + k);
        for (size_t x = 0; x < samples; x++) {
            sums[x] += weight * in[x];
        }
    }
    for (size_t x = 0; x < samples; x++) {
        convolver->pixels[x] = (uint8_t)(cut_real(sums[x]) + 0.5F);
    }
    return convolver->pixels;
}
