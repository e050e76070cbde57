/* SPDX-License-Identifier: Apache-2.0 */
#include "tag.h"

#include "font.h"

#include <math.h>

enum { PADDING = 3 };

/* Returns black or white, whichever is readable on the colour. */
static const uint8_t *contrast(const uint8_t color[3])
{
    static const uint8_t black[3] = {0, 0, 0};
    static const uint8_t white[3] = {255, 255, 255};
    const uint32_t luminance = color[0] * 299U + color[1] * 587U + color[2] * 114U;
    return luminance > 128000 ? black : white;
}

void tag_draw(const struct overlay *tile, const double box[4], const char *word,
              const uint8_t color[3])
{
    const double height = font_line(FONT_SMALL) - 2;
    const struct font_text text = font_text(word);
    const double width = font_width(FONT_SMALL, text) + 2 * PADDING;
    if (!overlay_is_large(tile) || text.bytes == 0 || !isfinite(box[0] + box[1])) {
        return;
    }
    const double left = fmin(fmax(round(box[0]), 0), fmax(tile->width - width, 0));
    const double above = round(box[1]) - height;
    const double top = fmin(above >= 0 ? above : fmax(round(box[1]), 0), tile->height - height);
    overlay_fill(tile, (double[]){left, top, left + width, top + height}, color);
    font_draw(tile, (struct font_place){(uint32_t)left + PADDING, (uint32_t)top}, FONT_SMALL, text,
              contrast(color));
}
