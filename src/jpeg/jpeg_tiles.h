/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_tiles: where the restart intervals of a JPEG's scan are.
 *
 * Purpose: the intervals of a sequential Huffman picture with one interleaved scan are independent
 * bit streams; a region of the picture needs only those under it. Interval i holds the MCUs
 * [i * interval, (i + 1) * interval) in raster order, so it may run over the end of an MCU row
 * when `interval` does not divide mcus_across.
 * The spans are found by one scan over the bytes for the markers, and checked: the number of
 * markers and their sequence (RST0..RST7, again RST0) must be what the header demands. So there is
 * no table that could contradict the picture. A picture without restart markers is one interval.
 * An interval is also what a region decode can enter at. Short ones waste less at a region's sides
 * and cost more markers; ones that divide the MCU row make a grid of tiles, which libjpeg can be
 * handed a part of.
 * Threads: pure; memory from the scratch given.
 */
#ifndef SL_JPEG_TILES_H
#define SL_JPEG_TILES_H

#include "scratch.h"
#include "view.h"

#include <stdbool.h>

/* Bytes [begin, end) of the picture: entropy-coded data without the marker that follows. */
typedef struct sl_jpeg_span {
    uint32_t begin, end;
} sl_jpeg_span;

typedef struct sl_jpeg_tiles {
    uint32_t mcus_across, mcus_down;
    uint32_t interval; /* MCUs in an interval; mcus_across * mcus_down when there are no markers */
    uint32_t count;    /* of intervals, at least 1 */
    sl_jpeg_span *spans;
} sl_jpeg_tiles;

/*
 * `bytes` is the picture, whose entropy-coded data begins at `start`; `tiles` comes with
 * mcus_across, mcus_down and interval filled in (all > 0), and gets the rest. False when the
 * markers are not exactly those expected (damage, or another scan follows: the caller takes a code
 * path that can judge) or the scratch is too small.
 */
bool sl_jpeg_tiles_find(sl_jpeg_tiles *tiles, sl_bytes bytes, uint32_t start, sl_scratch *scratch);

/*
 * About how many MCUs are decoded for those of columns [left, right) in rows [top, bottom), which
 * are not empty: of each interval all before the last one that is wanted. Exact where there is one
 * interval, and where they divide a row.
 */
uint64_t sl_jpeg_tiles_read(const sl_jpeg_tiles *tiles, uint32_t left, uint32_t right, uint32_t top,
                            uint32_t bottom);

/* ---- how long the intervals of a re-tiled JPEG are ---- */

/* The width aimed at: measured (docs/measurements/decoding.md). */
#define SL_TILE_PIXELS 96u

/*
 * `across` (>= 1) MCUs of `mcu_pixels` (>= 8) make a row. `wanted` > 0: that many, but at most a
 * row. 0: about SL_TILE_PIXELS wide: of the divisors of `across` from half to twice that the
 * nearest (the smaller of two), or just that when there is none; a row that is no wider than that
 * stays whole.
 */
uint32_t sl_tile_interval(uint32_t across, uint32_t mcu_pixels, uint32_t wanted);

#endif
