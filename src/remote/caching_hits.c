/* SPDX-License-Identifier: Apache-2.0 */
/* caching_hits: the minimum that any policy downloads in the second of two epochs, and LRU's
 * amount. */
#include "caching.h"

#include "error.h"
#include "memory.h"

#include <stdlib.h>

#define ABSENT UINT32_MAX

static uint32_t use_at(const sl_chunk_uses *uses, uint64_t at)
{
    return at < uses->first_count ? uses->first_epoch[at]
                                  : uses->second_epoch[at - uses->first_count];
}

/* ---- the optimum ---- */

/* A chunk that can be held: bytes that it saves, and bytes that it takes. */
typedef struct held_chunk {
    uint64_t saves;
    uint32_t bytes;
} held_chunk;

/* Sorts by savings per byte of the cache. */
static int densest_first(const void *a, const void *b)
{
    const held_chunk *one = a;
    const held_chunk *two = b;
    const double first = (double)one->saves / one->bytes;
    const double second = (double)two->saves / two->bytes;
    return first > second ? -1 : first < second;
}

/* Returns the maximum savings if a part of a chunk may be held: no choice of whole chunks saves
 * more. */
static uint64_t most_saved(held_chunk *chunks, uint64_t count, uint64_t space)
{
    uint64_t saved = 0;
    qsort(chunks, count, sizeof(*chunks), densest_first);
    for (uint64_t i = 0; i < count && space > 0; i++) {
        const held_chunk *chunk = &chunks[i];
        if (chunk->bytes > space) {
            return saved + (uint64_t)((double)chunk->saves * (double)space / chunk->bytes);
        }
        saved += chunk->saves;
        space -= chunk->bytes;
    }
    return saved;
}

/*
 * Returns the minimum download. A chunk that is not held when the second epoch begins costs its
 * reads, or a whole chunk if that is less. Only chunks that the first epoch uses can be held.
 * `needed`: zeros, one for each chunk; `chunks`: space for one more.
 */
static uint64_t least_download(const sl_chunk_uses *uses, uint64_t *needed, held_chunk *chunks)
{
    uint64_t least = 0;
    uint64_t count = 0;
    for (uint64_t at = 0; at < uses->second_count; at++) {
        needed[uses->second_epoch[at]] += uses->bytes_second[at];
    }
    for (uint32_t chunk = 0; chunk < uses->chunks; chunk++) {
        const uint64_t whole = uses->chunk_bytes[chunk];
        needed[chunk] = needed[chunk] < whole ? needed[chunk] : whole;
        least += needed[chunk];
    }
    for (uint64_t at = 0; at < uses->first_count; at++) { /* each chunk once */
        const uint32_t chunk = uses->first_epoch[at];
        chunks[count] = (held_chunk){needed[chunk], uses->chunk_bytes[chunk]};
        count += needed[chunk] > 0;
        needed[chunk] = 0;
    }
    return least - most_saved(chunks, count, uses->space);
}

static sluice_status find_optimum(const sl_chunk_uses *uses, uint64_t *downloaded,
                                  sluice_error *error)
{
    uint64_t *needed = sl_calloc((size_t)uses->chunks + 1, sizeof(*needed));
    held_chunk *chunks = sl_calloc((size_t)uses->chunks + 1, sizeof(*chunks));
    const bool made = needed != NULL && chunks != NULL;
    if (made) {
        *downloaded = least_download(uses, needed, chunks);
    }
    sl_free(needed);
    sl_free(chunks);
    return made ? SLUICE_OK : sl_no_memory(error, "cache", "for the uses of chunks");
}

/* ---- LRU ---- */

/* A ring of the held chunks. Its head, the most recently used one, follows number `chunks`. */
typedef struct lru_policy {
    uint32_t *before, *behind; /* ABSENT: not held */
    uint64_t held;             /* bytes */
} lru_policy;

static void unlink_chunk(lru_policy *lru, uint32_t chunk, uint32_t bytes)
{
    lru->behind[lru->before[chunk]] = lru->behind[chunk];
    lru->before[lru->behind[chunk]] = lru->before[chunk];
    lru->behind[chunk] = ABSENT;
    lru->held -= bytes;
}

static void link_chunk(lru_policy *lru, uint32_t head, uint32_t chunk, uint32_t bytes)
{
    lru->before[chunk] = head;
    lru->behind[chunk] = lru->behind[head];
    lru->before[lru->behind[head]] = chunk;
    lru->behind[head] = chunk;
    lru->held += bytes;
}

/* Returns the bytes that the second epoch downloads: a whole chunk for each miss. */
static uint64_t run_lru(const sl_chunk_uses *uses, lru_policy *lru)
{
    const uint64_t count = uses->first_count + uses->second_count;
    const uint32_t head = uses->chunks;
    uint64_t downloaded = 0;
    for (uint32_t chunk = 0; chunk < uses->chunks; chunk++) {
        lru->behind[chunk] = ABSENT;
    }
    lru->before[head] = lru->behind[head] = head;
    for (uint64_t at = 0; at < count; at++) {
        const uint32_t chunk = use_at(uses, at);
        const uint32_t bytes = uses->chunk_bytes[chunk];
        if (lru->behind[chunk] != ABSENT) {
            unlink_chunk(lru, chunk, bytes);
        } else {
            downloaded += at >= uses->first_count ? bytes : 0;
        }
        while (lru->held > 0 && lru->held + bytes > uses->space) {
            const uint32_t last = lru->before[head];
            unlink_chunk(lru, last, uses->chunk_bytes[last]);
        }
        if (bytes <= uses->space) {
            link_chunk(lru, head, chunk, bytes);
        }
    }
    return downloaded;
}

static sluice_status find_lru(const sl_chunk_uses *uses, uint64_t *downloaded, sluice_error *error)
{
    lru_policy lru = {.before = sl_calloc((size_t)uses->chunks + 1, sizeof(*lru.before)),
                      .behind = sl_calloc((size_t)uses->chunks + 1, sizeof(*lru.behind))};
    const bool made = lru.before != NULL && lru.behind != NULL;
    if (made) {
        *downloaded = run_lru(uses, &lru);
    }
    sl_free(lru.before);
    sl_free(lru.behind);
    return made ? SLUICE_OK : sl_no_memory(error, "cache", "for the uses of chunks");
}

static double undownloaded(uint64_t downloaded, uint64_t bytes)
{
    return downloaded < bytes ? 1 - (double)downloaded / (double)bytes : 0;
}

sluice_status sl_chunk_hits_find(const sl_chunk_uses *uses, sl_chunk_hits *hits,
                                 sluice_error *error)
{
    uint64_t bytes = 0;
    uint64_t least = 0;
    uint64_t lru = 0;
    *hits = (sl_chunk_hits){0};
    for (uint64_t at = 0; at < uses->second_count; at++) {
        bytes += uses->bytes_second[at];
    }
    if (uses->space == 0 || bytes == 0) {
        return SLUICE_OK;
    }
    sluice_status status = find_optimum(uses, &least, error);
    if (status == SLUICE_OK) {
        status = find_lru(uses, &lru, error);
    }
    if (status == SLUICE_OK) {
        *hits = (sl_chunk_hits){undownloaded(least, bytes), undownloaded(lru, bytes)};
    }
    return status;
}
