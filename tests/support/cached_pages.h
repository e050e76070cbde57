/* SPDX-License-Identifier: Apache-2.0 */
/* cached_pages: what the page cache has of a file, asked of the kernel and not of the library. */
#ifndef CACHED_PAGES_H
#define CACHED_PAGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cached_pages {
    uint64_t cached, all;
} cached_pages;

/* Of a file that is not empty. Asserts that it can be asked. */
cached_pages cached_pages_of(const char *path);
/* Writes it to the storage, which only clean pages can be dropped after, and reads all of it. */
void cached_pages_fill(const char *path);
/* Whether the file's system drops pages at all: one in memory has no other place for them. Of a
 * file that was filled; it is again afterwards. */
bool cached_pages_can_go(const char *path);

#endif
