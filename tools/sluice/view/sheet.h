/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet: a contact sheet: rows of square tiles with a caption under each row, written as PNG.
 * One thread.
 */
#ifndef TOOL_SHEET_H
#define TOOL_SHEET_H

#include <stdbool.h>
#include <stdint.h>

struct sheet {
    uint32_t rows, columns, tile; /* the tile's side, pixels */
    uint32_t width, height;       /* of the whole picture, pixels */
    uint8_t *rgb;
};

/* All grey. False: no memory. The caller frees the sheet. */
bool sheet_create(struct sheet *sheet, uint32_t rows, uint32_t columns, uint32_t tile);
void sheet_free(struct sheet *sheet);

/* `rgb` is tile x tile x 3 bytes. */
void sheet_put_tile(struct sheet *sheet, uint32_t row, uint32_t column, const uint8_t *rgb);
/* Cut at the sheet's right edge; UTF-8 beyond ASCII shows as '?'. */
void sheet_put_caption(struct sheet *sheet, uint32_t row, const char *text);

/* The file appears whole or not at all. False: the error was reported. */
bool sheet_write_png(const struct sheet *sheet, const char *path);

#endif
