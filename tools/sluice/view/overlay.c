/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay.h"

#include <math.h>
#include <string.h>

enum { LARGE = 128 };

const uint8_t *overlay_color(uint64_t number)
{
    static const uint8_t colors[OVERLAY_COLORS][3] = {
        {230, 25, 75},  {60, 180, 75},   {255, 225, 25}, {0, 130, 200},
        {245, 130, 48}, {145, 30, 180},  {70, 240, 240}, {240, 50, 230},
        {210, 245, 60}, {250, 190, 212}, {0, 128, 128},  {170, 110, 40},
    };
    return colors[number % OVERLAY_COLORS];
}

bool overlay_is_large(const struct overlay *tile)
{
    return tile->width >= LARGE && tile->height >= LARGE;
}

static uint8_t *pixel_of(const struct overlay *tile, uint32_t x, uint32_t y)
{
    return tile->rgb + (size_t)y * tile->stride + (size_t)x * 3;
}

static uint32_t bounded(double value, uint32_t most)
{
    return value > 0 ? (uint32_t)fmin(value, most) : 0;
}

void overlay_fill(const struct overlay *tile, const double from[4], const uint8_t color[3])
{
    const uint32_t right = bounded(from[2], tile->width);
    const uint32_t bottom = bounded(from[3], tile->height);
    for (uint32_t y = bounded(from[1], tile->height); y < bottom; y++) {
        for (uint32_t x = bounded(from[0], tile->width); x < right; x++) {
            memcpy(pixel_of(tile, x, y), color, 3);
        }
    }
}

void overlay_box(const struct overlay *tile, const double box[4], const uint8_t color[3])
{
    const double line = overlay_is_large(tile) ? 2 : 1;
    const double left = round(box[0]);
    const double top = round(box[1]);
    const double right = fmax(round(box[2]), left + 1);
    const double bottom = fmax(round(box[3]), top + 1);
    if (!isfinite(box[0] + box[1] + box[2] + box[3])) {
        return;
    }
    overlay_fill(tile, (double[]){left, top, right, fmin(top + line, bottom)}, color);
    overlay_fill(tile, (double[]){left, fmax(bottom - line, top), right, bottom}, color);
    overlay_fill(tile, (double[]){left, top, fmin(left + line, right), bottom}, color);
    overlay_fill(tile, (double[]){fmax(right - line, left), top, right, bottom}, color);
}

/* Clips the ends of a line, as fractions of it, to between 0 and `most` of an axis. */
static void clip(double from, double step, double most, double share[2])
{
    if (step != 0) {
        const double a = -from / step;
        const double b = (most - from) / step;
        share[0] = fmax(share[0], fmin(a, b));
        share[1] = fmin(share[1], fmax(a, b));
    } else if (from < 0 || from > most) {
        share[1] = -1;
    }
}

void overlay_line(const struct overlay *tile, const double from[2], const double to[2],
                  const uint8_t color[3])
{
    const double wide = overlay_is_large(tile) ? 2 : 1;
    const double step[2] = {to[0] - from[0], to[1] - from[1]};
    double share[2] = {0, 1};
    if (!isfinite(step[0] + step[1])) {
        return;
    }
    clip(from[0], step[0], tile->width, share);
    clip(from[1], step[1], tile->height, share);
    const double length = fmax(fabs(step[0]), fabs(step[1])) * (share[1] - share[0]);
    const uint32_t dots = length >= 0 ? (uint32_t)(2 * length) + 1 : 0;
    for (uint32_t i = 0; i < dots; i++) {
        const double at = share[0] + (share[1] - share[0]) * i / dots;
        const double x = floor(from[0] + step[0] * at - (wide - 1) / 2);
        const double y = floor(from[1] + step[1] * at - (wide - 1) / 2);
        overlay_fill(tile, (double[]){x, y, x + wide, y + wide}, color);
    }
}

static void draw_cross(const struct overlay *tile, double x, double y, const uint8_t color[3])
{
    overlay_fill(tile, (double[]){x - 2, y, x + 3, y + 1}, color);
    overlay_fill(tile, (double[]){x, y - 2, x + 1, y + 3}, color);
}

/* Draws the lines of a disc, each to its extent on both sides. */
static void draw_disc(const struct overlay *tile, double x, double y, int radius,
                      const uint8_t color[3])
{
    for (int i = -radius; i <= radius; i++) {
        const double reach = floor(sqrt((radius + 0.5) * (radius + 0.5) - i * i));
        overlay_fill(tile, (double[]){x - reach, y + i, x + reach + 1, y + i + 1}, color);
    }
}

void overlay_point(const struct overlay *tile, double x, double y, const uint8_t color[3])
{
    static const uint8_t rim[3] = {0, 0, 0};
    if (!isfinite(x + y)) {
        return;
    }
    if (overlay_is_large(tile)) {
        draw_disc(tile, floor(x), floor(y), 4, rim);
        draw_disc(tile, floor(x), floor(y), 3, color);
    } else {
        draw_cross(tile, floor(x), floor(y), color);
    }
}

void overlay_dot(const struct overlay *tile, uint32_t x, uint32_t y, const uint8_t color[3])
{
    memcpy(pixel_of(tile, x, y), color, 3);
}

void overlay_tint(const struct overlay *tile, uint32_t x, uint32_t y, const uint8_t color[3])
{
    uint8_t *pixel = pixel_of(tile, x, y);
    for (size_t i = 0; i < 3; i++) {
        pixel[i] = (uint8_t)((pixel[i] + color[i]) / 2);
    }
}
