/* SPDX-License-Identifier: Apache-2.0 */
#include "png_pixels.h"

#include "minmax.h"

#include <assert.h>
#include <string.h>

void sl_png_colours_of(const sl_png *png, sl_png_colours *colours)
{
    colours->count = 0;
    if (png->colour == SL_PNG_PALETTE) {
        colours->count = png->palette_colors;
        memcpy(colours->rgb, png->palette.data + 8, (size_t)colours->count * 3);
    } else if (png->colour == SL_PNG_GREY && png->depth < 8) {
        colours->count = 1U << png->depth;
        for (uint32_t i = 0; i < colours->count; i++) {
            memset(colours->rgb + (size_t)i * 3, (int)(i * 255 / (colours->count - 1)), 3);
        }
    }
}

/* Colours are written for any index; the largest one is checked at the end. */
static bool png_pixels_look_up(const sl_png_colours *colours, const uint8_t *row, uint32_t count,
                               uint8_t *rgb)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = row[i];
        const uint8_t *colour = colours->rgb + (size_t)number * 3;
        largest = sl_max_u32(number, largest);
        rgb[0] = colour[0];
        rgb[1] = colour[1];
        rgb[2] = colour[2];
        rgb += 3;
    }
    return largest < colours->count;
}

/* Does the same for pixels of 1, 2 or 4 bits, the leftmost in the upper ones. */
static bool look_up_bits(const sl_png *png, const sl_png_colours *colours, const uint8_t *row,
                         uint32_t x, uint32_t count, uint8_t *rgb)
{
    uint8_t numbers[1024];
    const uint32_t depth = png->depth;
    const uint32_t mask = (1U << depth) - 1;
    bool good = true;
    for (uint32_t done = 0; done < count;) {
        const uint32_t left = count - done;
        const uint32_t some = left < sizeof(numbers) ? left : (uint32_t)sizeof(numbers);
        for (uint32_t i = 0; i < some; i++) {
            const uint64_t bit = (uint64_t)(x + done + i) * depth;
            numbers[i] = (uint8_t)(row[bit / 8] >> (8 - depth - bit % 8) & mask);
        }
        good &= png_pixels_look_up(colours, numbers, some, rgb + (size_t)done * 3);
        done += some;
    }
    return good;
}

/* Picks red, green and blue from pixels of `step` bytes; green and blue are at these distances from
 * red. */
static inline void pick(const uint8_t *row, uint32_t count, uint8_t *rgb, uint32_t step,
                        uint32_t apart)
{
    for (uint32_t i = 0; i < count; i++) {
        rgb[0] = row[0];
        rgb[1] = row[apart];
        rgb[2] = row[(size_t)2 * apart];
        rgb += 3;
        row += step;
    }
}

bool sl_png_to_rgb(const sl_png *png, const sl_png_colours *colours, const uint8_t *row, uint32_t x,
                   uint32_t count, uint8_t *rgb)
{
    if (png->depth < 8) {
        return look_up_bits(png, colours, row, x, count, rgb);
    }
    const uint32_t step = sl_png_pixel_bits(png) / 8;
    const uint8_t *first = row + (size_t)x * step;
    if (colours->count > 0) {
        return png_pixels_look_up(colours, first, count, rgb);
    }
    const bool is_grey = png->colour == SL_PNG_GREY || png->colour == SL_PNG_GREY_ALPHA;
    switch (step) { /* constants, so that the compiler can specialize */
    case 1:
        pick(first, count, rgb, 1, 0);
        break;
    case 2: /* 16-bit grey, or grey with alpha */
        pick(first, count, rgb, 2, 0);
        break;
    case 3:
        memcpy(rgb, first, (size_t)count * 3);
        break;
    case 4: /* 16-bit grey with alpha, or RGBA */
        pick(first, count, rgb, 4, is_grey ? 0 : 1);
        break;
    case 6:
        pick(first, count, rgb, 6, 2);
        break;
    default:
        assert(step == 8);
        pick(first, count, rgb, 8, 2);
        break;
    }
    return true;
}
