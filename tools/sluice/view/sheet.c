/* SPDX-License-Identifier: Apache-2.0 */
#include "sheet.h"

#include "report.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 4 };

static const uint8_t paper = 32;

static uint32_t group_width(const struct sheet_plan *plan, uint32_t tiles)
{
    uint32_t width = 0;
    for (uint32_t i = 0; i < tiles; i++) {
        width += plan->sides[i] + GAP;
    }
    return width;
}

static uint32_t row_height(const struct sheet_plan *plan)
{
    uint32_t side = 0;
    for (uint32_t i = 0; i < plan->group; i++) {
        side = plan->sides[i] > side ? plan->sides[i] : side;
    }
    return side + GAP;
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

struct overlay sheet_put_tile(struct sheet *sheet, struct sheet_place at, const uint8_t *rgb,
                              uint64_t width, uint64_t height)
{
    const struct sheet_plan *plan = &sheet->plan;
    const uint32_t side = plan->sides[at.number];
    const uint32_t left =
        GAP + at.draw * group_width(plan, plan->group) + group_width(plan, at.number);
    const struct overlay tile = {
        .rgb = place(sheet, left, sheet_row(sheet, at.row).top),
        .width = width < side ? (uint32_t)width : side,
        .height = height < side ? (uint32_t)height : side,
        .stride = (size_t)sheet->width * 3,
    };
    for (uint32_t y = 0; y < tile.height; y++) {
        memcpy(tile.rgb + y * tile.stride, rgb + y * width * 3, (size_t)tile.width * 3);
    }
    return tile;
}

struct sheet_strip sheet_whole(const struct sheet *sheet)
{
    return (struct sheet_strip){.top = 0, .height = sheet->height};
}

struct sheet_strip sheet_row(const struct sheet *sheet, uint32_t row)
{
    const uint32_t height = row_height(&sheet->plan);
    return (struct sheet_strip){.top = GAP + row * height, .height = height - GAP};
}

void *sheet_png(const struct sheet *sheet, struct sheet_strip strip, size_t *bytes)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    image.width = sheet->width;
    image.height = strip.height;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *png = malloc(size);
    if (png == NULL) {
        report("out of memory for the PNG; ask for fewer samples or draws");
        return NULL;
    }
    const uint8_t *rgb = place(sheet, 0, strip.top);
    if (png_image_write_to_memory(&image, png, &size, 0, rgb, 0, NULL) == 0) {
        report("cannot make the PNG: %s", image.message);
        free(png);
        return NULL;
    }
    *bytes = size;
    return png;
}
