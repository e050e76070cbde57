/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: an HTML page of pictures and text that needs no other file: the pictures are in it, as data
 * URLs. It fits a window of any width, light or dark. It is made in memory and written at the end.
 * Text is data, never markup, and is made safe to look at (safe_text.h). One thread.
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

/* What is between begin and end stands in it. */
enum page_part { PAGE_SAMPLE, PAGE_TILES, PAGE_GROUP, PAGE_VALUES };

/* False: no memory. */
bool page_begin(struct page *page, const char *title, const char *below);
void page_open(struct page *page, enum page_part part);
void page_close(struct page *page, enum page_part part);
/* A sample's heading, and its key. */
void page_put_heading(struct page *page, const char *title, const char *key);
/* Why a sample is bad. */
void page_put_alarm(struct page *page, const char *text);
/* In PAGE_VALUES. */
void page_put_value(struct page *page, const char *name, const char *text);

struct page_tile {
    const void *png;
    size_t bytes;
    uint32_t width, height; /* pixels */
    const char *label;      /* may be empty */
};
/* A picture above its label. Legends go between open and close. */
void page_open_tile(struct page *page, const struct page_tile *tile);
void page_close_tile(struct page *page);
/* Lines of a colour's number, a tab, and what it means. */
void page_put_legend(struct page *page, const char *lines);

/* Ends the page: `text` and `size` are it then. False: no memory. */
bool page_end(struct page *page);
/* Also of one that was not begun (zeroed), or not ended. */
void page_free(struct page *page);

#endif
