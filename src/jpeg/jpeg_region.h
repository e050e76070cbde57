/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_region: the part of a JPEG under a rectangle, as a separate JPEG.
 *
 * Purpose: if restart intervals form a grid (an interval is a part of an MCU row, or several whole
 * rows), those under the rectangle are a smaller image once they have a header of that size and
 * renumbered restart markers. libjpeg then reads nothing else.
 * The header is abbreviated (ITU T.81 B.5): tables are not repeated, the decompressor has them from
 * the whole image. The markers of the colour space are not repeated, either: the caller keeps it.
 * Threads: pure; memory from the given scratch.
 */
#ifndef SL_JPEG_REGION_H
#define SL_JPEG_REGION_H

#include "jpeg_tiles.h"
#include "scratch.h"
#include "view.h"

#include <stdio.h>

#include <jpeglib.h>

typedef struct sl_jpeg_region {
    sl_rect part;   /* of the image, in pixels; x and y are multiples of the MCU's size */
    sl_bytes bytes; /* a JPEG of part.width x part.height */
    /* for sl_jpeg_region_end */
    size_t header_bytes;
    uint32_t first, rows, across, stride; /* intervals: the first; `rows` of `across` each, and
                                             `stride` from one row to the next */
    uint32_t mcus_high, mcus_down;        /* of an interval; from its top to the end of the image */
} sl_jpeg_region;

/* Returns whether the intervals of the image whose header `cinfo` has read form a grid. */
bool sl_jpeg_region_takes(j_decompress_ptr cinfo);

/* Returns tiles with mcus_across, mcus_down and interval from a header. Only for one interleaved
 * scan. */
sl_jpeg_tiles sl_jpeg_tiles_of(j_decompress_ptr cinfo);

/* Makes the smallest region that contains `need`. `cinfo` has read only the header of `picture`,
 * and stays unchanged. False: the region would be the whole image, or the scratch is too small. */
bool sl_jpeg_region_make(sl_jpeg_region *region, j_decompress_ptr cinfo, sl_bytes picture,
                         const sl_jpeg_tiles *tiles, sl_rect need, sl_scratch *scratch);

/* Returns where in the region's bytes the last interval of its first `mcu_rows` rows of MCUs
 * ends; 0 if intervals continue into the next row. */
size_t sl_jpeg_region_end(const sl_jpeg_region *region, const sl_jpeg_tiles *tiles,
                          uint32_t mcu_rows);

#endif
