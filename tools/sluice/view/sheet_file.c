/* SPDX-License-Identifier: Apache-2.0 */
#include "sheet_file.h"

#include "caption.h"
#include "files.h"
#include "marks.h"
#include "page.h"
#include "picture.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Writes the meaning of the colours over a tile. */
static void put_legends(const struct view *view, struct page *page, struct sheet_place at)
{
    for (uint32_t i = 0; i < view->mark_count; i++) {
        const struct view_mark *mark = &view->marks[i];
        if (mark->picture == at.number && marks_have_legend(mark->spec)) {
            page_put_legend(page, view_legend(view, at.row, at.draw, mark->legend));
        }
    }
}

/* Writes a tile, and leaves it open. */
static bool open_tile(struct page *page, const struct overlay *pixels, const char *label)
{
    struct page_tile tile = {.width = pixels->width, .height = pixels->height, .label = label};
    void *png = sheet_png(pixels, &tile.bytes);
    if (png == NULL) {
        return false;
    }
    tile.png = png;
    page_open_tile(page, &tile);
    free(png);
    return true;
}

static bool put_tile(const struct view *view, struct page *page, struct sheet_place at)
{
    char label[CAPTION_BYTES];
    const struct overlay pixels = sheet_tile(&view->sheet, at);
    caption_tile(view, at.draw, at.number, label, sizeof label);
    if (!open_tile(page, &pixels, label)) {
        return false;
    }
    put_legends(view, page, at);
    page_close_tile(page);
    return true;
}

static bool put_source(const struct view *view, struct page *page, uint32_t row)
{
    const struct overlay pixels = sheet_tile(&view->sources, (struct sheet_place){row, 0, 0});
    const bool is_bad = pixels.width == 0;
    if (is_bad) {
        return true;
    }
    if (!open_tile(page, &pixels, CAPTION_SOURCE)) {
        return false;
    }
    page_close_tile(page);
    return true;
}

static bool put_draw(const struct view *view, struct page *page, uint32_t row, uint32_t draw)
{
    bool done = true;
    if (view->picture_count > 1) {
        page_open(page, PAGE_GROUP);
    }
    for (uint32_t i = 0; done && i < view->picture_count; i++) {
        done = put_tile(view, page, (struct sheet_place){row, draw, i});
    }
    if (view->picture_count > 1) {
        page_close(page, PAGE_GROUP);
    }
    return done;
}

static void put_values(const struct view *view, struct page *page, uint32_t row)
{
    page_open(page, PAGE_VALUES);
    for (uint32_t i = 0; i < view->value_count; i++) {
        if (!view->values[i].is_drawn && !view->values[i].in_legend) {
            page_put_value(page, view->values[i].column, view_text(view, row, i));
        }
    }
    page_close(page, PAGE_VALUES);
}

/* Writes the images of a row, between the caption and the values. */
static bool put_row(const struct view *view, struct page *page, uint32_t row)
{
    char text[CAPTION_BYTES];
    char key[CAPTION_BYTES];
    page_open(page, PAGE_SAMPLE);
    caption_title(view, row, text, sizeof text);
    caption_key(view, row, key, sizeof key);
    page_put_heading(page, text, key);
    caption_reason(view, row, text, sizeof text);
    if (text[0] != '\0') {
        page_put_alarm(page, text);
    }
    page_open(page, PAGE_TILES);
    bool done = !view->args->source || put_source(view, page, row);
    for (uint32_t draw = 0; done && draw < view->args->draws; draw++) {
        done = put_draw(view, page, row, draw);
    }
    page_close(page, PAGE_TILES);
    put_values(view, page, row);
    page_close(page, PAGE_SAMPLE);
    return done;
}

/* Makes the page. False: reported. */
static bool make_page(const struct view *view, struct page *page)
{
    char text[CAPTION_BYTES];
    caption_sheet(view, text, sizeof text);
    const bool begun = page_begin(page, view->args->dataset, text);
    for (uint32_t row = 0; begun && row < view->count; row++) {
        if (!put_row(view, page, row)) {
            return false;
        }
    }
    if (!begun || !page_end(page)) {
        report("out of memory for the page; ask for fewer samples or draws");
        return false;
    }
    return true;
}

bool sheet_file_is_page(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcasecmp(dot, ".html") == 0 || strcasecmp(dot, ".htm") == 0);
}

static bool cannot_write(const char *path)
{
    char text[128] = "";
    report("cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
    return false;
}

bool sheet_file_is_writable(const char *path)
{
    return files_can_write(path) || cannot_write(path);
}

bool sheet_file_write(struct view *view)
{
    const char *path = view->args->out;
    struct page page = {0};
    void *png = NULL;
    size_t size = 0;
    bool done = false;
    if (sheet_file_is_page(path)) {
        done = make_page(view, &page);
    } else {
        const struct overlay whole = picture_draw(view);
        png = whole.rgb != NULL ? sheet_png(&whole, &size) : NULL;
        done = png != NULL;
        free(whole.rgb);
    }
    if (done &&
        !(png != NULL ? files_write(path, png, size) : files_write(path, page.text, page.size))) {
        done = cannot_write(path);
    }
    free(png);
    page_free(&page);
    return done;
}
