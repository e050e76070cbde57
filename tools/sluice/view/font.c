/* SPDX-License-Identifier: Apache-2.0 */
#include "font.h"

#include "glyphs.h"
#include "safe_text.h"

#include <string.h>

enum { UNKNOWN = GLYPHS - 1, LEVEL_MAX = 15 };

/* Returns the number in the order of POINTS in make_glyphs.py. */
static uint32_t glyph_number(uint32_t point)
{
    if (point >= 0x20 && point < 0x7f) {
        return point - 0x20;
    }
    if (point >= 0xa0 && point < 0x100) {
        return 95 + point - 0xa0;
    }
    return point == 0x2026 ? UNKNOWN - 1 : UNKNOWN;
}

/* Takes the next letter of a text that is not empty. */
static const struct glyph *take_letter(enum font font, struct font_text *text)
{
    uint32_t point = 0;
    size_t length = utf8_decode(text->text, &point);
    if (length == 0 || length > text->bytes) {
        point = 0xfffd;
        length = 1;
    }
    text->text += length;
    text->bytes -= length;
    return &glyph_faces[font].glyphs[glyph_number(point)];
}

struct font_text font_text(const char *text)
{
    return (struct font_text){text, strlen(text)};
}

uint32_t font_line(enum font font)
{
    return glyph_faces[font].line_height;
}

uint32_t font_width(enum font font, struct font_text text)
{
    uint32_t width = 0;
    while (text.bytes > 0) {
        width += take_letter(font, &text)->advance;
    }
    return width;
}

struct font_text font_break(enum font font, struct font_text text, uint32_t width)
{
    struct font_text left = text;
    size_t blank = 0; /* bytes before the last one */
    uint32_t used = 0;
    while (left.bytes > 0) {
        const size_t before = text.bytes - left.bytes;
        blank = *left.text == ' ' ? before : blank;
        used += take_letter(font, &left)->advance;
        if (used > width && before > 0) {
            return (struct font_text){text.text, blank > 0 ? blank : before};
        }
    }
    return text;
}

struct font_text font_cut(enum font font, struct font_text text, uint32_t width)
{
    struct font_text left = text;
    uint32_t used = 0;
    while (left.bytes > 0) {
        const size_t before = text.bytes - left.bytes;
        used += take_letter(font, &left)->advance;
        if (used > width) {
            return (struct font_text){text.text, before};
        }
    }
    return text;
}

struct font_text font_rest(struct font_text text, struct font_text line)
{
    struct font_text rest = {text.text + line.bytes, text.bytes - line.bytes};
    while (rest.bytes > 0 && *rest.text == ' ') {
        rest.text++;
        rest.bytes--;
    }
    return rest;
}

static void draw_letter(const struct overlay *tile, struct font_place at, enum font font,
                        const struct glyph *glyph, const uint8_t color[3])
{
    const uint64_t *levels = glyph_faces[font].levels;
    for (uint32_t i = 0; i < (uint32_t)glyph->width * glyph->height; i++) {
        const uint32_t number = glyph->first + i;
        const uint32_t level = levels[number / 16] >> number % 16 * 4 & LEVEL_MAX;
        const int64_t x = (int64_t)at.x + glyph->left + i % glyph->width;
        const int64_t y = (int64_t)at.y + glyph->top + i / glyph->width;
        if (level > 0 && x >= 0 && x < tile->width && y >= 0 && y < tile->height) {
            uint8_t *pixel = tile->rgb + (size_t)y * tile->stride + (size_t)x * 3;
            for (size_t k = 0; k < 3; k++) {
                const uint32_t mixed = pixel[k] * (LEVEL_MAX - level) + color[k] * level;
                pixel[k] = (uint8_t)((mixed + LEVEL_MAX / 2) / LEVEL_MAX);
            }
        }
    }
}

uint32_t font_draw(const struct overlay *tile, struct font_place at, enum font font,
                   struct font_text line, const uint8_t color[3])
{
    while (line.bytes > 0) {
        const struct glyph *glyph = take_letter(font, &line);
        draw_letter(tile, at, font, glyph, color);
        at.x += glyph->advance;
    }
    return at.x;
}
