/* SPDX-License-Identifier: Apache-2.0 */
/* glyphs: the letters that font.h draws, written by make_glyphs.py. Constant. */
#ifndef TOOL_GLYPHS_H
#define TOOL_GLYPHS_H

#include <stdint.h>

enum { GLYPHS = 95 + 96 + 2, FONTS = 2 };

/* A letter: its pixels are at `first` of the levels, line by line. */
struct glyph {
    uint16_t first;
    uint8_t advance; /* pixels to the next letter */
    int8_t left, top;
    uint8_t width, height;
};

/* Levels are 0 to 15, 16 of them in a word, the first one lowest. */
struct typeface {
    const struct glyph *glyphs;
    const uint64_t *levels;
    uint32_t line_height; /* pixels */
};

extern const struct typeface glyph_faces[FONTS];

#endif
