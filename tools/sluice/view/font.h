/* SPDX-License-Identifier: Apache-2.0 */
/*
 * font: text on pixels, in two sizes. Letters are those of ASCII and Latin-1; others are drawn as
 * U+FFFD. Text is UTF-8, on one line. Pure.
 */
#ifndef TOOL_FONT_H
#define TOOL_FONT_H

#include "overlay.h"

#include <stddef.h>
#include <stdint.h>

enum font { FONT_SMALL, FONT_LARGE }; /* 12 pixels; 14, bold */

/* Part of a text. */
struct font_text {
    const char *text;
    size_t bytes;
};

struct font_text font_text(const char *text);
/* Pixels from one line to the next. */
uint32_t font_line(enum font font);
uint32_t font_width(enum font font, struct font_text text);
/* Returns the first line of a text that is broken at blanks, or inside a word wider than `width`
 * pixels. At least one letter, if there is one. */
struct font_text font_break(enum font font, struct font_text text, uint32_t width);
/* Returns as many letters as fit. */
struct font_text font_cut(enum font font, struct font_text text, uint32_t width);
/* Returns the text without its first line, and without the blanks after that. */
struct font_text font_rest(struct font_text text, struct font_text line);
/* The position of a line: its left end, and the top of its letters. */
struct font_place {
    uint32_t x, y;
};
/* Draws a line, without pixels outside the tile. Returns where it ends. */
uint32_t font_draw(const struct overlay *tile, struct font_place at, enum font font,
                   struct font_text line, const uint8_t color[3]);

#endif
