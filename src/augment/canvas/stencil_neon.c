/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NEON: 16 samples of a row at once; of boxes a strip's 32 lines, whose sums are 16-bit values.
 * Sums are exact, so their order does not matter.
 */
#include "stencil_kernels.h"

#if defined(__aarch64__)

#    include <arm_neon.h>

#    define INLINE static inline __attribute__((always_inline))

enum { CHUNK = 16, SQUARE = 16 };

/* 32-bit sums of CHUNK samples, in order. */
typedef struct stencil_sums {
    int32x4_t of[4];
} stencil_sums;

/* CHUNK 16-bit values, in order. */
typedef struct stencil_words {
    int16x8_t low, high;
} stencil_words;

INLINE stencil_sums start_with(int32_t value)
{
    const int32x4_t all = vdupq_n_s32(value);
    return (stencil_sums){{all, all, all, all}};
}

INLINE void add_weighted(stencil_sums *sums, stencil_words words, int16_t weight)
{
    sums->of[0] = vmlal_n_s16(sums->of[0], vget_low_s16(words.low), weight);
    sums->of[1] = vmlal_high_n_s16(sums->of[1], words.low, weight);
    sums->of[2] = vmlal_n_s16(sums->of[2], vget_low_s16(words.high), weight);
    sums->of[3] = vmlal_high_n_s16(sums->of[3], words.high, weight);
}

INLINE stencil_words narrow_sums(const stencil_sums *sums, uint32_t bits)
{
    const int32x4_t shift = vdupq_n_s32(-(int32_t)bits);
    const int16x4_t first = vmovn_s32(vshlq_s32(sums->of[0], shift));
    const int16x4_t third = vmovn_s32(vshlq_s32(sums->of[2], shift));
    return (stencil_words){vmovn_high_s32(first, vshlq_s32(sums->of[1], shift)),
                           vmovn_high_s32(third, vshlq_s32(sums->of[3], shift))};
}

/* ---- gaussian ---- */

INLINE stencil_words load_samples(const uint8_t *samples)
{
    const uint8x16_t bytes = vld1q_u8(samples);
    return (stencil_words){vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes))),
                           vreinterpretq_s16_u16(vmovl_high_u8(bytes))};
}

INLINE stencil_words load_folded(const uint8_t *above, const uint8_t *below)
{
    const uint8x16_t a = vld1q_u8(above);
    const uint8x16_t b = vld1q_u8(below);
    return (stencil_words){vreinterpretq_s16_u16(vaddl_u8(vget_low_u8(a), vget_low_u8(b))),
                           vreinterpretq_s16_u16(vaddl_high_u8(a, b))};
}

INLINE void down_step(const sl_stencil_taps *taps, const uint8_t *const *rows, size_t x,
                      int16_t *out)
{
    const uint32_t bits = taps->bits - SL_STENCIL_FRACTION;
    const uint32_t reach = taps->reach;
    stencil_sums sums = start_with((1 << (bits - 1)) - (SL_STENCIL_CENTRE << taps->bits));
    add_weighted(&sums, load_samples(rows[reach] + x), taps->weights[0]);
    for (uint32_t j = 1; j <= reach; j++) {
        add_weighted(&sums, load_folded(rows[reach - j] + x, rows[reach + j] + x),
                     taps->weights[j]);
    }
    const stencil_words words = narrow_sums(&sums, bits);
    vst1q_s16(out + x, words.low);
    vst1q_s16(out + x + 8, words.high);
}

static void down(const sl_stencil_taps *taps, const uint8_t *const *rows, size_t samples,
                 int16_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_scalar.down(taps, rows, samples, out);
        return;
    }
    const sl_stencil_taps local = *taps; /* which stores to `out` cannot change */
    for (size_t x = 0; x + CHUNK <= samples; x += CHUNK) {
        down_step(&local, rows, x, out);
    }
    if (samples % CHUNK != 0) { /* the last step overlaps the one before */
        down_step(&local, rows, samples - CHUNK, out);
    }
}

INLINE stencil_words load_words(const int16_t *words)
{
    return (stencil_words){vld1q_s16(words), vld1q_s16(words + 8)};
}

INLINE stencil_words add_words(stencil_words a, stencil_words b)
{
    return (stencil_words){vaddq_s16(a.low, b.low), vaddq_s16(a.high, b.high)};
}

/* The lower bytes. */
INLINE void store_bytes(uint8_t *bytes, stencil_words words)
{
    const uint8x8_t low = vmovn_u16(vreinterpretq_u16_s16(words.low));
    vst1q_u8(bytes, vmovn_high_u16(low, vreinterpretq_u16_s16(words.high)));
}

INLINE void across_step(const sl_stencil_taps *taps, const int16_t *in, uint8_t *out)
{
    const uint32_t bits = taps->bits + SL_STENCIL_FRACTION;
    stencil_sums sums = start_with(1 << (bits - 1));
    add_weighted(&sums, load_words(in), taps->weights[0]);
    for (uint32_t j = 1; j <= taps->reach; j++) {
        const stencil_words both =
            add_words(load_words(in - (size_t)3 * j), load_words(in + (size_t)3 * j));
        add_weighted(&sums, both, taps->weights[j]);
    }
    const int16x8_t centre = vdupq_n_s16(SL_STENCIL_CENTRE);
    store_bytes(out, add_words(narrow_sums(&sums, bits), (stencil_words){centre, centre}));
}

static void across(const sl_stencil_taps *taps, const int16_t *in, size_t samples, uint8_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_scalar.across(taps, in, samples, out);
        return;
    }
    const sl_stencil_taps local = *taps; /* which stores to `out` cannot change */
    for (size_t x = 0; x + CHUNK <= samples; x += CHUNK) {
        across_step(&local, in + x, out + x);
    }
    if (samples % CHUNK != 0) { /* the last step overlaps the one before */
        across_step(&local, in + samples - CHUNK, out + samples - CHUNK);
    }
}

/* ---- boxes ---- */

enum { BOX_WORDS = SL_STENCIL_LANES / 8 };

/* A 16-bit value of each line. */
typedef struct box_lanes {
    uint16x8_t of[BOX_WORDS];
} box_lanes;

/* Element i, or the end of the line that it is beyond. */
INLINE box_lanes load_lanes(const sl_stencil_box *pass, int64_t i)
{
    const int64_t last = (int64_t)pass->count - 1;
    const uint8_t *at = pass->in + (size_t)(i < 0 ? 0 : i > last ? last : i) * pass->in_stride;
    box_lanes lanes;
    for (size_t k = 0; k < BOX_WORDS; k++) {
        lanes.of[k] = vmovl_u8(vld1_u8(at + k * 8));
    }
    return lanes;
}

INLINE box_lanes start_lanes(const sl_stencil_box *pass)
{
    box_lanes sums = load_lanes(pass, 0);
    for (size_t k = 0; k < BOX_WORDS; k++) {
        sums.of[k] = vmulq_n_u16(sums.of[k], (uint16_t)(pass->reach + 1));
    }
    for (uint32_t i = 0; i < pass->reach; i++) {
        const box_lanes more = load_lanes(pass, i);
        for (size_t k = 0; k < BOX_WORDS; k++) {
            sums.of[k] = vaddq_u16(sums.of[k], more.of[k]);
        }
    }
    return sums;
}

INLINE uint16x4_t weigh(uint16x4_t sums, uint16x4_t beyond, const sl_stencil_box *pass)
{
    uint32x4_t wide = vmlaq_n_u32(vdupq_n_u32(1U << 23), vmovl_u16(sums), pass->weight);
    wide = vmlaq_n_u32(wide, vmovl_u16(beyond), pass->far_weight);
    return vmovn_u32(vshrq_n_u32(wide, 24));
}

static void box(const sl_stencil_box *all)
{
    if (all->reach > SL_STENCIL_BOX_MAX) {
        sl_stencil_scalar.box(all);
        return;
    }
    const sl_stencil_box pass = *all; /* which stores to its output cannot change */
    box_lanes sums = start_lanes(&pass);
    uint8_t *out = pass.out;
    for (int64_t i = 0; i < (int64_t)pass.count; i++, out += pass.out_stride) {
        const box_lanes leaving = load_lanes(&pass, i - pass.reach - 1);
        const box_lanes coming = load_lanes(&pass, i + pass.reach);
        const box_lanes far = load_lanes(&pass, i + pass.reach + 1);
        for (size_t k = 0; k < BOX_WORDS; k++) {
            const uint16x8_t beyond = vaddq_u16(leaving.of[k], far.of[k]);
            sums.of[k] = vsubq_u16(vaddq_u16(sums.of[k], coming.of[k]), leaving.of[k]);
            const uint16x4_t low = weigh(vget_low_u16(sums.of[k]), vget_low_u16(beyond), &pass);
            const uint16x4_t high = weigh(vget_high_u16(sums.of[k]), vget_high_u16(beyond), &pass);
            vst1_u8(out + k * 8, vmovn_u16(vcombine_u16(low, high)));
        }
    }
}

/* ---- rows to lines and back ---- */

/* 16 rows of 16 bytes become columns. */
INLINE void transpose_bytes(uint8x16_t rows[SQUARE])
{
    uint8x16_t mixed[SQUARE];
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < SQUARE / 2; i++) {
            mixed[2 * i] = vzip1q_u8(rows[i], rows[i + SQUARE / 2]);
            mixed[2 * i + 1] = vzip2q_u8(rows[i], rows[i + SQUARE / 2]);
        }
        for (size_t i = 0; i < SQUARE; i++) {
            rows[i] = mixed[i];
        }
    }
}

static void to_lines(const uint8_t *const rows[SL_STENCIL_LANES], size_t count, uint8_t *lines)
{
    if (count < SQUARE) {
        sl_stencil_scalar.to_lines(rows, count, lines);
        return;
    }
    for (size_t done = 0; done < count; done += SQUARE) {
        const size_t b = done + SQUARE <= count ? done : count - SQUARE;
        for (size_t half = 0; half < SL_STENCIL_LANES; half += SQUARE) {
            uint8x16_t block[SQUARE];
            for (size_t r = 0; r < SQUARE; r++) {
                block[r] = vld1q_u8(rows[half + r] + b);
            }
            transpose_bytes(block);
            for (size_t r = 0; r < SQUARE; r++) {
                vst1q_u8(lines + (b + r) * SL_STENCIL_LANES + half, block[r]);
            }
        }
    }
}

static void from_lines(const uint8_t *lines, size_t count, uint8_t *row, size_t stride,
                       uint32_t used)
{
    if (count < SQUARE) {
        sl_stencil_scalar.from_lines(lines, count, row, stride, used);
        return;
    }
    for (size_t done = 0; done < count; done += SQUARE) {
        const size_t b = done + SQUARE <= count ? done : count - SQUARE;
        for (size_t half = 0; half < used; half += SQUARE) {
            uint8x16_t block[SQUARE];
            for (size_t r = 0; r < SQUARE; r++) {
                block[r] = vld1q_u8(lines + (b + r) * SL_STENCIL_LANES + half);
            }
            transpose_bytes(block);
            for (size_t r = 0; r < SQUARE && half + r < used; r++) {
                vst1q_u8(row + (half + r) * stride + b, block[r]);
            }
        }
    }
}

/* ---- sharpness ---- */

/* (sum + 6) / 13, of sums up to 13 * 255. */
INLINE uint16x8_t smooth_words(uint16x8_t sums)
{
    enum { THIRTEENTH = 5042 }; /* of 2^16, rounded up: exact up to 6553 */
    const uint16x8_t more = vaddq_u16(sums, vdupq_n_u16(6));
    const uint32x4_t low = vmull_n_u16(vget_low_u16(more), THIRTEENTH);
    return vshrn_high_n_u32(vshrn_n_u32(low, 16), vmull_high_n_u16(more, THIRTEENTH), 16);
}

INLINE uint16x4_t sharpen_four(uint16x4_t smooth, uint16x4_t value, float factor)
{
    const int32x4_t from = vreinterpretq_s32_u32(vmovl_u16(smooth));
    const int32x4_t to = vreinterpretq_s32_u32(vmovl_u16(value));
    const float32x4_t change = vmulq_n_f32(vcvtq_f32_s32(vsubq_s32(to, from)), factor);
    return vqmovun_s32(vcvtq_s32_f32(vaddq_f32(vcvtq_f32_s32(from), change)));
}

INLINE uint8x8_t sharpen_eight(uint16x8_t sums, uint8x8_t middle, float factor)
{
    const uint16x8_t value = vmovl_u8(middle);
    const uint16x8_t smooth = smooth_words(vmlaq_n_u16(sums, value, 4));
    const uint16x4_t low = sharpen_four(vget_low_u16(smooth), vget_low_u16(value), factor);
    const uint16x4_t high = sharpen_four(vget_high_u16(smooth), vget_high_u16(value), factor);
    return vqmovn_u16(vcombine_u16(low, high));
}

INLINE void sum_rows(const sl_stencil_rows *rows, size_t x, int16_t *sums)
{
    const stencil_words outer = load_folded(rows->above + x, rows->below + x);
    const stencil_words all = add_words(outer, load_samples(rows->middle + x));
    vst1q_s16(sums + x, all.low);
    vst1q_s16(sums + x + 8, all.high);
}

INLINE void sharpen_step(const sl_stencil_rows *rows, size_t x, float factor, const int16_t *sums,
                         uint8_t *out)
{
    const stencil_words beside = add_words(load_words(sums + x - 3), load_words(sums + x + 3));
    const stencil_words all = add_words(beside, load_words(sums + x));
    const uint8x16_t middle = vld1q_u8(rows->middle + x);
    const uint8x8_t low =
        sharpen_eight(vreinterpretq_u16_s16(all.low), vget_low_u8(middle), factor);
    const uint8x8_t high =
        sharpen_eight(vreinterpretq_u16_s16(all.high), vget_high_u8(middle), factor);
    vst1q_u8(out + x, vcombine_u8(low, high));
}

static void sharpen(const sl_stencil_rows *rows, size_t samples, float factor, int16_t *sums,
                    uint8_t *out)
{
    if (samples < CHUNK) {
        sl_stencil_scalar.sharpen(rows, samples, factor, sums, out);
        return;
    }
    const sl_stencil_rows local = *rows; /* which stores to `out` cannot change */
    const size_t all = samples + 6;
    size_t x = 0;
    for (; x + CHUNK <= all; x += CHUNK) {
        sum_rows(&local, x, sums);
    }
    sum_rows(&local, all - CHUNK, sums);
    for (x = 3; x + CHUNK <= samples + 3; x += CHUNK) {
        sharpen_step(&local, x, factor, sums, out);
    }
    sharpen_step(&local, samples + 3 - CHUNK, factor, sums, out);
}

const sl_stencil_kernels sl_stencil_neon = {.down = down,
                                            .across = across,
                                            .box = box,
                                            .to_lines = to_lines,
                                            .from_lines = from_lines,
                                            .sharpen = sharpen};

#endif
