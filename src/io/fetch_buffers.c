/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_buffers: where requests read to, and how buffers come back.
 *
 * Runs of the arena, and one reserve outside it that is used only for items that will be delivered
 * as soon as they are read: it always comes back without help from later items.
 */
#include "error.h"
#include "fetch_internal.h"

#include <assert.h>
#include <sys/mman.h>

/* Pages of the reserve beyond this go back to the system after use. */
#define RESERVE_KEEP ((size_t)2 << 20)

static bool take_now(sl_fetch *fetch, sl_request *request, size_t bytes, bool may_reserve)
{
    request->run = sl_read_arena_take(&fetch->arena, bytes);
    if (request->run.units > 0) {
        request->buffer = sl_read_arena_data(&fetch->arena, request->run);
        return true;
    }
    /* Pairs with the store in give_reserve: its last user's reads come before. */
    if (!may_reserve || sl_fetch_reserve_open(fetch, NULL) < 0 || bytes > fetch->reserve.bytes ||
        atomic_load_explicit(&fetch->reserve_busy, memory_order_seq_cst) != 0) {
        return false;
    }
    atomic_store_explicit(&fetch->reserve_busy, 1, memory_order_relaxed);
    request->buffer = fetch->reserve.base;
    return true;
}

/* Free units to be woken at: an eighth of the arena more than now, rather than a wake-up for every
 * item released; what is free now may lie in pieces too small. */
static uint32_t worth_waking(sl_fetch *fetch, size_t bytes)
{
    const uint32_t units = (uint32_t)(bytes / SL_ARENA_UNIT) + 1;
    const uint32_t free_units = sl_read_arena_free(&fetch->arena);
    const uint32_t all = fetch->arena.units;
    const uint32_t more = all / 8 < all - free_units ? free_units + all / 8 : all;
    return units > more ? units : more;
}

bool sl_fetch_buffer_take(sl_fetch *fetch, sl_request *request, size_t bytes, bool may_reserve)
{
    if (take_now(fetch, request, bytes, may_reserve)) {
        return true;
    }
    const uint32_t wanted = worth_waking(fetch, bytes);
    /* seq_cst, with the loads in the release functions: either this thread sees the memory below,
     * or the releasing thread sees that it is wanted. */
    atomic_store_explicit(&fetch->starved, wanted, memory_order_seq_cst);
    if (!take_now(fetch, request, bytes, may_reserve)) {
        return false;
    }
    atomic_store_explicit(&fetch->starved, 0, memory_order_relaxed);
    return true;
}

size_t sl_fetch_buffer_bytes(const sl_fetch *fetch, const sl_request *request)
{
    return request->run.units > 0 ? request->run.units * SL_ARENA_UNIT : fetch->reserve.bytes;
}

static void give_run(sl_fetch *fetch, sl_run run)
{
    uint32_t free_units = sl_read_arena_give(&fetch->arena, run);
    uint32_t wanted = atomic_load_explicit(&fetch->starved, memory_order_seq_cst);
    if (wanted != 0 && free_units >= wanted &&
        atomic_exchange_explicit(&fetch->starved, 0, memory_order_relaxed) != 0) {
        sl_fetch_signal(fetch);
    }
}

static void give_reserve(sl_fetch *fetch, size_t used)
{
    if (used > RESERVE_KEEP) {
        (void)madvise(fetch->reserve.base, fetch->reserve.bytes, MADV_DONTNEED);
    }
    /* Pairs with the load in take_now. */
    atomic_store_explicit(&fetch->reserve_busy, 0, memory_order_seq_cst);
    if (atomic_load_explicit(&fetch->starved, memory_order_seq_cst) != 0 &&
        atomic_exchange_explicit(&fetch->starved, 0, memory_order_relaxed) != 0) {
        sl_fetch_signal(fetch);
    }
}

void sl_fetch_buffer_give(sl_fetch *fetch, sl_request *request)
{
    if (request->own.base != NULL) {
        sl_slab_close(&request->own);
    } else if (request->run.units > 0) {
        give_run(fetch, request->run);
    } else {
        give_reserve(fetch, request->read.length);
    }
    request->buffer = NULL;
}

uint32_t sl_fetch_buffer_keep(sl_fetch *fetch, sl_request *request, size_t bytes, uint32_t refs)
{
    uint32_t handle = fetch->arena.units;
    uint32_t units = (uint32_t)(bytes / SL_ARENA_UNIT) + 1;
    if (request->run.units > 0) {
        request->run = sl_read_arena_trim(&fetch->arena, request->run, bytes);
        handle = request->run.first;
        units = request->run.units;
    }
    fetch->held[handle].units = units;
    /* Whoever hands the handle to another thread orders this before that thread's release. */
    atomic_store_explicit(&fetch->held[handle].refs, refs, memory_order_relaxed);
    request->buffer = NULL;
    return handle;
}

void sl_fetch_release(sl_fetch *fetch, uint32_t handle)
{
    sl_held *held = &fetch->held[handle];
    assert(handle <= fetch->arena.units);
    /* acq_rel: what other holders read of the buffer comes before its next use. */
    uint32_t refs = atomic_fetch_sub_explicit(&held->refs, 1, memory_order_acq_rel);
    assert(refs > 0);
    if (refs > 1) {
        return;
    }
    if (handle == fetch->arena.units) {
        give_reserve(fetch, held->units * SL_ARENA_UNIT);
    } else {
        give_run(fetch, (sl_run){handle, held->units});
    }
}

void sl_fetch_buffer_abandon(sl_fetch *fetch, sl_request *request)
{
    if (request->run.units == 0) {
        request->own = fetch->reserve;
        fetch->reserve = (sl_slab){0};
        atomic_store_explicit(&fetch->reserve_busy, 0, memory_order_relaxed);
    }
}

sluice_status sl_fetch_reserve_open(sl_fetch *fetch, sluice_error *error)
{
    if (fetch->reserve.base != NULL) {
        return SLUICE_OK;
    }
    /* Room for the item, its alignment at both ends, and the padding. Not charged to the budget: it
     * is address space that only large items and a full arena turn into memory. */
    size_t bytes = (size_t)fetch->config.max_sample_bytes + (size_t)3 * SL_DIRECT_ALIGN;
    return sl_slab_open(&fetch->reserve, bytes, 0, NULL, error);
}
