/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix_rows_loop: the run that the variants of mix_rows.h share, compiled for each of them.
 *
 * Before including it a variant defines SL_MIX_INLINE (static inline for its instruction set) and
 *   mix_samples(own, other, factors, dtype, out)   SL_CONVERT_STEP results, which are mixed where
 *                                                  `other` is not NULL.
 */
#ifndef SL_MIX_ROWS_LOOP_H
#define SL_MIX_ROWS_LOOP_H

/* Inlined with a constant dtype, and whether there is another. */
SL_MIX_INLINE void mix_pieces(const sl_converter *converter, const sl_mix_piece *piece,
                              sluice_dtype dtype, bool mixes)
{
    const bool planes = converter->layout == SLUICE_NCHW;
    const size_t bytes = sl_dtype_bytes(dtype);
    const size_t whole = piece->count / SL_CONVERT_STEP * SL_CONVERT_STEP;
    size_t lane = planes ? (size_t)piece->plane * SL_CONVERT_STEP : 0;
    for (size_t i = 0; i < whole; i += SL_CONVERT_STEP) {
        const mix_factors factors = {converter->scales + lane, converter->biases + lane,
                                     piece->weight};
        mix_samples(piece->own + i, mixes ? piece->other + i : NULL, &factors, dtype,
                    (uint8_t *)piece->out + i * bytes);
        if (!planes) {
            lane = lane == (size_t)2 * SL_CONVERT_STEP ? 0 : lane + SL_CONVERT_STEP;
        }
    }
    if (whole < piece->count) {
        sl_mix_scalar_from(converter, piece, whole);
    }
}

SL_MIX_INLINE void mix_either(const sl_converter *converter, const sl_mix_piece *piece,
                              sluice_dtype dtype)
{
    if (piece->other != NULL) {
        mix_pieces(converter, piece, dtype, true);
    } else {
        mix_pieces(converter, piece, dtype, false);
    }
}

SL_MIX_INLINE void mix_any(const sl_converter *converter, const sl_mix_piece *piece)
{
    switch (converter->dtype) {
    case SLUICE_F32:
        mix_either(converter, piece, SLUICE_F32);
        break;
    case SLUICE_F16:
        mix_either(converter, piece, SLUICE_F16);
        break;
    case SLUICE_BF16:
        mix_either(converter, piece, SLUICE_BF16);
        break;
    default:
        mix_either(converter, piece, SLUICE_U8);
        break;
    }
}

#endif
