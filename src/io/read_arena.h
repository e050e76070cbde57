/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_arena: buffers for reads, cut from one slab as runs of 16 KiB units.
 *
 * Purpose: holds samples from 2 KB to many MB within a fixed budget, without an allocation for
 * each. First fit over a bitmap. A run may be shortened once the read has revealed the true size.
 * Threads: take, trim by the fetch thread; give from any thread. Lock: its own mutex.
 * Invariants: runs never overlap; base is 16 KiB-aligned (so 4096-aligned, for O_DIRECT); free
 * units + units in runs = all units.
 */
#ifndef SL_READ_ARENA_H
#define SL_READ_ARENA_H

#include "slab.h"

#include <pthread.h>
#include <stdint.h>

#define SL_ARENA_UNIT ((size_t)16 << 10)

typedef struct sl_arena_run {
    uint32_t first, units; /* units 0: no run */
} sl_arena_run;

typedef struct sl_read_arena {
    pthread_mutex_t mutex;
    sl_slab slab;
    uint64_t *bitmap; /* 1: taken */
    uint32_t units;   /* in the slab */
    uint32_t limit;   /* only units below it are used */
    uint32_t free_units, hint;
} sl_read_arena;

/* Opens an arena of `bytes`; those after the first `first` are not touched before
 * sl_read_arena_widen. */
sluice_status sl_read_arena_open(sl_read_arena *arena, size_t bytes, size_t first,
                                 sl_budget *budget, sluice_error *error);
void sl_read_arena_widen(sl_read_arena *arena);
/* Closes it. `leak` != 0: the kernel may still write to it: the memory stays mapped forever. */
void sl_read_arena_close(sl_read_arena *arena, int leak);
/* Returns a run of at least `bytes`; units 0 if there is none now. */
sl_arena_run sl_read_arena_take(sl_read_arena *arena, size_t bytes);
/* Shortens a run to `bytes`. */
sl_arena_run sl_read_arena_trim(sl_read_arena *arena, sl_arena_run run, size_t bytes);
/* Returns runs to the arena. Returns the number of free units afterwards. */
uint32_t sl_read_arena_give(sl_read_arena *arena, const sl_arena_run *runs, uint32_t count);
/* Returns the units in use, taken or free. */
uint32_t sl_read_arena_limit(sl_read_arena *arena);
/* Returns the units that are free now. */
uint32_t sl_read_arena_free(sl_read_arena *arena);
/* Records that all taken units were moved to the front, the first `units`. */
void sl_read_arena_moved(sl_read_arena *arena, uint32_t units);
uint8_t *sl_read_arena_data(const sl_read_arena *arena, sl_arena_run run);

#endif
