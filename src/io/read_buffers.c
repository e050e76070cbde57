/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_buffers: read buffers over the arena, with their reserve and counts of holders. The fetch
 * thread takes them; any thread may release.
 */
#include "read_buffers.h"

#include "error.h"
#include "minmax.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Pages of the reserve beyond this, or beyond that fraction of the arena, go back to the system
 * after use: clearing those of a large sample again each time costs more than reading it. */
#define RESERVE_KEEP  ((size_t)2 << 20)
#define RESERVE_SHARE 4U
/* Runs returned under one lock. */
#define RUNS_MAX 64U

static sluice_status open_reserve(sl_read_buffers *buffers, sluice_error *error)
{
    /* Address space, which only large items and a full arena turn into memory. */
    return sl_slab_open(&buffers->reserve, buffers->config.reserve_bytes, NULL, error);
}

sluice_status sl_read_buffers_open(sl_read_buffers *buffers, const sl_read_buffers_config *config,
                                   sluice_error *error)
{
    *buffers = (sl_read_buffers){.config = *config};
    sluice_status status = sl_read_arena_open(&buffers->arena, config->arena_bytes,
                                              config->first_bytes, config->budget, error);
    if (status == SLUICE_OK) {
        status = open_reserve(buffers, error);
    }
    if (status == SLUICE_OK) {
        buffers->held = sl_calloc((size_t)buffers->arena.units + 1, sizeof(*buffers->held));
        if (buffers->held == NULL) {
            status = sl_no_memory(error, "io", "for the read buffer");
        }
    }
    if (status != SLUICE_OK) {
        sl_read_buffers_close(buffers, false);
    }
    return status;
}

void sl_read_buffers_close(sl_read_buffers *buffers, bool leak)
{
    if (leak) {
        sl_slab_forget(&buffers->reserve);
    } else {
        sl_slab_close(&buffers->reserve);
    }
    sl_read_arena_close(&buffers->arena, leak);
    sl_free(buffers->held);
    buffers->held = NULL;
}

void sl_read_buffers_widen(sl_read_buffers *buffers)
{
    sl_read_arena_widen(&buffers->arena);
}

bool sl_read_buffers_try(sl_read_buffers *buffers, size_t bytes, sl_read_buffer *buffer)
{
    *buffer = (sl_read_buffer){.run = sl_read_arena_take(&buffers->arena, bytes)};
    if (buffer->run.units > 0) {
        buffer->base = sl_read_arena_data(&buffers->arena, buffer->run);
        buffer->bytes = buffer->run.units * SL_ARENA_UNIT;
    }
    return buffer->base != NULL;
}

bool sl_read_buffers_have_reserve(sl_read_buffers *buffers)
{
    return buffers->reserve.base != NULL || open_reserve(buffers, NULL) == SLUICE_OK;
}

static bool take_now(sl_read_buffers *buffers, size_t bytes, bool may_reserve,
                     sl_read_buffer *buffer)
{
    if (sl_read_buffers_try(buffers, bytes, buffer)) {
        return true;
    }
    /* Pairs with the store in give_reserve: its last user's reads come before. */
    if (!may_reserve || !sl_read_buffers_have_reserve(buffers) || bytes > buffers->reserve.bytes ||
        atomic_load_explicit(&buffers->reserve_busy, memory_order_seq_cst) != 0) {
        return false;
    }
    atomic_store_explicit(&buffers->reserve_busy, 1, memory_order_relaxed);
    buffer->base = buffers->reserve.base;
    buffer->bytes = buffers->reserve.bytes;
    return true;
}

/* Returns the free units to be woken at: an eighth of the arena more than now, rather than a
 * wake-up for every released item; the present free units may be in pieces too small. */
static uint32_t worth_waking(sl_read_buffers *buffers, size_t bytes)
{
    const uint32_t units = (uint32_t)(bytes / SL_ARENA_UNIT) + 1;
    const uint32_t free_units = sl_read_arena_free(&buffers->arena);
    const uint32_t all = sl_read_arena_limit(&buffers->arena);
    const uint32_t more = all / 8 < all - free_units ? free_units + all / 8 : all;
    return units > more ? units : more;
}

bool sl_read_buffers_take(sl_read_buffers *buffers, size_t bytes, bool may_reserve,
                          sl_read_buffer *buffer)
{
    if (take_now(buffers, bytes, may_reserve, buffer)) {
        return true;
    }
    const uint32_t wanted = worth_waking(buffers, bytes);
    /* seq_cst, with the loads in the release functions: either this thread sees the memory below,
     * or the releasing thread sees that it is needed. */
    atomic_store_explicit(&buffers->starved, wanted, memory_order_seq_cst);
    if (!take_now(buffers, bytes, may_reserve, buffer)) {
        return false;
    }
    atomic_store_explicit(&buffers->starved, 0, memory_order_relaxed);
    return true;
}

void sl_read_buffers_hurry(sl_read_buffers *buffers)
{
    /* As in take: a release from here on is seen, and those before it the caller sees. */
    atomic_store_explicit(&buffers->starved, 1, memory_order_seq_cst);
}

static void give_runs(sl_read_buffers *buffers, const sl_arena_run *runs, uint32_t count)
{
    const uint32_t free_units = sl_read_arena_give(&buffers->arena, runs, count);
    /* seq_cst: see sl_read_buffers_take. Relaxed: a claim, by one of those who find it starved. */
    const uint32_t wanted = atomic_load_explicit(&buffers->starved, memory_order_seq_cst);
    if (wanted != 0 && free_units >= wanted &&
        atomic_exchange_explicit(&buffers->starved, 0, memory_order_relaxed) != 0) {
        buffers->config.freed(buffers->config.ctx);
    }
}

static void give_reserve(sl_read_buffers *buffers, size_t used)
{
    const size_t share =
        buffers->config.arena_bytes / RESERVE_SHARE / SL_SLAB_ALIGN * SL_SLAB_ALIGN;
    const size_t keep = sl_max_size(share, RESERVE_KEEP);
    if (used > keep && buffers->reserve.bytes > keep) {
        (void)madvise(buffers->reserve.base + keep, buffers->reserve.bytes - keep, MADV_DONTNEED);
    }
    /* Pairs with the load in take_now. */
    atomic_store_explicit(&buffers->reserve_busy, 0, memory_order_seq_cst);
    if (atomic_load_explicit(&buffers->starved, memory_order_seq_cst) != 0 &&
        atomic_exchange_explicit(&buffers->starved, 0, memory_order_relaxed) != 0) {
        buffers->config.freed(buffers->config.ctx);
    }
}

void sl_read_buffers_give(sl_read_buffers *buffers, sl_read_buffer *buffer)
{
    if (buffer->own.base != NULL) {
        sl_slab_close(&buffer->own);
    } else if (buffer->run.units > 0) {
        give_runs(buffers, &buffer->run, 1);
    } else if (buffer->base != NULL) {
        give_reserve(buffers, buffer->bytes);
    }
    *buffer = (sl_read_buffer){0};
}

uint32_t sl_read_buffers_keep(sl_read_buffers *buffers, sl_read_buffer *buffer, size_t bytes,
                              uint32_t refs)
{
    uint32_t handle = buffers->arena.units;
    uint32_t units = (uint32_t)(bytes / SL_ARENA_UNIT) + 1;
    if (buffer->run.units > 0) {
        buffer->run = sl_read_arena_trim(&buffers->arena, buffer->run, bytes);
        handle = buffer->run.first;
        units = buffer->run.units;
    }
    buffers->held[handle].units = units;
    /* Whoever passes the handle to another thread orders this before that thread's release. */
    atomic_store_explicit(&buffers->held[handle].refs, refs, memory_order_relaxed);
    *buffer = (sl_read_buffer){0};
    return handle;
}

bool sl_read_buffers_is_reserve(const sl_read_buffers *buffers, uint32_t handle)
{
    return handle == buffers->arena.units;
}

/* Returns whether that was the last item. */
static bool was_last(sl_held *held)
{
    /* acq_rel: what other holders read of the buffer comes before its next use. */
    const uint32_t refs = atomic_fetch_sub_explicit(&held->refs, 1, memory_order_acq_rel);
    assert(refs > 0);
    return refs == 1;
}

void sl_read_buffers_release(sl_read_buffers *buffers, const uint32_t *handles, uint32_t count)
{
    sl_arena_run runs[RUNS_MAX];
    uint32_t free_runs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (handles[i] == SL_HANDLE_NONE) {
            continue;
        }
        sl_held *held = &buffers->held[handles[i]];
        assert(handles[i] <= buffers->arena.units);
        if (!was_last(held)) {
            continue;
        }
        if (handles[i] == buffers->arena.units) {
            give_reserve(buffers, held->units * SL_ARENA_UNIT);
            continue;
        }
        runs[free_runs++] = (sl_arena_run){handles[i], held->units};
        if (free_runs == RUNS_MAX) {
            give_runs(buffers, runs, free_runs);
            free_runs = 0;
        }
    }
    if (free_runs > 0) {
        give_runs(buffers, runs, free_runs);
    }
}

/* ---- moving ---- */

static int by_handle(const void *a, const void *b)
{
    const sl_fetch_bytes *x = *(sl_fetch_bytes *const *)a;
    const sl_fetch_bytes *y = *(sl_fetch_bytes *const *)b;
    return x->handle < y->handle ? -1 : x->handle > y->handle;
}

/* Returns how many of the sorted items from `first` on share a buffer of the arena; 0: it has
 * none. */
static uint32_t sharing(const sl_read_buffers *buffers, sl_fetch_bytes *const *kept, uint32_t first,
                        uint32_t count)
{
    const uint32_t handle = kept[first]->handle;
    uint32_t end = first + 1;
    while (end < count && kept[end]->handle == handle) {
        end++;
    }
    return handle < buffers->arena.units ? end - first : 0;
}

/* Returns whether the arena holds only these items. */
static bool are_all(sl_read_buffers *buffers, sl_fetch_bytes *const *kept, uint32_t count)
{
    uint32_t units = 0;
    uint32_t same = 0;
    for (uint32_t i = 0; i < count; i += same) {
        same = sharing(buffers, kept, i, count);
        if (same == 0) {
            break; /* the reserve's, or without a buffer: they come last */
        }
        const sl_held *held = &buffers->held[kept[i]->handle];
        /* acquire: what others read of it comes before it is moved. */
        if (atomic_load_explicit(&held->refs, memory_order_acquire) != same) {
            return false;
        }
        units += held->units;
    }
    sl_read_arena *arena = &buffers->arena;
    return units == sl_read_arena_limit(arena) - sl_read_arena_free(arena);
}

bool sl_read_buffers_move(sl_read_buffers *buffers, sl_fetch_bytes **kept, uint32_t count)
{
    uint32_t to = 0;
    uint32_t same = 0;
    qsort((void *)kept, count, sizeof(sl_fetch_bytes *), by_handle);
    if (!are_all(buffers, kept, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i += same) {
        same = sharing(buffers, kept, i, count);
        if (same == 0) {
            break;
        }
        const sl_arena_run from = {kept[i]->handle, buffers->held[kept[i]->handle].units};
        const size_t back = (size_t)(from.first - to) * SL_ARENA_UNIT;
        uint8_t *data = sl_read_arena_data(&buffers->arena, from);
        memmove(data - back, data, from.units * SL_ARENA_UNIT);
        for (uint32_t k = i; k < i + same; k++) {
            kept[k]->bytes.data -= back;
            kept[k]->handle = to;
        }
        buffers->held[to].units = from.units;
        /* Relaxed: as in sl_read_buffers_keep. */
        atomic_store_explicit(&buffers->held[to].refs, same, memory_order_relaxed);
        to += from.units;
    }
    sl_read_arena_moved(&buffers->arena, to);
    return true;
}

void sl_read_buffers_abandon(sl_read_buffers *buffers, sl_read_buffer *buffer)
{
    if (buffer->base != NULL && buffer->run.units == 0) {
        buffer->own = buffers->reserve;
        buffers->reserve = (sl_slab){0};
        /* Relaxed: this thread, which alone takes the reserve, is the only one to use the slab. */
        atomic_store_explicit(&buffers->reserve_busy, 0, memory_order_relaxed);
    }
}
