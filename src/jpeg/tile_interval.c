/* SPDX-License-Identifier: Apache-2.0 */
#include "tile_interval.h"

#include <assert.h>

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

uint32_t sl_tile_interval(uint32_t across, uint32_t mcu_pixels, uint32_t wanted)
{
    assert(across > 0 && mcu_pixels >= 8);
    if (wanted > 0) {
        return wanted < across ? wanted : across;
    }
    const uint32_t target = mcu_pixels < SL_TILE_PIXELS ? SL_TILE_PIXELS / mcu_pixels : 1;
    if (across <= target) {
        return across;
    }
    uint32_t best = 0;
    for (uint32_t i = (target + 1) / 2; i <= target * 2; i++) {
        if (across % i == 0 && (best == 0 || distance(i, target) < distance(best, target))) {
            best = i;
        }
    }
    return best > 0 ? best : target;
}
