/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion: what is left to be done with a batch of bytes once it is on the device.
 *
 * Purpose: workers deliver 8-bit RGB, channels last, so that the fewest bytes cross the bus; the
 * device mirrors, normalises, casts and lays out. For every sample v of channel c the result is
 * fmaf(v, scale[c], bias[c]) in binary32, rounded to nearest even where the dtype is narrower, bit
 * for bit what augment/canvas/apply.h makes on the host; u8 is copied. No result may be infinite or
 * no number. A byte of flags for each row (picture) says whether it is mirrored left to right, or
 * has nothing in it and becomes all zero, whatever its bytes. Rows that are mixed with a partner
 * (MixUp, CutMix) are so beside that, each mirrored by itself before, with the bits of
 * augment/canvas/mix_rows.h. Immutable; plain data.
 */
#ifndef SL_CONVERSION_H
#define SL_CONVERSION_H

#include <sluice/common.h>

typedef struct sl_conversion {
    sluice_dtype dtype; /* of the result: U8, F32, F16, BF16 */
    sluice_layout layout;
    uint32_t width, height;
    float scale[3], bias[3];
} sl_conversion;

/* Bytes of the results of one picture. */
size_t sl_conversion_row_bytes(const sl_conversion *conversion);

enum { SL_ROW_MIRROR = 1, SL_ROW_ZERO = 2 };

/* What is mixed into a row. */
typedef struct sl_conversion_mixing {
    /* A row that is not zero; itself: nothing. Always below the rows of the array: a slot that is
     * dropped may be converted with what an earlier batch, or nobody, wrote there. */
    uint32_t partner;
    float weight; /* the share of its own */
    /* Where samples are the partner's; without a width all are in shares. Without a height none
     * are either. */
    uint16_t left, top, right, bottom;
} sl_conversion_mixing;

/* One batch, in device memory. */
typedef struct sl_conversion_rows {
    const uint8_t *from;                /* rows x height x width x 3 */
    const uint8_t *flags;               /* rows: an or of SL_ROW_* */
    const sl_conversion_mixing *mixing; /* rows; NULL: none is mixed */
    void *to;                           /* rows x height x width x 3 results */
    uint32_t rows;
} sl_conversion_rows;

#endif
