/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_rows: rows of component samples to rows of RGB, equal to libjpeg-turbo's fancy upsampling
 * (jdsample.c: triangle filter, 3/4 and 1/4) followed by its colour conversion (jdcolor.c).
 *
 * Threads: pure. Variants equal the scalar reference bit for bit.
 */
#ifndef SL_JPEG_ROWS_H
#define SL_JPEG_ROWS_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

/*
 * How many luma samples a chroma sample covers. libjpeg repeats chroma samples instead of
 * interpolating if chroma_width <= 2 (422 and 420), or if blocks of luma become one sample
 * (denominator 8): SL_JPEG_422_PLAIN does that for 422 and 420, and SL_JPEG_444 for 440, with the
 * chroma row that covers the output row.
 */
typedef enum sl_jpeg_sampling {
    SL_JPEG_GREY = 0,
    SL_JPEG_444,       /* 1 x 1 */
    SL_JPEG_422,       /* 2 across */
    SL_JPEG_440,       /* 2 down */
    SL_JPEG_420,       /* 2 x 2 */
    SL_JPEG_422_PLAIN, /* 2 across, repeated */
    SL_JPEG_SAMPLING_COUNT
} sl_jpeg_sampling;

/*
 * One row of output, its pixels [begin, end), in columns of the whole (scaled) image. Sample
 * pointers are to column 0 of the image, even if that is not in memory: column x of luma is
 * luma[x]. Readable: luma [begin, end), chroma the columns covering [begin, end) and one more on
 * each side if it exists in the image; and up to 63 bytes outside of those (the contents do not
 * matter).
 */
typedef struct sl_jpeg_row {
    const uint8_t *luma;
    /* blue (Cb) and red (Cr) rows: the chroma row that covers this output row and, for 440 and
     * 420, the next nearest one (at the image's upper and lower edge the same row again) */
    const uint8_t *cb, *cb_far, *cr, *cr_far;
    uint32_t begin, end;
    uint32_t chroma_width; /* of the image: columns 0 and chroma_width - 1 are edges */
    uint8_t lower;         /* 440, 420: the output row is the lower of the two of its chroma row */
    uint8_t *rgb; /* 3 * (end - begin) bytes; up to 64 more may be written over (later rows come
                     later) */
} sl_jpeg_row;

typedef void (*sl_jpeg_row_maker)(const sl_jpeg_row *row);

sl_jpeg_row_maker sl_jpeg_row_for(sl_simd simd, sl_jpeg_sampling sampling);

#endif
