/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_region: the part of a JPEG under a rectangle, as a JPEG of its own.
 *
 * Purpose: where restart intervals form a grid (an interval is a part of an MCU row, or some whole
 * rows), those under the rectangle are a smaller picture once they have a header of that size and
 * their restart markers are numbered anew. libjpeg then reads nothing else.
 * The header is an abbreviated one (ITU T.81 B.5): tables are not repeated, the decompressor has
 * them from the whole picture. Nor are the markers that tell the colour space: the caller keeps it.
 * Threads: pure; memory from the scratch given.
 */
#ifndef SL_JPEG_REGION_H
#define SL_JPEG_REGION_H

#include "jpeg_tiles.h"
#include "scratch.h"
#include "view.h"

#include <stdio.h>

#include <jpeglib.h>

typedef struct sl_jpeg_region {
    sl_rect part;   /* of the picture, in pixels; x and y are multiples of the MCU's size */
    sl_bytes bytes; /* a JPEG of part.width x part.height */
    /* for sl_jpeg_region_end */
    size_t header_bytes;
    uint32_t first, rows, across, stride; /* intervals: the first; `rows` of `across` each, and
                                             `stride` from one row to the next */
    uint32_t mcus_high, mcus_down; /* of an interval; from its top to the end of the picture */
} sl_jpeg_region;

/* Whether the intervals of the picture whose header `cinfo` has read form a grid. */
bool sl_jpeg_region_takes(j_decompress_ptr cinfo);

/* Fills in mcus_across, mcus_down and interval from a header. Only for one interleaved scan. */
sl_jpeg_tiles sl_jpeg_tiles_of(j_decompress_ptr cinfo);

/*
 * Makes the smallest region that contains `need`. `cinfo` has read the header of `picture` and
 * nothing more; it is left as it is. False: the region would be the whole picture, or the scratch
 * is too small.
 */
bool sl_jpeg_region_make(sl_jpeg_region *region, j_decompress_ptr cinfo, sl_bytes picture,
                         const sl_jpeg_tiles *tiles, sl_rect need, sl_scratch *scratch);

/* Where in the region's bytes the last interval of its first `mcu_rows` rows of MCUs ends; 0 when
 * intervals go on into the next row. */
size_t sl_jpeg_region_end(const sl_jpeg_region *region, const sl_jpeg_tiles *tiles,
                          uint32_t mcu_rows);

#endif
