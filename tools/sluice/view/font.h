/* SPDX-License-Identifier: Apache-2.0 */
/*
 * font: 5x7 letters for captions: ASCII, and Latin-1's letters, whose accents stand above and below
 * those seven rows. Letters of Latin Extended-A are shown without their accents; anything else
 * looks like '?'. Pure.
 */
#ifndef TOOL_FONT_H
#define TOOL_FONT_H

#include <stdbool.h>
#include <stdint.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 7 };
/* Rows above and below, which may be another line's as well. */
enum { FONT_ABOVE = 2, FONT_BELOW = 2 };

/* Whether the letter of a code point covers the pixel (x, y), counted from its upper left; y goes
 * from -FONT_ABOVE to FONT_HEIGHT + FONT_BELOW - 1. */
bool font_pixel(uint32_t point, int x, int y);
/* Whether it is a mark on the letter before, which takes no place of its own. */
bool font_is_mark(uint32_t point);

#endif
