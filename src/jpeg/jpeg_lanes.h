/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_lanes: decodes the restart intervals under a region to planes of samples.
 *
 * Purpose: two lanes take intervals in turn. A lane copies an interval's bytes without stuffing,
 * decodes it in chunks of a few MCUs that fit in the first-level cache (jpeg_huffman.h), adds up
 * the DC differences, and transforms the blocks of needed MCUs directly into the planes.
 * Invariants: an interval is decoded up to its last needed MCU. One that was decoded to its end
 * must have used all of its bytes, or decoding fails.
 * Threads: pure; memory from the given scratch.
 */
#ifndef SL_JPEG_LANES_H
#define SL_JPEG_LANES_H

#include "jpeg_huffman.h"
#include "jpeg_idct.h"
#include "jpeg_tiles.h"
#include "scratch.h"
#include "view.h"

/* One component of the region. */
typedef struct sl_jpeg_plane {
    uint32_t across, down; /* blocks of one MCU: 1 or 2 each */
    uint32_t size;         /* samples on a side of a block: 8, 4, 2 or 1 */
    const sl_huffman_tables *tables;
    const uint16_t *quantizers; /* 64, natural order, 64-byte aligned */
    sl_jpeg_idct idct;
    uint8_t *samples; /* of MCU (left, top) */
    size_t stride;
} sl_jpeg_plane;

/* MCUs [left, right) x [top, bottom), not empty, inside the image. */
typedef struct sl_jpeg_area {
    uint32_t left, right, top, bottom;
    uint32_t components; /* 1 or 3 */
    sl_jpeg_plane planes[3];
    const sl_huffman_tables *stop;
    sl_simd simd;
} sl_jpeg_area;

/* Fills the planes. False: an interval is damaged, or no memory. */
bool sl_jpeg_lanes_run(const sl_jpeg_area *area, const sl_jpeg_tiles *tiles, sl_bytes bytes,
                       sl_scratch *scratch);

#endif
