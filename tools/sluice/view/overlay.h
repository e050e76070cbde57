/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlay: lines and colours over the pixels of a tile. Coordinates are continuous, as in
 * sluice/columns.h: pixel (i, j) covers [i, i + 1) x [j, j + 1). Parts outside the tile are
 * skipped; numbers that are not finite draw nothing. Pure.
 */
#ifndef TOOL_OVERLAY_H
#define TOOL_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of an image, of RGB bytes. */
struct overlay {
    uint8_t *rgb;
    uint32_t width, height; /* pixels */
    size_t stride;          /* bytes from one line to the next */
};

enum { OVERLAY_COLORS = 12 };

/* Returns the colour of a number, from a repeating palette. RGB. */
const uint8_t *overlay_color(uint64_t number);

/* Returns whether both sides have at least 128 pixels: then lines are thicker, masks have edges,
 * and boxes are named. */
bool overlay_is_large(const struct overlay *tile);
/* Fills the pixels from left, top up to right, bottom, if any. */
void overlay_fill(const struct overlay *tile, const double from[4], const uint8_t color[3]);
/* Draws the inner outline of left, top, right, bottom: 1 pixel wide, 2 in large tiles. */
void overlay_box(const struct overlay *tile, const double box[4], const uint8_t color[3]);
/* Draws a line from one point to another, as wide as an outline. */
void overlay_line(const struct overlay *tile, const double from[2], const double to[2],
                  const uint8_t color[3]);
/* Draws a cross around the pixel of a point, 5 pixels wide; in large tiles a disc, 7 wide, with
 * a black rim. */
void overlay_point(const struct overlay *tile, double x, double y, const uint8_t color[3]);
/* Sets one pixel of the tile. */
void overlay_dot(const struct overlay *tile, uint32_t x, uint32_t y, const uint8_t color[3]);
/* Makes half of a pixel's colour `color`; the pixel is in the tile. */
void overlay_tint(const struct overlay *tile, uint32_t x, uint32_t y, const uint8_t color[3]);

#endif
