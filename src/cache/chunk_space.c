/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_space: determines how many bytes may be written, and removes chunks to make more space.
 *
 * Lists the folder at most every 10 s; the next removals come from the list.
 */
#include "chunk_cache.h"
#include "chunk_state.h"
#include "clock.h"
#include "file.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define SCAN_NS UINT64_C(10000000000)

enum { NS_PER_S = 1000000000 };

/* ---- listing ---- */

typedef struct space_scan {
    sl_chunk_cache *cache;
    uint64_t kept;
    bool short_of_memory;
} space_scan;

static int64_t used_ns(const struct stat *facts)
{
    return (int64_t)facts->st_atim.tv_sec * NS_PER_S + facts->st_atim.tv_nsec;
}

static bool space_visit(void *ctx, const sl_chunk_found *found)
{
    space_scan *scan = ctx;
    sl_chunk_cache *cache = scan->cache;
    if (found->is_part) {
        sl_chunk_folder_clear(&cache->folder, found->name);
        return true;
    }
    scan->kept += sl_chunk_cost((uint64_t)found->facts.st_size);
    if (!scan->short_of_memory && sl_grow(&cache->candidates, &cache->candidate_capacity,
                                          cache->candidate_count + 1, sizeof(*cache->candidates))) {
        cache->candidates[cache->candidate_count++] =
            (sl_chunk_candidate){.key = found->key, .used_ns = used_ns(&found->facts)};
    } else {
        scan->short_of_memory = true;
    }
    return true;
}

/* Sorts by use; the least recently used one is last. */
static int compare_candidates(const void *a, const void *b)
{
    const sl_chunk_candidate *x = a;
    const sl_chunk_candidate *y = b;
    if (x->used_ns != y->used_ns) {
        return x->used_ns < y->used_ns ? 1 : -1;
    }
    if (x->key.object != y->key.object) {
        return x->key.object < y->key.object ? 1 : -1;
    }
    return x->key.chunk < y->key.chunk ? 1 : x->key.chunk > y->key.chunk ? -1 : 0;
}

/* The mutex of space must be held. */
static void space_list(sl_chunk_cache *cache)
{
    sl_chunk_count before;
    space_scan scan = {.cache = cache};
    const uint64_t now = sl_now_ns();
    if (cache->scanned_ns != 0 && now - cache->scanned_ns < SCAN_NS) {
        return;
    }
    cache->scanned_ns = now;
    cache->suspect = false;
    cache->candidate_count = 0;
    const bool counted = sl_chunk_ledger_read(&cache->ledger, &before);
    if (sl_chunk_folder_scan(&cache->folder, space_visit, &scan) && counted &&
        before.kept != scan.kept) {
        sl_chunk_ledger_recount(&cache->ledger);
    }
    if (cache->candidate_count > 1) {
        qsort(cache->candidates, cache->candidate_count, sizeof(*cache->candidates),
              compare_candidates);
    }
}

/* ---- removing ---- */

bool sl_chunk_cache_remove_file(sl_chunk_cache *cache, sl_chunk_key key)
{
    char name[SL_CHUNK_NAME_BYTES];
    sl_chunk_left left = {.fd = -1};
    sl_chunk_name(key, "", name);
    const bool removed = sl_chunk_ledger_remove(&cache->ledger, name);
    sl_lock(&cache->mutex);
    const sl_cached_object *object = sl_chunk_cache_object(cache, key.object);
    const uint32_t entry =
        object != NULL ? sl_chunk_table_find(&cache->table, object, key.chunk) : SL_CHUNK_NO_ENTRY;
    if (entry != SL_CHUNK_NO_ENTRY && cache->table.entries[entry].ready) {
        sl_chunk_table_forget(&cache->table, entry, &left);
    }
    const int old = sl_chunk_cache_settle(&left);
    sl_unlock(&cache->mutex);
    sl_file_close(old);
    if (removed) {
        sl_chunk_count_in(&cache->removed, 1);
    }
    return removed;
}

void sl_chunk_cache_suspect(sl_chunk_cache *cache)
{
    sl_lock(&cache->space_mutex);
    cache->suspect = true;
    sl_unlock(&cache->space_mutex);
}

bool sl_chunk_remove(sl_cached_object *object, uint64_t chunk)
{
    sl_chunk_cache *cache = object->cache;
    const bool removed =
        cache->ledger.fd >= 0 && sl_chunk_cache_remove_file(cache, sl_chunk_key_of(object, chunk));
    if (!removed) {
        sl_chunk_cache_suspect(cache);
    }
    return removed;
}

/*
 * Returns true if the chunk was not used since it was listed, and this process does not have its
 * object open.
 */
static bool space_may_remove(sl_chunk_cache *cache, const sl_chunk_candidate *candidate)
{
    struct stat facts;
    char name[SL_CHUNK_NAME_BYTES];
    sl_lock(&cache->mutex);
    const sl_cached_object *object = sl_chunk_cache_object(cache, candidate->key.object);
    const bool in_use = object != NULL && object->holders > 0;
    sl_unlock(&cache->mutex);
    sl_chunk_name(candidate->key, "", name);
    return !in_use && fstatat(cache->folder.fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(facts.st_mode) && used_ns(&facts) == candidate->used_ns;
}

/* ---- counting ---- */

static uint64_t space_now(sl_chunk_cache *cache, sl_chunk_count *count)
{
    if (!sl_chunk_ledger_read(&cache->ledger, count) && cache->ledger.fd < 0) {
        return 0;
    }
    const uint64_t quota = sl_chunk_counted(&cache->ledger.quota);
    const uint64_t coming = sl_chunk_counted(&cache->coming);
    const uint64_t kept = count->kept > UINT64_MAX - coming ? UINT64_MAX : count->kept + coming;
    return quota - sl_min_u64(quota, kept);
}

uint64_t sl_chunk_cache_space(sl_chunk_cache *cache)
{
    sl_chunk_count count;
    sl_lock(&cache->space_mutex);
    if (cache->suspect) {
        space_list(cache);
    }
    sl_unlock(&cache->space_mutex);
    return space_now(cache, &count);
}

uint64_t sl_chunk_cache_make_space(sl_chunk_cache *cache, uint64_t bytes)
{
    sl_chunk_count count;
    const uint64_t quota = sl_chunk_counted(&cache->ledger.quota);
    sl_lock(&cache->space_mutex);
    uint64_t space = space_now(cache, &count);
    const bool may = bytes <= quota && cache->ledger.fd >= 0 && sl_chunk_cache_is_on(cache);
    if (may && space < bytes && cache->candidate_count == 0) {
        space_list(cache);
        space = space_now(cache, &count);
    }
    while (may && count.largest <= quota && space < bytes && cache->candidate_count > 0 &&
           !sl_stop_requested()) {
        const sl_chunk_candidate next = cache->candidates[--cache->candidate_count];
        if (space_may_remove(cache, &next)) {
            (void)sl_chunk_cache_remove_file(cache, next.key);
            space = space_now(cache, &count);
        }
    }
    sl_unlock(&cache->space_mutex);
    return space;
}
