/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_idct_variants: the parts shared by the scalar reference of the inverse transform and its
 * variants.
 *
 * The arithmetic of all levels, for any coefficients, is that of libjpeg-turbo's vector code (for
 * coefficients that an encoder writes, also that of its C code):
 * - products with the quantizers, sums of two inputs, and the outputs of a pass whose rows 1..7
 *   (size 4: except row 4) have no coefficient, are taken modulo 2^16;
 * - sums of products are taken modulo 2^32;
 * - other outputs of the first pass, and all samples, saturate.
 * Threads: pure.
 */
#ifndef SL_JPEG_IDCT_VARIANTS_H
#define SL_JPEG_IDCT_VARIANTS_H

#include "jpeg_idct.h"

/* Fraction bits of the constants, and those that values keep between the passes. */
enum { SL_IDCT_CONST_BITS = 13, SL_IDCT_PASS1_BITS = 2, SL_IDCT_CENTRE = 128 };

/*
 * Size 8: what an input adds to a sum, times 2^13. Outputs i and 7 - i are the even sum i plus and
 * minus the odd sum i. Even sums 3 and 2 are 0 and 1 with other signs; odd sums 0 and 2, and 1 and
 * 3, share a part made of the inputs 7 + 3 and 5 + 1.
 */
enum {
    SL_IDCT8_EVEN0_IN2 = 10703,
    SL_IDCT8_EVEN0_IN6 = 4433,
    SL_IDCT8_EVEN1_IN2 = 4433,
    SL_IDCT8_EVEN1_IN6 = -10704,
    SL_IDCT8_ODD02_IN73 = 9633,
    SL_IDCT8_ODD02_IN51 = 6437,
    SL_IDCT8_ODD13_IN73 = -6436,
    SL_IDCT8_ODD13_IN51 = 9633,
    SL_IDCT8_ODD0_IN7 = -7373,
    SL_IDCT8_ODD0_IN1 = 4926,
    SL_IDCT8_ODD1_IN5 = -20995,
    SL_IDCT8_ODD1_IN3 = 4177,
    SL_IDCT8_ODD2_IN5 = -4176,
    SL_IDCT8_ODD2_IN3 = -20995,
    SL_IDCT8_ODD3_IN7 = -4927,
    SL_IDCT8_ODD3_IN1 = -7373
};

/* Size 4: outputs i and 3 - i are the even sum i plus and minus the odd sum i. */
enum {
    SL_IDCT4_EVEN_IN2 = 15137,
    SL_IDCT4_EVEN_IN6 = -6270,
    SL_IDCT4_ODD0_IN7 = -4176,
    SL_IDCT4_ODD0_IN5 = -4926,
    SL_IDCT4_ODD0_IN3 = 7373,
    SL_IDCT4_ODD0_IN1 = 20995,
    SL_IDCT4_ODD1_IN7 = -1730,
    SL_IDCT4_ODD1_IN5 = 11893,
    SL_IDCT4_ODD1_IN3 = -17799,
    SL_IDCT4_ODD1_IN1 = 8697
};

/* Size 2: the odd sum. */
enum {
    SL_IDCT2_ODD_IN7 = -5906,
    SL_IDCT2_ODD_IN5 = 6967,
    SL_IDCT2_ODD_IN3 = -10426,
    SL_IDCT2_ODD_IN1 = 29692
};

/* Transforms a block whose coefficients are all in row 0, to equal rows of eight samples. Reads
 * that row of `block` and `quantizers`. */
void sl_jpeg_idct8_flat(const int16_t *block, const uint16_t *quantizers, uint8_t row[8]);

/* Returns the sample of a block whose only coefficient is the first. */
static inline uint8_t sl_jpeg_idct8_dc(int16_t coefficient, uint16_t quantizer)
{
    int32_t value = (int16_t)(uint16_t)((uint32_t)coefficient * quantizer << SL_IDCT_PASS1_BITS);
    int32_t sample =
        ((value + (1 << (SL_IDCT_PASS1_BITS + 2))) >> (SL_IDCT_PASS1_BITS + 3)) + SL_IDCT_CENTRE;
    return (uint8_t)(sample > UINT8_MAX ? UINT8_MAX : sample < 0 ? 0 : sample);
}

void sl_jpeg_idct1_scalar(const sl_jpeg_blocks *blocks);
void sl_jpeg_idct2_scalar(const sl_jpeg_blocks *blocks);
void sl_jpeg_idct4_scalar(const sl_jpeg_blocks *blocks);
void sl_jpeg_idct8_scalar(const sl_jpeg_blocks *blocks);
#if defined(__x86_64__)
void sl_jpeg_idct2_avx2(const sl_jpeg_blocks *blocks);
void sl_jpeg_idct4_avx2(const sl_jpeg_blocks *blocks);
void sl_jpeg_idct8_avx2(const sl_jpeg_blocks *blocks);
void sl_jpeg_idct8_avx512(const sl_jpeg_blocks *blocks);
#elif defined(__aarch64__)
void sl_jpeg_idct8_neon(const sl_jpeg_blocks *blocks);
#endif

#endif
