/* SPDX-License-Identifier: Apache-2.0 */
/* sheet: the tiles of a contact sheet: each row is a sample, whose draws have several tiles
 * each. One thread. */
#ifndef TOOL_SHEET_H
#define TOOL_SHEET_H

#include "overlay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The dimensions of a sheet. */
struct sheet_plan {
    uint32_t rows;
    uint32_t draws, group; /* a row holds `draws` groups of `group` tiles */
    const uint32_t *sides; /* the largest of a group's tiles, pixels; borrowed */
};

struct sheet {
    struct sheet_plan plan;
    uint8_t *rgb;
    struct tile_size {
        uint32_t width, height; /* pixels */
    } * sizes;
};

/* Returns the number of pixels of such a sheet's tiles. */
uint64_t sheet_pixels(const struct sheet_plan *plan);
/* Creates a sheet without tiles. False: no memory. The caller frees the sheet. */
bool sheet_create(struct sheet *sheet, const struct sheet_plan *plan);
void sheet_free(struct sheet *sheet);

/* The position of a tile: number `number` of group `draw` in row `row`. */
struct sheet_place {
    uint32_t row, draw, number;
};
/* Puts a tile. `rgb` is height x width x 3 bytes; of an image larger than its side, the top left
 * part is used. Returns the part of the sheet. */
struct overlay sheet_put_tile(struct sheet *sheet, struct sheet_place at, const uint8_t *rgb,
                              uint64_t width, uint64_t height);
struct overlay sheet_tile(const struct sheet *sheet, struct sheet_place at);
/* Returns the largest sides of tiles number `number`. */
struct tile_size sheet_largest(const struct sheet *sheet, uint32_t number);

/* Encodes pixels as PNG, which the caller frees. NULL: reported. */
void *sheet_png(const struct overlay *pixels, size_t *bytes);

#endif
