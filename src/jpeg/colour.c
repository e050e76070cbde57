/* SPDX-License-Identifier: Apache-2.0 */
#include "colour.h"

/* a * b / 255, rounded, for a and b of 0..255. */
static uint32_t multiply_255(uint32_t a, uint32_t b)
{
    uint32_t product = a * b + 128;
    return ((product >> 8) + product) >> 8;
}

void sl_rgb_from_inverted_cmyk(const uint8_t *cmyk, uint8_t *rgb, size_t pixels)
{
    for (size_t i = 0; i < pixels; i++) {
        uint32_t no_black = cmyk[i * 4 + 3];
        for (size_t c = 0; c < 3; c++) {
            uint32_t ink = 255U - cmyk[i * 4 + c];
            rgb[i * 3 + c] = (uint8_t)(no_black - multiply_255(ink, no_black));
        }
    }
}
