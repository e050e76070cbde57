/* SPDX-License-Identifier: Apache-2.0 */
/* font: 5x7 letters for captions. Printable ASCII; anything else looks like '?'. Pure. */
#ifndef TOOL_FONT_H
#define TOOL_FONT_H

#include <stdbool.h>
#include <stdint.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 7 };

/* Whether the letter covers the pixel (x, y), counted from its upper left. */
bool font_pixel(char character, uint32_t x, uint32_t y);

#endif
