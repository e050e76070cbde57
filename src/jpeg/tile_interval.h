/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile_interval: how many MCUs the restart intervals of a re-tiled JPEG have.
 *
 * Purpose: an interval is what a region decode can enter at. Short ones waste less at a region's
 * sides and cost more markers; ones that divide the MCU row make a grid of tiles, which libjpeg can
 * be handed a part of.
 * Threads: pure.
 */
#ifndef SL_TILE_INTERVAL_H
#define SL_TILE_INTERVAL_H

#include <stdint.h>

/* The width aimed at: measured (docs/benchmarking.md). */
#define SL_TILE_PIXELS 96u

/*
 * `across` (>= 1) MCUs of `mcu_pixels` (>= 8) make a row. `wanted` > 0: that many, but at most a
 * row. 0: about SL_TILE_PIXELS wide: of the divisors of `across` from half to twice that the
 * nearest (the smaller of two), or just that when there is none; a row that is no wider than that
 * stays whole.
 */
uint32_t sl_tile_interval(uint32_t across, uint32_t mcu_pixels, uint32_t wanted);

#endif
