/* SPDX-License-Identifier: Apache-2.0 */
#include "sheet.h"

#include "report.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

static uint64_t group_pixels(const struct sheet_plan *plan, uint32_t tiles)
{
    uint64_t pixels = 0;
    for (uint32_t i = 0; i < tiles; i++) {
        pixels += (uint64_t)plan->sides[i] * plan->sides[i];
    }
    return pixels;
}

uint64_t sheet_pixels(const struct sheet_plan *plan)
{
    return (uint64_t)plan->rows * plan->draws * group_pixels(plan, plan->group);
}

bool sheet_create(struct sheet *sheet, const struct sheet_plan *plan)
{
    *sheet = (struct sheet){.plan = *plan};
    sheet->rgb = malloc((size_t)sheet_pixels(plan) * 3);
    sheet->sizes = calloc((size_t)plan->rows * plan->draws * plan->group, sizeof *sheet->sizes);
    return sheet->rgb != NULL && sheet->sizes != NULL;
}

void sheet_free(struct sheet *sheet)
{
    free(sheet->rgb);
    free(sheet->sizes);
    *sheet = (struct sheet){.rgb = NULL};
}

static size_t group_number(const struct sheet *sheet, struct sheet_place at)
{
    return (size_t)at.row * sheet->plan.draws + at.draw;
}

static struct tile_size *size_of(const struct sheet *sheet, struct sheet_place at)
{
    return &sheet->sizes[group_number(sheet, at) * sheet->plan.group + at.number];
}

struct overlay sheet_tile(const struct sheet *sheet, struct sheet_place at)
{
    const struct sheet_plan *plan = &sheet->plan;
    const struct tile_size *size = size_of(sheet, at);
    const uint64_t before = group_number(sheet, at) * group_pixels(plan, plan->group);
    return (struct overlay){.rgb = sheet->rgb + (before + group_pixels(plan, at.number)) * 3,
                            .width = size->width,
                            .height = size->height,
                            .stride = (size_t)size->width * 3};
}

struct overlay sheet_put_tile(struct sheet *sheet, struct sheet_place at, const uint8_t *rgb,
                              uint64_t width, uint64_t height)
{
    const uint32_t side = sheet->plan.sides[at.number];
    *size_of(sheet, at) = (struct tile_size){.width = width < side ? (uint32_t)width : side,
                                             .height = height < side ? (uint32_t)height : side};
    const struct overlay tile = sheet_tile(sheet, at);
    for (uint32_t y = 0; y < tile.height; y++) {
        memcpy(tile.rgb + y * tile.stride, rgb + y * width * 3, tile.stride);
    }
    return tile;
}

struct tile_size sheet_largest(const struct sheet *sheet, uint32_t number)
{
    const struct sheet_plan *plan = &sheet->plan;
    struct tile_size largest = {.width = 0};
    for (size_t i = number; i < (size_t)plan->rows * plan->draws * plan->group; i += plan->group) {
        const struct tile_size *size = &sheet->sizes[i];
        largest.width = size->width > largest.width ? size->width : largest.width;
        largest.height = size->height > largest.height ? size->height : largest.height;
    }
    return largest;
}

void *sheet_png(const struct overlay *pixels, size_t *bytes)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    image.width = pixels->width;
    image.height = pixels->height;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *png = malloc(size);
    if (png == NULL) {
        report("out of memory for the PNG; ask for fewer samples or draws");
        return NULL;
    }
    if (png_image_write_to_memory(&image, png, &size, 0, pixels->rgb, (png_int_32)pixels->stride,
                                  NULL) == 0) {
        report("cannot make the PNG: %s", image.message);
        free(png);
        return NULL;
    }
    *bytes = size;
    return png;
}
