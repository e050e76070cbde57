/* SPDX-License-Identifier: Apache-2.0 */
#include "read_arena.h"

#include "error.h"
#include "minmax.h"
#include "thread.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static uint32_t units_for(size_t bytes)
{
    size_t units = bytes / SL_ARENA_UNIT + (bytes % SL_ARENA_UNIT != 0);
    if (units == 0) {
        return 1;
    }
    return units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
}

/* Returns the first unit in [from, end) whose bit is `taken`, or end. */
static uint32_t next_unit(const sl_read_arena *arena, uint32_t from, uint32_t end, bool taken)
{
    while (from < end) {
        uint64_t word = arena->bitmap[from / 64];
        word = (taken ? word : ~word) >> (from % 64);
        if (word != 0) {
            uint32_t found = from + (uint32_t)__builtin_ctzll(word);
            return found < end ? found : end;
        }
        from = (from / 64 + 1) * 64;
    }
    return end;
}

static void read_arena_mark(sl_read_arena *arena, uint32_t first, uint32_t units, bool taken)
{
    uint32_t end = first + units;
    while (first < end) {
        uint32_t low = first % 64;
        uint32_t bits = sl_min_u32(64 - low, end - first);
        uint64_t mask = (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1) << low;
        uint64_t *word = &arena->bitmap[first / 64];
        assert((*word & mask) == (taken ? 0 : mask));
        *word = taken ? *word | mask : *word & ~mask;
        first += bits;
    }
}

sluice_status sl_read_arena_open(sl_read_arena *arena, size_t bytes, size_t first,
                                 sl_budget *budget, sluice_error *error)
{
    *arena = (sl_read_arena){0};
    sluice_status status = sl_slab_open(&arena->slab, bytes, budget, error);
    if (status < 0) {
        return status;
    }
    size_t units = arena->slab.bytes / SL_ARENA_UNIT;
    arena->bitmap = units < UINT32_MAX / 2 ? sl_calloc(units / 64 + 1, sizeof(uint64_t)) : NULL;
    if (arena->bitmap == NULL) {
        sl_slab_close(&arena->slab);
        return sl_no_memory(error, "io", "for a read buffer of %zu bytes", bytes);
    }
    arena->units = (uint32_t)units;
    arena->limit = first < bytes ? units_for(first) : arena->units;
    arena->free_units = arena->limit;
    sl_mutex_init(&arena->mutex);
    return SLUICE_OK;
}

void sl_read_arena_widen(sl_read_arena *arena)
{
    sl_lock(&arena->mutex);
    arena->free_units += arena->units - arena->limit;
    arena->limit = arena->units;
    sl_unlock(&arena->mutex);
}

void sl_read_arena_close(sl_read_arena *arena, int leak)
{
    if (arena->bitmap == NULL) {
        return;
    }
    if (leak != 0) {
        sl_slab_forget(&arena->slab);
    } else {
        sl_slab_close(&arena->slab);
    }
    sl_free(arena->bitmap);
    sl_mutex_destroy(&arena->mutex);
    *arena = (sl_read_arena){0};
}

static sl_arena_run read_arena_take_locked(sl_read_arena *arena, uint32_t units)
{
    if (units > arena->free_units) {
        return (sl_arena_run){0, 0};
    }
    uint32_t at = next_unit(arena, arena->hint, arena->limit, false);
    arena->hint = at; /* everything below is taken */
    while (at < arena->limit && units <= arena->limit - at) {
        uint32_t end = next_unit(arena, at, at + units, true);
        if (end == at + units) {
            read_arena_mark(arena, at, units, true);
            arena->free_units -= units;
            return (sl_arena_run){at, units};
        }
        at = next_unit(arena, end, arena->limit, false);
    }
    return (sl_arena_run){0, 0};
}

static void give_locked(sl_read_arena *arena, uint32_t first, uint32_t units)
{
    read_arena_mark(arena, first, units, false);
    arena->free_units += units;
    if (first < arena->hint) {
        arena->hint = first;
    }
}

sl_arena_run sl_read_arena_take(sl_read_arena *arena, size_t bytes)
{
    sl_lock(&arena->mutex);
    sl_arena_run run = read_arena_take_locked(arena, units_for(bytes));
    sl_unlock(&arena->mutex);
    return run;
}

sl_arena_run sl_read_arena_trim(sl_read_arena *arena, sl_arena_run run, size_t bytes)
{
    uint32_t keep = units_for(bytes);
    if (keep >= run.units) {
        return run;
    }
    sl_lock(&arena->mutex);
    give_locked(arena, run.first + keep, run.units - keep);
    sl_unlock(&arena->mutex);
    return (sl_arena_run){run.first, keep};
}

uint32_t sl_read_arena_give(sl_read_arena *arena, const sl_arena_run *runs, uint32_t count)
{
    sl_lock(&arena->mutex);
    for (uint32_t i = 0; i < count; i++) {
        const sl_arena_run *run = &runs[i];
        assert(run->units > 0 && run->units <= arena->units &&
               run->first <= arena->units - run->units);
        give_locked(arena, run->first, run->units);
    }
    const uint32_t free_units = arena->free_units;
    sl_unlock(&arena->mutex);
    return free_units;
}

uint32_t sl_read_arena_limit(sl_read_arena *arena)
{
    sl_lock(&arena->mutex);
    const uint32_t limit = arena->limit;
    sl_unlock(&arena->mutex);
    return limit;
}

uint32_t sl_read_arena_free(sl_read_arena *arena)
{
    sl_lock(&arena->mutex);
    const uint32_t free_units = arena->free_units;
    sl_unlock(&arena->mutex);
    return free_units;
}

void sl_read_arena_moved(sl_read_arena *arena, uint32_t units)
{
    sl_lock(&arena->mutex);
    memset(arena->bitmap, 0, (arena->units / 64 + 1) * sizeof(*arena->bitmap));
    read_arena_mark(arena, 0, units, true);
    arena->free_units = arena->limit - units;
    arena->hint = units;
    sl_unlock(&arena->mutex);
}

uint8_t *sl_read_arena_data(const sl_read_arena *arena, sl_arena_run run)
{
    return arena->slab.base + (size_t)run.first * SL_ARENA_UNIT;
}
