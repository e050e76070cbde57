/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cache: finds out by sampling which objects the page cache holds.
 *
 * Purpose: a read through the page cache costs a copy if the bytes are cached, and much more than
 * one past it if they are not. So readers ask first: cachestat returns the number of cached pages
 * of a range (Linux 6.5); before, preadv2 with RWF_NOWAIT reads a byte only if it is cached. Both
 * fail on an overlay (containers), where the pages belong to a file of a layer. There, mincore
 * returns the pages of a mapping, if the process owns the file or may write it. While all answers
 * about an object are the same, few of its requests ask: each sixteenth if it is cached, else each
 * sixty-fourth. Threads: the fetch thread. Memory: 2 bytes an object. If the kernel or file system
 * cannot answer, nothing counts as cached.
 */
#ifndef SL_PAGE_CACHE_H
#define SL_PAGE_CACHE_H

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_page_cache {
    uint8_t *seen; /* last eight answers about an object, the newest lowest; 1: cached */
    uint8_t *rest; /* number of its requests that will not ask */
    uint32_t objects;
    bool no_cachestat, cannot_tell;
    bool device_known, on_overlay; /* the last device that was asked about */
    uint64_t device;
} sl_page_cache;

/* Errors: NOMEM. */
sluice_status sl_page_cache_open(sl_page_cache *cache, uint32_t objects, sluice_error *error);
/* A zeroed one may be closed. */
void sl_page_cache_close(sl_page_cache *cache);

/* Counts one more request of `object`. Returns whether it should ask. */
bool sl_page_cache_asks(sl_page_cache *cache, uint32_t object);
/* For one that should not: returns whether all of the last answers were yes. */
bool sl_page_cache_is_warm(const sl_page_cache *cache, uint32_t object);

/* Returns whether it may ask by an O_DIRECT descriptor: a probable miss is read by that, so that no
 * other has to be opened. */
bool sl_page_cache_asks_direct(const sl_page_cache *cache, uint32_t object);

/* Some bytes of an object. */
typedef struct sl_cached_range {
    uint32_t object;
    int fd;
    bool direct; /* what fd is */
    uint64_t offset, bytes;
} sl_cached_range;

/* Asks, and records the answer: whether all of it is cached; of 256 KiB and more, all but a
 * 64th. */
bool sl_page_cache_has(sl_page_cache *cache, const sl_cached_range *range);
/* Makes the kernel begin to read it, without waiting; not direct. */
void sl_page_cache_read_ahead(const sl_cached_range *range);

#endif
