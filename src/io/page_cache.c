/* SPDX-License-Identifier: Apache-2.0 */
#include "page_cache.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* By number, since older headers lack the name; the same on all machines. */
#define CACHESTAT     451
#define OVERLAY_MAGIC 0x794c7630 /* OVERLAYFS_SUPER_MAGIC */

/* No folio of the last page reaches that far past a file's end. */
#define FAR_PAST_END (UINT64_C(1) << 30)

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

/* Whole pages of a file. */
typedef struct page_range {
    uint64_t first, count;
    uint64_t bytes_each;
} page_range;

static page_range pages_of(const sl_cached_range *range)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t first = range->offset / page;
    return (page_range){first, (range->offset + range->bytes + page - 1) / page - first, page};
}

static bool are_nearly_all(const page_range *pages, uint64_t cached)
{
    return cached >= pages->count - pages->count / PAGES_A_MISS;
}

/* Returns 1: nearly all of it is cached, 0: not, -1: this kernel has no cachestat, or the process
 * may not ask about this file. */
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
    const page_range pages = pages_of(range);
    return are_nearly_all(&pages, answer.cached) ? 1 : 0;
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

/* Returns the number of cached pages, by mincore of a mapping that is never touched; -1: unknown.
 */
static int64_t count_by_mincore(int fd, const page_range *pages)
{
    uint8_t there[1024];
    const size_t bytes = pages->count * pages->bytes_each;
    const size_t most = sizeof(there) * pages->bytes_each;
    const off_t offset = (off_t)(pages->first * pages->bytes_each);
    uint8_t *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, offset);
    if (map == MAP_FAILED) {
        return -1;
    }
    int64_t cached = 0;
    for (size_t at = 0; at < bytes && cached >= 0; at += most) {
        const size_t part = sl_min_size(bytes - at, most);
        const bool known = mincore(map + at, part, there) == 0;
        for (size_t i = 0; known && i < part / pages->bytes_each; i++) {
            cached += there[i] & 1;
        }
        cached = known ? cached : -1;
    }
    (void)munmap(map, bytes);
    return cached;
}

/* mincore calls every page cached if the process neither owns nor may write the file, even pages
 * past its end. */
static bool mincore_lies(int fd, uint64_t file_bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const page_range past = {(file_bytes + FAR_PAST_END) / page, 1, page};
    return count_by_mincore(fd, &past) != 0;
}

/* Asks for the file system once per device: a server may have to answer. */
static bool is_overlay(sl_page_cache *cache, int fd, uint64_t device)
{
    struct statfs is;
    if (!cache->device_known || cache->device != device) {
        cache->on_overlay = fstatfs(fd, &is) == 0 && (uint64_t)is.f_type == OVERLAY_MAGIC;
        cache->device = device;
        cache->device_known = true;
    }
    return cache->on_overlay;
}

/* Replaces the `answer` of an overlay, whose own files have no pages: mapping one of them maps the
 * layer's file. */
static int ask_layer(sl_page_cache *cache, const sl_cached_range *range, int answer)
{
    struct stat file;
    if (fstat(range->fd, &file) != 0 || !is_overlay(cache, range->fd, (uint64_t)file.st_dev)) {
        return answer;
    }
    const page_range pages = pages_of(range);
    const int64_t cached = count_by_mincore(range->fd, &pages);
    if (cached < 0) {
        return -1;
    }
    if (!are_nearly_all(&pages, (uint64_t)cached)) {
        return 0;
    }
    return mincore_lies(range->fd, (uint64_t)file.st_size) ? -1 : 1;
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
    }
    if (there <= 0) {
        there = ask_layer(cache, range, there);
        cache->cannot_tell = there < 0;
    }
    page_cache_note(cache, range->object, there > 0);
    return there > 0;
}

void sl_page_cache_read_ahead(const sl_cached_range *range)
{
    (void)posix_fadvise(range->fd, (off_t)range->offset, (off_t)range->bytes, POSIX_FADV_WILLNEED);
}
