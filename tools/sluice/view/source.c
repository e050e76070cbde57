/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include "exit_code.h"
#include "report.h"
#include "tag.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_STEP = 16 };

static const char source_name[] = "view.source";

/* ---- columns ---- */

static void name_place(uint32_t picture, char name[COLUMN_NAME_BYTES])
{
    snprintf(name, COLUMN_NAME_BYTES, "view.place%" PRIu32, picture);
}

static void make_place(struct column_spec *spec, const char *name, const char *picture)
{
    column_spec_clear(spec);
    spec->column.kind = SLUICE_COLUMN_GEOMETRY;
    spec->field[0] = '\0';
    snprintf(spec->name, sizeof spec->name, "%s", name);
    column_spec_set_text(spec, offsetof(sluice_column, follows), picture);
}

int source_add_places(const struct view *view, struct column_set *set)
{
    if (set->count + view->picture_count > OPTION_LIST_MAX) {
        report("--source needs an extra column for each image: at most %d", OPTION_LIST_MAX);
        return TOOL_USAGE;
    }
    for (uint32_t i = 0; i < set->count; i++) { /* default columns give the output's size */
        set->specs[i].column.dims =
            set->specs[i].column.kind == SLUICE_COLUMN_IMAGE ? 0 : set->specs[i].column.dims;
    }
    for (uint32_t i = 0; i < view->picture_count; i++) {
        char name[COLUMN_NAME_BYTES];
        name_place(i, name);
        make_place(&set->specs[set->count++], name, view->pictures[i]);
    }
    set->asked = true;
    return TOOL_FINE;
}

static const char *field_of(const struct column_set *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (strcmp(set->specs[i].name, name) == 0) {
            return set->specs[i].field;
        }
    }
    return name;
}

void source_set_up(const struct view *view, const struct column_set *columns,
                   struct column_set *set)
{
    struct column_spec *picture = &set->specs[0];
    const uint32_t side = view->sides[0];
    char place[COLUMN_NAME_BYTES];
    column_spec_clear(picture);
    picture->column.kind = SLUICE_COLUMN_IMAGE;
    picture->crop = PIPELINE_NONE;
    picture->size = side;
    snprintf(picture->name, sizeof picture->name, "%s", source_name);
    snprintf(picture->field, sizeof picture->field, "%s", field_of(columns, view->pictures[0]));
    snprintf(picture->augment, sizeof picture->augment, "letter_box:%" PRIu32 ":%" PRIu32, side,
             side);
    name_place(0, place);
    make_place(&set->specs[1], place, source_name);
    set->count = 2;
    set->asked = true;
}

/* ---- pictures ---- */

/* The data of image `picture` in a batch of one row: its map to the output, and its size. */
struct source_map {
    double matrix[9]; /* maps (x, y, 1) of the image to the output; all 0: no sample */
    double width, height;
};

static sluice_status take_map(const sluice_batch *batch, uint32_t picture, struct source_map *map)
{
    char name[COLUMN_NAME_BYTES];
    char size_name[COLUMN_NAME_BYTES + 8];
    sluice_tensor matrix = SLUICE_TENSOR_INIT;
    sluice_tensor size = SLUICE_TENSOR_INIT;
    name_place(picture, name);
    snprintf(size_name, sizeof size_name, "%s.size", name);
    sluice_status status = sluice_batch_tensor(batch, name, &matrix);
    if (status >= 0) {
        status = sluice_batch_tensor(batch, size_name, &size);
    }
    if (status >= 0) {
        memcpy(map->matrix, matrix.data, sizeof map->matrix);
        map->height = (double)((const int64_t *)size.data)[0];
        map->width = (double)((const int64_t *)size.data)[1];
    }
    return status;
}

/* Takes the part of a letter box that is the image. */
sluice_status source_take(struct view *view, const sluice_batch *batch, uint32_t row)
{
    struct source_map map = {.width = 0};
    sluice_tensor image = SLUICE_TENSOR_INIT;
    const uint32_t side = view->sides[0];
    sluice_status status = take_map(batch, 0, &map);
    if (status >= 0) {
        status = sluice_batch_tensor(batch, source_name, &image);
    }
    const uint32_t width = (uint32_t)fmin(round(map.matrix[0] * map.width), side);
    const uint32_t height = (uint32_t)fmin(round(map.matrix[4] * map.height), side);
    if (status < 0 || width == 0 || height == 0) {
        return status;
    }
    const uint32_t left = (uint32_t)fmin(round(fmax(map.matrix[2], 0)), side - width);
    const uint32_t top = (uint32_t)fmin(round(fmax(map.matrix[5], 0)), side - height);
    const size_t line = (size_t)width * 3;
    uint8_t *cut = malloc(line * height);
    if (cut == NULL) {
        return SLUICE_NOMEM;
    }
    for (uint32_t y = 0; y < height; y++) {
        memcpy(cut + y * line, (const uint8_t *)image.data + (((size_t)top + y) * side + left) * 3,
               line);
    }
    sheet_put_tile(&view->sources, (struct sheet_place){row, 0, 0}, cut, width, height);
    free(cut);
    return status;
}

/* Maps (x, y) of the output back to the image. False: outside. */
static bool map_back(const double m[9], const double from[2], double to[2])
{
    const double x = from[0];
    const double y = from[1];
    const double a = (m[4] * m[8] - m[5] * m[7]) * x + (m[2] * m[7] - m[1] * m[8]) * y +
                     (m[1] * m[5] - m[2] * m[4]);
    const double b = (m[5] * m[6] - m[3] * m[8]) * x + (m[0] * m[8] - m[2] * m[6]) * y +
                     (m[2] * m[3] - m[0] * m[5]);
    const double w = (m[3] * m[7] - m[4] * m[6]) * x + (m[1] * m[6] - m[0] * m[7]) * y +
                     (m[0] * m[4] - m[1] * m[3]);
    to[0] = a / w;
    to[1] = b / w;
    return isfinite(to[0]) && isfinite(to[1]);
}

static bool is_upright(double corners[4][2])
{
    for (size_t i = 0; i < 4; i++) {
        const size_t next = (i + 1) % 4;
        if (fabs(corners[i][0] - corners[next][0]) > 0.25 &&
            fabs(corners[i][1] - corners[next][1]) > 0.25) {
            return false;
        }
    }
    return true;
}

static void draw_outline(const struct overlay *tile, double corners[4][2], uint32_t draw)
{
    char number[16];
    const uint8_t *color = overlay_color(draw);
    double box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 4; i++) {
        box[0] = fmin(box[0], corners[i][0]);
        box[1] = fmin(box[1], corners[i][1]);
        box[2] = fmax(box[2], corners[i][0]);
        box[3] = fmax(box[3], corners[i][1]);
    }
    if (is_upright(corners)) {
        overlay_box(tile, box, color);
    } else {
        for (size_t i = 0; i < 4; i++) {
            overlay_line(tile, corners[i], corners[(i + 1) % 4], color);
        }
    }
    snprintf(number, sizeof number, "%" PRIu32, draw);
    /* Inside the box, next to the tags of other draws that begin at the same place. */
    tag_draw(tile, (double[]){fmax(box[0], 0) + draw * TAG_STEP, fmax(box[1], 0), box[2], box[3]},
             number, color);
}

sluice_status source_outline(struct view *view, const sluice_batch *batch, uint32_t row,
                             uint32_t draw)
{
    const struct overlay tile = sheet_tile(&view->sources, (struct sheet_place){row, 0, 0});
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < view->picture_count && status >= 0; i++) {
        const struct overlay shown = sheet_tile(&view->sheet, (struct sheet_place){row, draw, i});
        struct source_map map = {.width = 0};
        double corners[4][2] = {{0}};
        bool mapped = true;
        status = take_map(batch, i, &map);
        for (size_t k = 0; k < 4; k++) {
            const double corner[2] = {k == 1 || k == 2 ? shown.width : 0,
                                      k >= 2 ? shown.height : 0};
            mapped = mapped && map_back(map.matrix, corner, corners[k]);
            corners[k][0] *= tile.width / map.width;
            corners[k][1] *= tile.height / map.height;
        }
        if (status >= 0 && mapped && tile.width > 0) {
            draw_outline(&tile, corners, draw);
        }
    }
    return status;
}
