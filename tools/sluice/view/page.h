/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: an HTML page of pictures and text that needs no other file: the pictures are in it, as data
 * URLs. It is made in memory and written at the end. Text is data, never markup, and is made safe
 * to look at (safe_text.h). One thread.
 */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct page {
    FILE *stream;
    char *text;
    size_t size;
};

/* False: no memory. */
bool page_begin(struct page *page, const char *title);
/* An element that holds the text: "h2", "p". */
void page_put_text(struct page *page, const char *element, const char *text);
/* A paragraph: `lead`, then each line of `lines` behind a square in the colour of its number. */
void page_put_colors(struct page *page, const char *lead, const char *lines);
void page_put_png(struct page *page, const void *png, size_t bytes, uint32_t width,
                  uint32_t height);
/* Ends the page: `text` and `size` are it then. False: no memory. */
bool page_end(struct page *page);
/* Also of one that was not begun (zeroed), or not ended. */
void page_free(struct page *page);

#endif
