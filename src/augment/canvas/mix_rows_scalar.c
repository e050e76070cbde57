/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: one element after the other. */
#include "mix_rows.h"

#include <math.h>
#include <string.h>

static float mixed(const sl_converter *converter, const sl_mix_piece *piece, size_t c, size_t i)
{
    const float rest = 1.0F - piece->weight;
    float own = (float)piece->own[i];
    float other = (float)piece->other[i];
    if (converter->dtype != SLUICE_U8) {
        float scale;
        float bias;
        sl_converter_factors(converter, c, &scale, &bias);
        own = fmaf(own, scale, bias);
        other = fmaf(other, scale, bias);
    }
    return fmaf(piece->weight, own, rest * other);
}

static uint32_t mixed_bits(const sl_converter *converter, float value)
{
    uint32_t bits;
    switch (converter->dtype) {
    case SLUICE_F32:
        memcpy(&bits, &value, sizeof(bits));
        return bits;
    case SLUICE_F16:
        return sl_half_from_float(value);
    case SLUICE_BF16:
        return sl_bfloat16_from_float(value);
    default:
        return (uint32_t)nearbyintf(value); /* at most 255: shares of bytes */
    }
}

void sl_mix_scalar_from(const sl_converter *converter, const sl_mix_piece *piece, size_t first)
{
    const bool planes = converter->layout == SLUICE_NCHW;
    size_t c = planes ? piece->plane : first % 3;
    for (size_t i = first; i < piece->count; i++) {
        uint32_t bits = piece->own[i];
        if (piece->other != NULL) {
            bits = mixed_bits(converter, mixed(converter, piece, c, i));
        } else if (converter->dtype != SLUICE_U8) {
            bits = converter->table[c][piece->own[i]];
        }
        const uint16_t narrow = (uint16_t)bits;
        if (converter->dtype == SLUICE_F32) {
            memcpy((uint8_t *)piece->out + i * 4, &bits, 4);
        } else if (converter->dtype == SLUICE_U8) {
            ((uint8_t *)piece->out)[i] = (uint8_t)bits;
        } else {
            memcpy((uint8_t *)piece->out + i * 2, &narrow, 2);
        }
        c = planes ? c : (c == 2 ? 0 : c + 1);
    }
}

void sl_mix_scalar(const sl_converter *converter, const sl_mix_piece *piece)
{
    sl_mix_scalar_from(converter, piece, 0);
}
