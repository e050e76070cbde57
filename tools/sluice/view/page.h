/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: an HTML page of images and text that needs no other file: the images are data URLs. It fits
 * a window of any width, light or dark. It is built in memory and written at the end. Text is data,
 * never markup, and is made safe to display (safe_text.h). One thread.
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

/* The part between begin and end. */
enum page_part { PAGE_SAMPLE, PAGE_TILES, PAGE_GROUP, PAGE_VALUES };

/* Begins a page. False: no memory. */
bool page_begin(struct page *page, const char *title, const char *below);
void page_open(struct page *page, enum page_part part);
void page_close(struct page *page, enum page_part part);
/* Writes a sample's heading, and its key. */
void page_put_heading(struct page *page, const char *title, const char *key);
/* Writes why a sample is bad. */
void page_put_alarm(struct page *page, const char *text);
/* Writes a value, in PAGE_VALUES. */
void page_put_value(struct page *page, const char *name, const char *text);

struct page_tile {
    const void *png;
    size_t bytes;
    uint32_t width, height; /* pixels */
    const char *label;      /* may be empty */
};
/* Writes an image above its label. Legends go between open and close. */
void page_open_tile(struct page *page, const struct page_tile *tile);
void page_close_tile(struct page *page);
/* Writes lines of a colour's number, a tab, and its meaning. */
void page_put_legend(struct page *page, const char *lines);

/* Ends the page, which is then `text` with `size`. False: no memory. */
bool page_end(struct page *page);
/* Frees a page, also one that was not begun (zeroed), or not ended. */
void page_free(struct page *page);

#endif
