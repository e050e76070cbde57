/* SPDX-License-Identifier: Apache-2.0 */
#include "page_cache.h"

#include "error.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* By number, since older headers lack the name; the same on all machines. */
#define CACHESTAT 451

/* One page in this many may be missing: reading it costs no more than reading all of them past the
 * page cache. */
#define PAGES_A_MISS 64U
#define ALL_THERE    0xffU
#define REST_WARM    15U
#define REST_COLD    63U

sluice_status sl_page_cache_open(sl_page_cache *cache, uint32_t objects, sluice_error *error)
{
    *cache = (sl_page_cache){.objects = objects};
    cache->seen = sl_calloc((size_t)objects + 1, 1);
    cache->rest = sl_calloc((size_t)objects + 1, 1);
    if (cache->seen == NULL || cache->rest == NULL) {
        sl_page_cache_close(cache);
        return sl_no_memory(error, "io", "for %u objects", objects);
    }
    return SLUICE_OK;
}

void sl_page_cache_close(sl_page_cache *cache)
{
    sl_free(cache->seen);
    sl_free(cache->rest);
    *cache = (sl_page_cache){0};
}

bool sl_page_cache_asks(sl_page_cache *cache, uint32_t object)
{
    if (cache->cannot_tell || object >= cache->objects) {
        return false;
    }
    if (cache->rest[object] > 0) {
        cache->rest[object]--;
        return false;
    }
    return true;
}

bool sl_page_cache_is_warm(const sl_page_cache *cache, uint32_t object)
{
    return !cache->cannot_tell && object < cache->objects && cache->seen[object] == ALL_THERE;
}

bool sl_page_cache_asks_direct(const sl_page_cache *cache, uint32_t object)
{
    return !cache->no_cachestat && (cache->seen[object] & 1) == 0;
}

/* Returns 1: nearly all of it is cached, 0: not, -1: this kernel has no cachestat. */
static int ask_cachestat(const sl_cached_range *range)
{
    const struct {
        uint64_t offset, bytes;
    } asked = {range->offset, range->bytes};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } answer = {0};
    if (syscall(CACHESTAT, range->fd, &asked, &answer, 0) != 0) {
        return -1;
    }
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t end = range->offset + range->bytes;
    const uint64_t pages = (end + page - 1) / page - range->offset / page;
    return answer.cached >= pages - pages / PAGES_A_MISS ? 1 : 0;
}

/* Does the same for its last byte; -1: unknown. */
static int ask_nowait(const sl_cached_range *range)
{
    uint8_t byte;
    const struct iovec part = {&byte, 1};
    const off_t last = (off_t)(range->offset + range->bytes - 1);
    const ssize_t got = preadv2(range->fd, &part, 1, last, RWF_NOWAIT);
    if (got < 0) {
        return errno == EAGAIN ? 0 : -1;
    }
    return got > 0; /* 0: after the end */
}

static void page_cache_note(sl_page_cache *cache, uint32_t object, bool there)
{
    const uint8_t seen = (uint8_t)(cache->seen[object] << 1 | there);
    cache->seen[object] = seen;
    if (seen == ALL_THERE) {
        cache->rest[object] = REST_WARM;
    } else {
        cache->rest[object] = seen == 0 ? REST_COLD : 0;
    }
}

bool sl_page_cache_has(sl_page_cache *cache, const sl_cached_range *range)
{
    int there = cache->no_cachestat ? -1 : ask_cachestat(range);
    if (there < 0) {
        cache->no_cachestat = true;
        if (range->direct) {
            return false; /* unknown by this one; another is tried next */
        }
        there = ask_nowait(range);
        cache->cannot_tell = there < 0;
    }
    page_cache_note(cache, range->object, there > 0);
    return there > 0;
}

void sl_page_cache_read_ahead(const sl_cached_range *range)
{
    (void)posix_fadvise(range->fd, (off_t)range->offset, (off_t)range->bytes, POSIX_FADV_WILLNEED);
}
