/* SPDX-License-Identifier: Apache-2.0 */
#include "index_cache.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

#include <string.h>

#define SLOTS_MIN SL_INDEX_CACHE_STRIPES
/* 16 MiB, touched only as they fill: the blocks of two million samples. */
#define SLOTS_MAX 4096u

sluice_status sl_index_cache_open(sl_index_cache *cache, uint64_t blocks, sluice_error *error)
{
    *cache = (sl_index_cache){.slots = SLOTS_MIN};
    while (cache->slots < blocks && cache->slots < SLOTS_MAX) {
        cache->slots *= 2;
    }
    for (size_t i = 0; i < SL_INDEX_CACHE_STRIPES; i++) {
        sl_mutex_init(&cache->stripes[i]);
    }
    cache->blocks = sl_malloc((size_t)cache->slots * SL_PAGE_BYTES);
    cache->tags = sl_calloc(cache->slots, sizeof(*cache->tags));
    if (cache->blocks == NULL || cache->tags == NULL) {
        sl_index_cache_close(cache);
        return sl_no_memory(error, "dataset", "for the index cache");
    }
    return SLUICE_OK;
}

void sl_index_cache_close(sl_index_cache *cache)
{
    if (cache->slots == 0) {
        return;
    }
    for (size_t i = 0; i < SL_INDEX_CACHE_STRIPES; i++) {
        sl_mutex_destroy(&cache->stripes[i]);
    }
    sl_free(cache->blocks);
    sl_free(cache->tags);
    *cache = (sl_index_cache){0};
}

/*
 * Maps a block to a slot. Neighbours get different slots, and so do all blocks if there are enough
 * slots; the high bits keep strides from colliding.
 */
static uint32_t index_cache_slot_of(const sl_index_cache *cache, uint64_t tag)
{
    uint64_t mixed = tag ^ (tag >> 17) ^ (tag >> 34);
    return (uint32_t)(mixed & (cache->slots - 1));
}

bool sl_index_cache_get(sl_index_cache *cache, uint64_t tag, size_t offset, void *out, size_t bytes)
{
    uint32_t slot = index_cache_slot_of(cache, tag);
    pthread_mutex_t *mutex = &cache->stripes[slot % SL_INDEX_CACHE_STRIPES];
    sl_lock(mutex);
    bool found = cache->tags[slot] == tag + 1;
    if (found) {
        memcpy(out, cache->blocks + (size_t)slot * SL_PAGE_BYTES + offset, bytes);
    }
    sl_unlock(mutex);
    return found;
}

void sl_index_cache_put(sl_index_cache *cache, uint64_t tag, const uint8_t block[SL_PAGE_BYTES])
{
    uint32_t slot = index_cache_slot_of(cache, tag);
    pthread_mutex_t *mutex = &cache->stripes[slot % SL_INDEX_CACHE_STRIPES];
    sl_lock(mutex);
    cache->tags[slot] = tag + 1;
    memcpy(cache->blocks + (size_t)slot * SL_PAGE_BYTES, block, SL_PAGE_BYTES);
    sl_unlock(mutex);
}
