/* SPDX-License-Identifier: Apache-2.0 */
/* sheet: a contact sheet: rows of square tiles, which stand side by side. One thread. */
#ifndef TOOL_SHEET_H
#define TOOL_SHEET_H

#include "overlay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a sheet is to hold. */
struct sheet_plan {
    uint32_t rows;
    uint32_t draws, group; /* a row holds `draws` groups of `group` tiles */
    const uint32_t *sides; /* of a group's tiles, pixels; borrowed */
};

struct sheet {
    struct sheet_plan plan;
    uint32_t width, height; /* of the whole picture, pixels */
    uint8_t *rgb;
};

/* A part of a sheet, from one line of pixels to another. */
struct sheet_strip {
    uint32_t top, height;
};

/* Pixels of such a sheet. */
uint64_t sheet_pixels(const struct sheet_plan *plan);
/* All grey. False: no memory. The caller frees the sheet. */
bool sheet_create(struct sheet *sheet, const struct sheet_plan *plan);
void sheet_free(struct sheet *sheet);

/* Which tile: number `number` of group `draw` in row `row`. */
struct sheet_place {
    uint32_t row, draw, number;
};
/* `rgb` is height x width x 3 bytes; of a picture that is larger than its tile, what is at the top
 * left. Gives what it became on the sheet. */
struct overlay sheet_put_tile(struct sheet *sheet, struct sheet_place at, const uint8_t *rgb,
                              uint64_t width, uint64_t height);

struct sheet_strip sheet_whole(const struct sheet *sheet);
struct sheet_strip sheet_row(const struct sheet *sheet, uint32_t row);
/* A strip as PNG, which the caller frees. NULL: reported. */
void *sheet_png(const struct sheet *sheet, struct sheet_strip strip, size_t *bytes);

#endif
