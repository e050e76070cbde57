/* SPDX-License-Identifier: Apache-2.0 */
/* tag: a word at a box, on the box's colour. Pure. */
#ifndef TOOL_TAG_H
#define TOOL_TAG_H

#include "overlay.h"

/* Draws a tag above the box's left, top, right, bottom, or inside its top if there is no space
 * above. A word wider than the tile is cut off; tiles below 128 pixels have no tags. */
void tag_draw(const struct overlay *tile, const double box[4], const char *word,
              const uint8_t color[3]);

#endif
