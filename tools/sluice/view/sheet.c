/* SPDX-License-Identifier: Apache-2.0 */
#include "sheet.h"

#include "files.h"
#include "font.h"
#include "report.h"
#include "safe_text.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 4, TEXT_ZOOM = 2, LINE_HEIGHT = FONT_HEIGHT * TEXT_ZOOM + GAP };

static const uint8_t paper = 32;
static const uint8_t ink = 230;

static uint32_t group_width(const struct sheet_plan *plan, uint32_t tiles)
{
    uint32_t width = 0;
    for (uint32_t i = 0; i < tiles; i++) {
        width += plan->sides[i] + GAP;
    }
    return width;
}

static uint32_t tallest(const struct sheet_plan *plan)
{
    uint32_t side = 0;
    for (uint32_t i = 0; i < plan->group; i++) {
        side = plan->sides[i] > side ? plan->sides[i] : side;
    }
    return side;
}

static uint32_t row_height(const struct sheet_plan *plan)
{
    return tallest(plan) + plan->lines * LINE_HEIGHT + GAP;
}

uint64_t sheet_pixels(const struct sheet_plan *plan)
{
    const uint64_t width = (uint64_t)plan->draws * group_width(plan, plan->group) + GAP;
    return width * ((uint64_t)plan->rows * row_height(plan) + GAP);
}

bool sheet_create(struct sheet *sheet, const struct sheet_plan *plan)
{
    *sheet = (struct sheet){.plan = *plan};
    sheet->width = plan->draws * group_width(plan, plan->group) + GAP;
    sheet->height = plan->rows * row_height(plan) + GAP;
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
    return GAP + row * row_height(&sheet->plan);
}

void sheet_put_tile(struct sheet *sheet, uint32_t row, uint32_t draw, uint32_t number,
                    const uint8_t *rgb)
{
    const struct sheet_plan *plan = &sheet->plan;
    const uint32_t side = plan->sides[number];
    const uint32_t left = GAP + draw * group_width(plan, plan->group) + group_width(plan, number);
    const size_t line = (size_t)side * 3;
    for (uint32_t y = 0; y < side; y++) {
        memcpy(place(sheet, left, row_top(sheet, row) + y), rgb + y * line, line);
    }
}

static void put_letter(struct sheet *sheet, uint32_t left, uint32_t top, uint32_t point)
{
    for (int y = -FONT_ABOVE * TEXT_ZOOM; y < (FONT_HEIGHT + FONT_BELOW) * TEXT_ZOOM; y++) {
        for (int x = 0; x < FONT_WIDTH * TEXT_ZOOM; x++) {
            const int row = (y + FONT_ABOVE * TEXT_ZOOM) / TEXT_ZOOM - FONT_ABOVE;
            if (font_pixel(point, x / TEXT_ZOOM, row)) {
                memset(place(sheet, left + (uint32_t)x, (uint32_t)((int)top + y)), ink, 3);
            }
        }
    }
}

void sheet_put_line(struct sheet *sheet, uint32_t row, uint32_t line, const char *text)
{
    uint32_t advance = (FONT_WIDTH + 1) * TEXT_ZOOM;
    uint32_t top = row_top(sheet, row) + tallest(&sheet->plan) + line * LINE_HEIGHT + GAP;
    uint32_t left = GAP;
    while (*text != '\0' && left + advance + GAP <= sheet->width) {
        uint32_t point;
        const size_t length = utf8_decode(text, &point);
        text += length > 0 ? length : 1;
        if (length > 0 && font_is_mark(point)) {
            continue;
        }
        put_letter(sheet, left, top, length > 0 ? point : UINT32_MAX);
        left += advance;
    }
}

static bool cannot_write(const char *path)
{
    char text[128] = "";
    report("cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
    return false;
}

bool sheet_can_write(const char *path)
{
    return files_can_write(path) || cannot_write(path);
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
        done = cannot_write(path);
    }
    free(bytes);
    return done;
}
