/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_tiles: finds the restart intervals of a JPEG's scan.
 *
 * Purpose: the intervals of a sequential Huffman image with one interleaved scan are independent
 * bit streams; a region of the image needs only those under it. Interval i holds the MCUs
 * [i * interval, (i + 1) * interval) in raster order, so it may cross the end of an MCU row
 * if `interval` does not divide mcus_across.
 * The spans are found by one scan over the bytes for the markers, and checked: the number of
 * markers and their sequence (RST0..RST7, again RST0) must match the header. So there is no table
 * that could contradict the image. An image without restart markers is one interval. A region
 * decode can start at any interval. Short intervals waste less at a region's sides and cost more
 * markers; if they divide the MCU row, they form a grid of tiles, and libjpeg can be given a part
 * of it.
 * Threads: pure; memory from the given scratch.
 */
#ifndef SL_JPEG_TILES_H
#define SL_JPEG_TILES_H

#include "scratch.h"
#include "view.h"

#include <stdbool.h>

/* Bytes [begin, end) of the image: entropy-coded data without the marker that follows. */
typedef struct sl_jpeg_span {
    uint32_t begin, end;
} sl_jpeg_span;

typedef struct sl_jpeg_tiles {
    uint32_t mcus_across, mcus_down;
    uint32_t interval; /* MCUs in an interval; mcus_across * mcus_down without markers */
    uint32_t count;    /* of intervals, at least 1 */
    sl_jpeg_span *spans;
} sl_jpeg_tiles;

/*
 * Finds the intervals. `bytes` is the image, whose entropy-coded data begins at `start`; the caller
 * fills in mcus_across, mcus_down and interval of `tiles` (all > 0). False: the markers are not
 * exactly the expected ones (damage, or another scan follows: the caller takes a code path that can
 * judge), or the scratch is too small.
 */
bool sl_jpeg_tiles_find(sl_jpeg_tiles *tiles, sl_bytes bytes, uint32_t start, sl_scratch *scratch);

/*
 * Returns about how many MCUs are decoded for those of columns [left, right) in rows [top, bottom),
 * which are not empty: in each interval, all MCUs before the last wanted one. Exact for one
 * interval, and for intervals that divide a row.
 */
uint64_t sl_jpeg_tiles_read(const sl_jpeg_tiles *tiles, uint32_t left, uint32_t right, uint32_t top,
                            uint32_t bottom);

/* ---- how long the intervals of a re-tiled JPEG are ---- */

/* The target width: measured (docs/measurements/decoding.md). */
#define SL_TILE_PIXELS 96u

/*
 * Returns an interval for rows of `across` (>= 1) MCUs of `mcu_pixels` (>= 8). `wanted` > 0: that
 * many, but at most a row. 0: about SL_TILE_PIXELS wide: the nearest divisor of `across` from half
 * to twice that (the smaller of two), or exactly that if there is none; a row that is not wider
 * stays whole.
 */
uint32_t sl_tile_interval(uint32_t across, uint32_t mcu_pixels, uint32_t wanted);

#endif
