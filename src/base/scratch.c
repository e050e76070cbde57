/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "poison.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLOSED    ((size_t)4096) /* after a new allocation, so that a sanitizer sees an overrun */
#define ALIGNMENT ((size_t)64)
#define READABLE  ((size_t)64) /* after the last allocation, for vector loads that reach past it */

static size_t scratch_round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static size_t mapped_bytes(const sl_scratch_chunk *chunk)
{
    return scratch_round_up(chunk->bytes + READABLE, (size_t)sysconf(_SC_PAGESIZE));
}

/* Maps the next chunk; false when the system refuses. */
static bool map_chunk(sl_scratch *scratch, size_t bytes)
{
    sl_scratch_chunk chunk = {.bytes = bytes};
    sl_memory_count_allocation();
    void *base = mmap(NULL, mapped_bytes(&chunk), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        sl_memory_note_shortage();
        return false;
    }
    chunk.base = base;
    scratch->chunks[scratch->mapped++] = chunk;
    return true;
}

static void unmap_from(sl_scratch *scratch, uint32_t first)
{
    while (scratch->mapped > first) {
        const sl_scratch_chunk *chunk = &scratch->chunks[--scratch->mapped];
        sl_poison_lift(chunk->base, mapped_bytes(chunk)); /* the next mapping may be here */
        munmap(chunk->base, mapped_bytes(chunk));
    }
}

sluice_status sl_scratch_open(sl_scratch *scratch, size_t limit, size_t keep, sluice_error *error)
{
    assert(limit > 0);
    memset(scratch, 0, sizeof(*scratch));
    if (limit > SIZE_MAX / 4) {
        return sl_error_set(error, SLUICE_NOMEM, "base",
                            "%zu bytes of scratch exceed the address space", limit);
    }
    scratch->limit = scratch->limit_most = scratch_round_up(limit, ALIGNMENT);
    const size_t kept = scratch_round_up(keep > 0 ? keep : 1, ALIGNMENT);
    if (!map_chunk(scratch, sl_min_u64(kept, scratch->limit))) {
        return sl_error_file(error, SLUICE_NOMEM, "base", errno, NULL, -1,
                             "no address space for %zu bytes of scratch", keep);
    }
    return SLUICE_OK;
}

void sl_scratch_keep(sl_scratch *scratch, size_t most)
{
    scratch->keep_most = most;
}

void sl_scratch_close(sl_scratch *scratch)
{
    unmap_from(scratch, 0);
    memset(scratch, 0, sizeof(*scratch));
}

static bool scratch_fits(const sl_scratch *scratch, const sl_scratch_chunk *chunk, size_t bytes)
{
    return bytes <= chunk->bytes - (scratch->used - chunk->start);
}

static size_t all_bytes(const sl_scratch *scratch)
{
    size_t all = 0;
    for (uint32_t i = 0; i < scratch->mapped; i++) {
        all += scratch->chunks[i].bytes;
    }
    return all;
}

/* Returns the pages of the first chunk from `bytes` on, which stay mapped. */
static void forget_first(sl_scratch *scratch, size_t bytes)
{
    const sl_scratch_chunk *first = &scratch->chunks[0];
    const size_t begin = scratch_round_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
    if (scratch->touched > begin) {
        (void)madvise(first->base + begin, mapped_bytes(first) - begin, MADV_DONTNEED);
        scratch->touched = begin;
    }
}

static void note_touched(sl_scratch *scratch)
{
    if (scratch->current == 0 && scratch->used > scratch->touched) {
        scratch->touched = scratch->used;
    }
}

/* Continues in the chunk after the current one. */
static bool enter_next(sl_scratch *scratch, size_t bytes)
{
    const uint32_t next = scratch->current + 1;
    if (next < scratch->mapped && scratch->chunks[next].bytes < bytes) {
        unmap_from(scratch, next);
    }
    if (next == scratch->mapped) {
        const size_t all = all_bytes(scratch);
        const size_t size = scratch_round_up(sl_max_u64(bytes, all / 2), ALIGNMENT);
        if (next == SL_SCRATCH_CHUNKS || !map_chunk(scratch, size)) {
            return false;
        }
    }
    if (next == 1 && all_bytes(scratch) > scratch->limit) {
        forget_first(scratch, scratch->used);
    }
    scratch->current = next;
    scratch->chunks[next].start = scratch->used;
    return true;
}

/* Allows use of `bytes`, and closes those after them. */
static void open_bytes(const sl_scratch_chunk *chunk, uint8_t *memory, size_t bytes)
{
    const size_t left = chunk->bytes + READABLE - (size_t)(memory - chunk->base) - bytes;
    sl_poison_lift(memory, bytes);
    sl_poison_content(memory, bytes);
    sl_poison(memory + bytes, left < CLOSED ? left : CLOSED);
}

void *sl_scratch_take(sl_scratch *scratch, size_t bytes)
{
    if (bytes > scratch->limit - scratch->used) {
        return NULL;
    }
    /* limit and used are multiples of ALIGNMENT, so that rounding cannot pass the limit. */
    const size_t whole = scratch_round_up(bytes, ALIGNMENT);
    if (!scratch_fits(scratch, &scratch->chunks[scratch->current], whole) &&
        !enter_next(scratch, whole)) {
        return NULL;
    }
    const sl_scratch_chunk *chunk = &scratch->chunks[scratch->current];
    uint8_t *memory = chunk->base + (scratch->used - chunk->start);
    scratch->used += whole;
    open_bytes(chunk, memory, bytes + READABLE);
    note_touched(scratch);
    return memory;
}

size_t sl_scratch_mark(const sl_scratch *scratch)
{
    return scratch->used;
}

/* Closes the memory of the current chunk from `mark` on, except the readable bytes after an
 * allocation that stays. */
static void poison_from(const sl_scratch *scratch, size_t mark)
{
    const sl_scratch_chunk *chunk = &scratch->chunks[scratch->current];
    const size_t kept = mark > chunk->start ? mark - chunk->start + READABLE : 0;
    const size_t taken = scratch->used - chunk->start + READABLE;
    if (kept < taken) {
        sl_poison(chunk->base + kept, taken - kept);
    }
}

void sl_scratch_release(sl_scratch *scratch, size_t mark)
{
    assert(mark <= scratch->used && mark % ALIGNMENT == 0);
    while (mark < scratch->chunks[scratch->current].start) {
        poison_from(scratch, mark);
        scratch->used = scratch->chunks[scratch->current--].start;
    }
    poison_from(scratch, mark);
    scratch->used = mark;
}

void sl_scratch_reset(sl_scratch *scratch)
{
    sl_scratch_release(scratch, 0);
    scratch->current = 0; /* a chunk that was begun with nothing taken starts at 0, too */
    if (all_bytes(scratch) > scratch->keep_most || all_bytes(scratch) > scratch->limit) {
        unmap_from(scratch, 1);
    }
}

void sl_scratch_bind(sl_scratch *scratch, uint64_t bytes)
{
    scratch->limit =
        bytes < scratch->limit_most ? (size_t)bytes / ALIGNMENT * ALIGNMENT : scratch->limit_most;
    sl_scratch_reset(scratch);
    forget_first(scratch, scratch->limit);
}
