/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cache: which objects the page cache holds, by sampling.
 *
 * Purpose: a read through the page cache costs a copy where the bytes are there, and much more than
 * one past it where they are not. So readers ask first: cachestat tells how many pages of a
 * range are there (Linux 6.5); before, preadv2 with RWF_NOWAIT reads a byte that is there and
 * refuses to wait for one that is not. While all that was asked about an object was there, only
 * each sixteenth of its requests asks; while nothing was, each sixty-fourth. Threads: the fetch
 * thread. Memory: 2 bytes an object. Where the kernel or file system cannot tell, nothing counts as
 * cached.
 */
#ifndef SL_PAGE_CACHE_H
#define SL_PAGE_CACHE_H

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_page_cache {
    uint8_t *seen; /* the last eight answers about an object, the newest lowest; 1: it was there */
    uint8_t *rest; /* requests of it that will not ask */
    uint32_t objects;
    bool no_cachestat, cannot_tell;
} sl_page_cache;

/* Errors: NOMEM. */
sluice_status sl_page_cache_open(sl_page_cache *cache, uint32_t objects, sluice_error *error);
/* A zeroed one may be closed. */
void sl_page_cache_close(sl_page_cache *cache);

/* One more request of `object`: whether it should ask. */
bool sl_page_cache_asks(sl_page_cache *cache, uint32_t object);
/* For one that does not: whether all of the last answers were yes. */
bool sl_page_cache_is_warm(const sl_page_cache *cache, uint32_t object);

/* Whether it may ask by a descriptor that is O_DIRECT: what is probably not there will be read by
 * that, so that no other has to be opened. */
bool sl_page_cache_asks_direct(const sl_page_cache *cache, uint32_t object);

/* Some bytes of an object. */
typedef struct sl_cached_range {
    uint32_t object;
    int fd;
    bool direct; /* what fd is */
    uint64_t offset, bytes;
} sl_cached_range;

/* Asks, and takes in the answer: whether all of it is there; of 256 KiB and more, all but a 64th.
 */
bool sl_page_cache_has(sl_page_cache *cache, const sl_cached_range *range);
/* Has the kernel begin to read it, without waiting; not direct. */
void sl_page_cache_read_ahead(const sl_cached_range *range);

#endif
