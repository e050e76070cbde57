/* SPDX-License-Identifier: Apache-2.0 */
/* cached_pages: how much of a file is in the page cache, according to the kernel, not the
 * library. */
#ifndef CACHED_PAGES_H
#define CACHED_PAGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cached_pages {
    uint64_t cached, all;
} cached_pages;

/* Expects a non-empty file; asserts that the kernel answers. */
cached_pages cached_pages_of(const char *path);
/* Writes the file to storage, because only clean pages can be dropped, and reads all of it. */
void cached_pages_fill(const char *path);
/* True if the file system drops pages; an in-memory one cannot. The file must have been filled, and
 * is filled again on return. */
bool cached_pages_can_go(const char *path);

#endif
