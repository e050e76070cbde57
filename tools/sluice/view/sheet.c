/* SPDX-License-Identifier: Apache-2.0 */
#include "sheet.h"

#include "files.h"
#include "font.h"
#include "report.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 4, TEXT_ZOOM = 2, CAPTION_HEIGHT = FONT_HEIGHT * TEXT_ZOOM + 2 * GAP };

static const uint8_t paper = 32;
static const uint8_t ink = 230;

bool sheet_create(struct sheet *sheet, uint32_t rows, uint32_t columns, uint32_t tile)
{
    *sheet = (struct sheet){.rows = rows, .columns = columns, .tile = tile};
    sheet->width = columns * (tile + GAP) + GAP;
    sheet->height = rows * (tile + CAPTION_HEIGHT) + GAP;
    size_t bytes = (size_t)sheet->width * sheet->height * 3;
    sheet->rgb = malloc(bytes);
    if (sheet->rgb == NULL) {
        return false;
    }
    memset(sheet->rgb, paper, bytes);
    return true;
}

void sheet_free(struct sheet *sheet)
{
    free(sheet->rgb);
    sheet->rgb = NULL;
}

static uint8_t *place(const struct sheet *sheet, uint32_t x, uint32_t y)
{
    return sheet->rgb + ((size_t)y * sheet->width + x) * 3;
}

static uint32_t row_top(const struct sheet *sheet, uint32_t row)
{
    return GAP + row * (sheet->tile + CAPTION_HEIGHT);
}

void sheet_put_tile(struct sheet *sheet, uint32_t row, uint32_t column, const uint8_t *rgb)
{
    uint32_t left = GAP + column * (sheet->tile + GAP);
    size_t line = (size_t)sheet->tile * 3;
    for (uint32_t y = 0; y < sheet->tile; y++) {
        memcpy(place(sheet, left, row_top(sheet, row) + y), rgb + y * line, line);
    }
}

static void put_letter(struct sheet *sheet, uint32_t left, uint32_t top, char letter)
{
    for (uint32_t y = 0; y < FONT_HEIGHT * TEXT_ZOOM; y++) {
        for (uint32_t x = 0; x < FONT_WIDTH * TEXT_ZOOM; x++) {
            if (font_pixel(letter, x / TEXT_ZOOM, y / TEXT_ZOOM)) {
                memset(place(sheet, left + x, top + y), ink, 3);
            }
        }
    }
}

void sheet_put_caption(struct sheet *sheet, uint32_t row, const char *text)
{
    uint32_t advance = (FONT_WIDTH + 1) * TEXT_ZOOM;
    uint32_t top = row_top(sheet, row) + sheet->tile + GAP;
    uint32_t left = GAP;
    for (const char *at = text; *at != '\0' && left + advance + GAP <= sheet->width; at++) {
        if (((unsigned char)*at & 0xc0) == 0x80) {
            continue; /* the rest of a UTF-8 sequence */
        }
        put_letter(sheet, left, top, *at);
        left += advance;
    }
}

bool sheet_write_png(const struct sheet *sheet, const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    image.width = sheet->width;
    image.height = sheet->height;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *bytes = malloc(size);
    if (bytes == NULL) {
        report("no memory for the PNG; ask for fewer samples or draws");
        return false;
    }
    bool done = png_image_write_to_memory(&image, bytes, &size, 0, sheet->rgb, 0, NULL) != 0;
    if (!done) {
        report("cannot make the PNG: %s", image.message);
    } else if (!files_write(path, bytes, size)) {
        char text[128] = "";
        report("cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
        done = false;
    }
    free(bytes);
    return done;
}
