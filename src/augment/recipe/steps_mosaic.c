/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_mosaic: rows of images of several samples, of the YOLO family (ultralytics,
 * data/augment.py). Each image is drawn with the same random numbers; the draw is its place. Pure.
 *
 * Each image is fitted into size x size as ultralytics loads it (int(ceil()) of the shorter side).
 * Four images meet at a point drawn uniformly from the middle half of the canvas. Nine images lie
 * in a grid of three by three cells, each against the middle cell; the canvas shows a window of two
 * cells a side, drawn uniformly. ultralytics places them by the sizes of the earlier images
 * instead. Without a mosaic, the row's own image is letter-boxed in the middle of the canvas: a
 * warp after it, and the crop of its middle, then equal ultralytics' RandomPerspective with and
 * without its border.
 */
#include "error.h"
#include "step_row.h"

#include <math.h>

enum {
    MOSAIC_SIZE,
    MOSAIC_GRID,
    MOSAIC_FILL,
    MOSAIC_PROBABILITY = MOSAIC_FILL + 3,
    MOSAIC_END_EPOCH,
    MOSAIC_INTERPOLATION
};

enum { TILES_OF_FOUR = 4, TILES_OF_NINE = 9, TILE_MAX = SL_SIDE_MAX / 2 };

/* The draw of the row, for all its images. */
typedef struct mosaic {
    double size;
    uint32_t tiles;
    int64_t at[2]; /* of four: the point where they meet; of nine: the window's corner */
} mosaic;

static bool is_closed(const double *arguments, uint64_t epoch)
{
    return arguments[MOSAIC_END_EPOCH] > 0 && (double)epoch >= arguments[MOSAIC_END_EPOCH];
}

static uint32_t mosaic_members(const double *arguments, uint64_t epoch)
{
    if (is_closed(arguments, epoch)) {
        return 1;
    }
    return arguments[MOSAIC_GRID] == 2 ? TILES_OF_FOUR : TILES_OF_NINE;
}

static void mosaic_size(const double *arguments, uint32_t *width, uint32_t *height)
{
    *width = *height = 2 * (uint32_t)arguments[MOSAIC_SIZE];
}

/* Computes the size of an image fitted into size x size: its longer side is `size`. */
static void fit(const sl_drawing *drawing, double size, double (*rounded)(double), uint32_t to[2])
{
    const double width = drawing->width;
    const double height = drawing->height;
    const double ratio = size / fmax(width, height);
    to[0] = (uint32_t)fmin(fmax(rounded(width * ratio), 1), size);
    to[1] = (uint32_t)fmin(fmax(rounded(height * ratio), 1), size);
}

/* Columns and rows of the cells, beginning with the middle one and going round. */
static const int8_t cells[TILES_OF_NINE][2] = {{1, 1}, {1, 0}, {2, 0}, {2, 1}, {2, 2},
                                               {1, 2}, {0, 2}, {0, 1}, {0, 0}};

/* Returns the place along an axis, of a tile that is `side` long. */
static int64_t place_of_four(const mosaic *drawn, uint32_t member, int axis, uint32_t side)
{
    const bool behind = (member >> axis & 1) != 0;
    return behind ? drawn->at[axis] : drawn->at[axis] - side;
}

static int64_t place_of_nine(const mosaic *drawn, uint32_t member, int axis, uint32_t side)
{
    const int64_t size = (int64_t)drawn->size;
    const int8_t cell = cells[member][axis];
    const int64_t begin = cell == 0 ? size - side : cell == 2 ? 2 * size : size + (size - side) / 2;
    return begin - drawn->at[axis];
}

static mosaic draw_mosaic(const double *arguments, sl_drawing *drawing)
{
    const double size = arguments[MOSAIC_SIZE];
    mosaic drawn = {.size = size,
                    .tiles = arguments[MOSAIC_GRID] == 2 ? TILES_OF_FOUR : TILES_OF_NINE};
    const double from = drawn.tiles == TILES_OF_FOUR ? size / 2 : 0;
    for (size_t axis = 2; axis-- > 0;) { /* down first, as ultralytics draws */
        drawn.at[axis] = (int64_t)sl_random_range(&drawing->random, from, from + size);
    }
    return drawn;
}

/* Places the image letter-boxed in the middle, or nowhere. */
static sluice_status draw_alone(const double *arguments, sl_drawing *drawing, sl_tile *tile)
{
    const double size = arguments[MOSAIC_SIZE];
    uint32_t to[2];
    int64_t at[2];
    fit(drawing, size, nearbyint, to);
    const sluice_status status = sl_draw_resize(
        drawing, to[0], to[1], (sl_interpolation)(int)arguments[MOSAIC_INTERPOLATION]);
    tile->absent = drawing->member > 0;
    for (size_t axis = 0; axis < 2; axis++) {
        at[axis] = (int64_t)(size / 2) + (int64_t)nearbyint((size - to[axis]) / 2.0 - 0.1);
    }
    tile->x = tile->absent ? tile->width : at[0];
    tile->y = tile->absent ? tile->height : at[1];
    return status == SLUICE_OK ? sl_draw_tile(drawing, tile) : status;
}

static sluice_status draw_mosaic_tile(const double *arguments, sl_drawing *drawing)
{
    sl_tile tile = {.absent = false};
    uint32_t to[2];
    int64_t at[2];
    sl_draw_fill(arguments + MOSAIC_FILL, tile.fill);
    mosaic_size(arguments, &tile.width, &tile.height);
    if (!sl_draw_happens(drawing, arguments[MOSAIC_PROBABILITY]) ||
        is_closed(arguments, drawing->epoch)) {
        return draw_alone(arguments, drawing, &tile);
    }
    const mosaic drawn = draw_mosaic(arguments, drawing);
    fit(drawing, drawn.size, ceil, to);
    const sluice_status status = sl_draw_resize(
        drawing, to[0], to[1], (sl_interpolation)(int)arguments[MOSAIC_INTERPOLATION]);
    for (int axis = 0; axis < 2; axis++) {
        at[axis] = drawn.tiles == TILES_OF_FOUR
                       ? place_of_four(&drawn, drawing->member, axis, to[axis])
                       : place_of_nine(&drawn, drawing->member, axis, to[axis]);
    }
    tile.x = at[0];
    tile.y = at[1];
    return status == SLUICE_OK ? sl_draw_tile(drawing, &tile) : status;
}

SL_STEP(mosaic) = {
    .name = "mosaic",
    .text = "images of several samples around a random point, on a canvas of twice the size",
    .stage = SL_STAGE_GEOMETRY,
    .cuts = true,
    .stream = 40,
    .arguments = {{SL_ARG_WHOLE("size", 1, TILE_MAX, SL_ARG_GIVEN)},
                  {SL_ARG_WHOLE("grid", 2, 3, 2)},
                  SL_ARG_FILL(114),
                  {SL_ARG_PROBABILITY(1)},
                  {SL_ARG_END_EPOCH},
                  {SL_ARG_RESIZED(SL_BILINEAR)}},
    .size = mosaic_size,
    .members = mosaic_members,
    .draw = draw_mosaic_tile,
    .operations = sl_step_two_operations};
