/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion: the remaining steps for a batch of bytes on the device.
 *
 * Purpose: workers deliver 8-bit RGB, channels last, so that the fewest bytes cross the bus; the
 * device mirrors, normalises, casts and lays out. Every sample v of channel c becomes fmaf(v,
 * scale[c], bias[c]) in binary32, rounded to nearest even for narrower dtypes, with the bits that
 * augment/canvas/apply.h makes on the host; u8 is copied. No result may be infinite or NaN. A byte
 * of flags for each row (image) says whether it is mirrored left to right, or is empty and becomes
 * all zeros. Rows with a partner (MixUp, CutMix) are mixed, too, each mirrored on its own first,
 * with the bits of augment/canvas/mix_rows.h. Immutable; plain data.
 */
#ifndef SL_CONVERSION_H
#define SL_CONVERSION_H

#include <sluice/common.h>

typedef struct sl_conversion {
    sluice_dtype dtype; /* of the results: U8, F32, F16 or BF16 */
    sluice_layout layout;
    uint32_t width, height;
    float scale[3], bias[3];
} sl_conversion;

/* Bytes of one image's results. */
size_t sl_conversion_row_bytes(const sl_conversion *conversion);

enum { SL_ROW_MIRROR = 1, SL_ROW_ZERO = 2 };

/* How a row is mixed with its partner row. */
typedef struct sl_conversion_mixing {
    /* A row that is not zero, or the row itself: nothing is mixed. Always below the array's number
     * of rows: a dropped slot may be converted with what an earlier batch left there, or with unset
     * values. */
    uint32_t partner;
    float weight; /* fraction of the row's own samples */
    /* The box whose samples are the partner's. Width 0: all samples are mixed by weight instead.
     * Height 0 but not width 0: nothing is mixed. */
    uint16_t left, top, right, bottom;
} sl_conversion_mixing;

/* One batch, in device memory. */
typedef struct sl_conversion_rows {
    const uint8_t *from;                /* rows x height x width x 3 */
    const uint8_t *flags;               /* rows: an or of SL_ROW_* */
    const sl_conversion_mixing *mixing; /* of the rows; NULL: nothing is mixed */
    void *to;                           /* rows x height x width x 3 results */
    uint32_t rows;
} sl_conversion_rows;

#endif
