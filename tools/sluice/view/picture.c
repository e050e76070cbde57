/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include "caption.h"
#include "font.h"
#include "report.h"
#include "safe_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 20,
    GAP = 8,        /* between tiles */
    GROUP_GAP = 20, /* between the draws of several images */
    ROW_GAP = 22,   /* between samples */
    TEXT_GAP = 4,   /* between text and tiles */
    KEY_GAP = 12,
    WIDTH_MIN = 360,  /* without the margins: space for text */
    WIDTH_MAX = 1568, /* so that a sheet fits a screen; a wider tile extends it */
    LINES_MAX = 3     /* of a value; the rest is cut off */
};
/* Maximum pixels of the whole sheet. */
enum { PICTURE_PIXELS_MAX = 200000000 };

static const uint8_t paper = 32;
static const uint8_t ink[3] = {236, 236, 236}, faded[3] = {160, 165, 172},
                     alarm[3] = {255, 120, 110};

/* Position of text; `tile` is NULL while the layout is only measured. */
struct pen {
    const struct overlay *tile;
    uint32_t x, y, width;
};

static void write_line(const struct pen *pen, enum font font, struct font_text line,
                       const uint8_t color[3])
{
    if (pen->tile != NULL) {
        font_draw(pen->tile, (struct font_place){pen->x, pen->y}, font, line, color);
    }
}

/* Writes up to LINES_MAX lines, and an ellipsis if there are more. */
static void write_text(struct pen *pen, enum font font, const char *text, const uint8_t color[3])
{
    char copy[CAPTION_BYTES + VALUE_SHOWN];
    struct font_text left = font_text(safe_text(copy, sizeof copy, text));
    for (uint32_t i = 0; i < LINES_MAX && left.bytes > 0; i++) {
        const struct font_text line = font_break(font, left, pen->width);
        write_line(pen, font, line, color);
        left = font_rest(left, line);
        if (i + 1 == LINES_MAX && left.bytes > 0) {
            const struct pen end = {pen->tile, pen->x + font_width(font, line), pen->y, 0};
            write_line(&end, font, font_text("\xe2\x80\xa6"), color);
        }
        pen->y += font_line(font);
    }
}

/* ---- layout ---- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t label_height(const struct view *view)
{
    const bool labelled = view->picture_count > 1 || view->args->draws > 1;
    return labelled ? font_line(FONT_SMALL) + TEXT_GAP : 0;
}

/* Places the tiles of a group side by side as far as they fit. */
static void lay_out_group(const struct view *view, struct layout *layout)
{
    uint32_t left = 0;
    uint32_t top = 0;
    uint32_t line = 0; /* its height */
    for (uint32_t i = 0; i < view->picture_count; i++) {
        const struct tile_size size = sheet_largest(&view->sheet, i);
        if (left > 0 && left + size.width > WIDTH_MAX) {
            top += line + GAP;
            left = 0;
            line = 0;
        }
        layout->boxes[i] = (struct layout_box){left, top, size.width, size.height};
        line = larger(line, size.height + label_height(view));
        left += size.width + GAP;
        layout->group_width = larger(layout->group_width, left - GAP);
        layout->group_height = top + line;
    }
}

static uint32_t group_gap(const struct view *view)
{
    return view->picture_count > 1 ? GROUP_GAP : GAP;
}

/* Returns the width taken by whole images. */
static uint32_t source_width(const struct layout *layout)
{
    return layout->source.width > 0 ? layout->source.width + GROUP_GAP : 0;
}

static void lay_out_line(const struct view *view, struct layout *layout)
{
    const uint32_t draws = (uint32_t)view->args->draws;
    const uint32_t step = layout->group_width + group_gap(view);
    const uint32_t left = source_width(layout);
    const uint32_t space = left < WIDTH_MAX ? WIDTH_MAX - left : 0;
    const uint32_t fitting = larger((space + group_gap(view)) / step, 1);
    const uint32_t lines = (draws + fitting - 1) / fitting;
    layout->across = (draws + lines - 1) / lines;
    const uint32_t width = left + layout->across * step - group_gap(view);
    layout->width = larger(width, WIDTH_MIN) + 2 * MARGIN;
}

struct layout_box picture_source_place(const struct view *view, uint32_t row)
{
    const struct overlay tile = sheet_tile(&view->sources, (struct sheet_place){row, 0, 0});
    return (struct layout_box){MARGIN, view->layout.tops[row], tile.width, tile.height};
}

struct layout_box picture_place(const struct view *view, struct sheet_place at)
{
    const struct layout *layout = &view->layout;
    const struct overlay tile = sheet_tile(&view->sheet, at);
    const struct layout_box *box = &layout->boxes[at.number];
    const uint32_t column = at.draw % layout->across;
    const uint32_t line = at.draw / layout->across;
    return (struct layout_box){
        .left = MARGIN + source_width(layout) + column * (layout->group_width + group_gap(view)) +
                box->left,
        .top = layout->tops[at.row] + line * (layout->group_height + GAP) + box->top,
        .width = tile.width,
        .height = tile.height,
    };
}

/* ---- drawing ---- */

/* Writes "epoch 3", or "3" if that is too wide. */
static void write_label(const struct view *view, const struct overlay *whole, struct sheet_place at,
                        const struct layout_box *box)
{
    char text[CAPTION_BYTES];
    char copy[CAPTION_BYTES];
    const struct pen pen = {
        .tile = whole, .x = box->left, .y = box->top + view->layout.boxes[at.number].height + 2};
    const uint32_t width = view->layout.boxes[at.number].width;
    caption_tile(view, at.draw, at.number, text, sizeof text);
    struct font_text label = font_text(safe_text(copy, sizeof copy, text));
    if (font_width(FONT_SMALL, label) > width && view->steps == NULL && view->picture_count == 1) {
        snprintf(copy, sizeof copy, "%u", (unsigned)at.draw);
        label = font_text(copy);
    }
    write_line(&pen, FONT_SMALL, font_cut(FONT_SMALL, label, width), faded);
}

static void copy_pixels(const struct overlay *whole, const struct layout_box *box,
                        const struct overlay *tile)
{
    for (uint32_t y = 0; y < tile->height; y++) {
        memcpy(whole->rgb + (box->top + y) * whole->stride + (size_t)box->left * 3,
               tile->rgb + y * tile->stride, tile->stride);
    }
}

static void copy_source(const struct view *view, const struct overlay *whole, uint32_t row)
{
    const struct layout_box box = picture_source_place(view, row);
    const struct overlay tile = sheet_tile(&view->sources, (struct sheet_place){row, 0, 0});
    const struct pen pen = {.tile = whole, .x = box.left, .y = box.top + tile.height + 2};
    copy_pixels(whole, &box, &tile);
    write_line(&pen, FONT_SMALL, font_cut(FONT_SMALL, font_text(CAPTION_SOURCE), tile.width),
               faded);
}

static void copy_tile(const struct view *view, const struct overlay *whole, struct sheet_place at)
{
    const struct layout_box box = picture_place(view, at);
    const struct overlay tile = sheet_tile(&view->sheet, at);
    copy_pixels(whole, &box, &tile);
    if (label_height(view) > 0) {
        write_label(view, whole, at, &box);
    }
}

static void copy_tiles(const struct view *view, const struct overlay *whole, uint32_t row)
{
    if (view->args->source) {
        copy_source(view, whole, row);
    }
    for (uint32_t draw = 0; draw < view->args->draws; draw++) {
        for (uint32_t i = 0; i < view->picture_count; i++) {
            copy_tile(view, whole, (struct sheet_place){row, draw, i});
        }
    }
}

/* Writes the caption: the key after the number and the class, or below them. */
static void write_caption(const struct view *view, struct pen *pen, uint32_t row)
{
    char text[CAPTION_BYTES];
    char copy[CAPTION_BYTES];
    const uint32_t left = pen->x;
    caption_title(view, row, text, sizeof text);
    const uint32_t width = font_width(FONT_LARGE, font_text(safe_text(copy, sizeof copy, text)));
    write_text(pen, FONT_LARGE, text, ink);
    caption_key(view, row, text, sizeof text);
    const uint32_t wide = font_width(FONT_SMALL, font_text(safe_text(copy, sizeof copy, text)));
    if (width + KEY_GAP + wide <= pen->width) {
        pen->x += width + KEY_GAP;
        pen->y -= font_line(FONT_SMALL) + 1; /* on the same baseline */
    }
    write_text(pen, FONT_SMALL, text, faded);
    pen->x = left;
}

/* Draws a row, from the pen on; leaves the pen below it. */
static void draw_row(struct view *view, struct pen *pen, uint32_t row)
{
    char text[CAPTION_BYTES + VALUE_SHOWN];
    struct layout *layout = &view->layout;
    const uint32_t lines = ((uint32_t)view->args->draws + layout->across - 1) / layout->across;
    write_caption(view, pen, row);
    caption_reason(view, row, text, sizeof text);
    write_text(pen, FONT_SMALL, text, alarm);
    pen->y += TEXT_GAP;
    layout->tops[row] = pen->y;
    if (pen->tile != NULL) {
        copy_tiles(view, pen->tile, row);
    }
    pen->y += larger(lines * (layout->group_height + GAP) - GAP, layout->source.height);
    for (uint32_t i = 0; i < view->value_count; i++) {
        if (!view->values[i].is_drawn) {
            snprintf(text, sizeof text, "%s: %s", view->values[i].column, view_text(view, row, i));
            pen->y += i == 0 ? TEXT_GAP : 0;
            write_text(pen, FONT_SMALL, text, ink);
        }
    }
}

/* Draws everything, or with `tile` NULL only computes the positions. */
static void draw_all(struct view *view, const struct overlay *tile)
{
    char text[CAPTION_BYTES];
    struct pen pen = {tile, MARGIN, MARGIN, view->layout.width - 2 * MARGIN};
    write_text(&pen, FONT_LARGE, view->args->dataset, ink);
    caption_sheet(view, text, sizeof text);
    write_text(&pen, FONT_SMALL, text, faded);
    for (uint32_t row = 0; row < view->count; row++) {
        pen.y += ROW_GAP;
        draw_row(view, &pen, row);
    }
    view->layout.height = pen.y + MARGIN;
}

struct overlay picture_draw(struct view *view)
{
    struct layout *layout = &view->layout;
    lay_out_group(view, layout);
    if (view->args->source) {
        const struct tile_size size = sheet_largest(&view->sources, 0);
        layout->source.width = size.width;
        layout->source.height = size.height + font_line(FONT_SMALL) + TEXT_GAP;
    }
    lay_out_line(view, layout);
    draw_all(view, NULL);
    const uint64_t pixels = (uint64_t)layout->width * layout->height;
    struct overlay whole = {
        .width = layout->width, .height = layout->height, .stride = (size_t)layout->width * 3};
    if (pixels > PICTURE_PIXELS_MAX) {
        report("a sheet of %u x %u pixels is too large, at most %d; ask for fewer samples or "
               "columns, or write a page (-o FILE.html)",
               (unsigned)layout->width, (unsigned)layout->height, PICTURE_PIXELS_MAX);
        return whole;
    }
    whole.rgb = malloc((size_t)pixels * 3);
    if (whole.rgb == NULL) {
        report("out of memory for a sheet of this size; ask for fewer samples or draws");
        return whole;
    }
    memset(whole.rgb, paper, (size_t)pixels * 3);
    draw_all(view, &whole);
    return whole;
}
