/* SPDX-License-Identifier: Apache-2.0 */
#include "sheet_file.h"

#include "caption.h"
#include "files.h"
#include "page.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the boxes of each draw are, by their colours. */
static void put_legends(const struct view *view, struct page *page, uint32_t row)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < view->mark_count; i++) {
        const struct column_spec *spec = view->marks[i].spec;
        if (spec->kind != SLUICE_COLUMN_BOXES) {
            continue;
        }
        for (uint64_t draw = 0; draw < view->args->draws; draw++) {
            const char *lines = view_legend(view, row, draw, number);
            char lead[64];
            snprintf(lead, sizeof lead, "%s, %" PRIu64 ":", spec->name, draw);
            if (*lines != '\0') {
                page_put_colors(page, lead, lines);
            }
        }
        number++;
    }
}

/* The pictures of a row, between the caption and the values. */
static bool put_row(const struct view *view, struct page *page, uint32_t row)
{
    char text[CAPTION_BYTES];
    caption_row(view, row, text, sizeof text);
    page_put_text(page, "h2", text);
    const struct sheet_strip strip = sheet_row(&view->sheet, row);
    size_t bytes = 0;
    void *png = sheet_png(&view->sheet, strip, &bytes);
    if (png == NULL) {
        return false;
    }
    page_put_png(page, png, bytes, view->sheet.width, strip.height);
    free(png);
    put_legends(view, page, row);
    for (uint32_t i = 0; i < view->value_count; i++) {
        snprintf(text, sizeof text, "%s: %s", view->values[i].column, view_text(view, row, i));
        page_put_text(page, "p", text);
    }
    return true;
}

/* False: reported. */
static bool make_page(const struct view *view, struct page *page)
{
    bool done = page_begin(page, view->args->dataset);
    if (done && view->steps != NULL) {
        char text[CAPTION_STEPS_BYTES];
        caption_steps(view, text, sizeof text);
        page_put_text(page, "p", text);
    }
    for (uint32_t row = 0; done && row < view->count; row++) {
        if (!put_row(view, page, row)) {
            return false;
        }
    }
    if (!done || !page_end(page)) {
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

bool sheet_file_write(const struct view *view)
{
    const char *path = view->args->out;
    struct page page = {0};
    void *png = NULL;
    size_t size = 0;
    bool done = false;
    if (sheet_file_is_page(path)) {
        done = make_page(view, &page);
    } else {
        png = sheet_png(&view->sheet, sheet_whole(&view->sheet), &size);
        done = png != NULL;
    }
    if (done &&
        !(png != NULL ? files_write(path, png, size) : files_write(path, page.text, page.size))) {
        done = cannot_write(path);
    }
    free(png);
    page_free(&page);
    return done;
}
