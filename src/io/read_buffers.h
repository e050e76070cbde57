/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_buffers: the memory that reads go to, and its return.
 *
 * Purpose: runs of the read arena, and one reserve outside it (address space for the largest item,
 * not charged to the budget) for items that are delivered as soon as they are read: it always comes
 * back without help from later items. A buffer with delivered items is HELD: it has a handle and a
 * count, and is free again when the last item is released.
 *
 * Threads: the fetch thread; sl_read_buffers_release from any.
 *
 * Invariants: if the fetch thread found no memory, some release that makes enough of it free calls
 * `freed`.
 */
#ifndef SL_READ_BUFFERS_H
#define SL_READ_BUFFERS_H

#include "items.h"
#include "read_arena.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct sl_read_buffers_config {
    size_t arena_bytes, first_bytes; /* the rest is used once it is widened */
    size_t reserve_bytes;            /* size of the largest item, with alignment and padding */
    sl_budget *budget;
    /* Called when missing memory is available; any thread, no lock held. */
    void (*freed)(void *ctx);
    void *ctx;
} sl_read_buffers_config;

/* Memory for one read. base NULL: none. */
typedef struct sl_read_buffer {
    uint8_t *base;
    size_t bytes;
    sl_arena_run run; /* units 0: not in the arena */
    sl_slab own;      /* the former reserve, if it was set aside with this read in it */
} sl_read_buffer;

/* Items not released yet; its handle is the first unit of its run. */
typedef struct sl_held {
    _Atomic uint32_t refs;
    uint32_t units; /* written before the handle is passed on */
} sl_held;

typedef struct sl_read_buffers {
    sl_read_buffers_config config;
    sl_read_arena arena;
    sl_slab reserve;          /* no base: must be mapped again */
    sl_held *held;            /* arena.units + 1; the last is the reserve's */
    _Atomic uint32_t starved; /* units of memory that would help; 0: enough memory */
    _Atomic uint32_t reserve_busy;
} sl_read_buffers;

/* Errors: NOMEM. */
sluice_status sl_read_buffers_open(sl_read_buffers *buffers, const sl_read_buffers_config *config,
                                   sluice_error *error);
/* Closes it; a zeroed one, too. `leak`: the kernel may still write to it: it stays mapped. */
void sl_read_buffers_close(sl_read_buffers *buffers, bool leak);

/* Allows use of the whole arena. On the fetch thread. */
void sl_read_buffers_widen(sl_read_buffers *buffers);

/* Takes space for `bytes`, from the reserve only if `may_reserve`. False: none now; `freed` will be
 * called. */
bool sl_read_buffers_take(sl_read_buffers *buffers, size_t bytes, bool may_reserve,
                          sl_read_buffer *buffer);
/* Makes `freed` be called at the next release, after a take that failed. */
void sl_read_buffers_hurry(sl_read_buffers *buffers);
/* Takes space from the arena, without requesting a call. */
bool sl_read_buffers_try(sl_read_buffers *buffers, size_t bytes, sl_read_buffer *buffer);
/* Returns whether there is a reserve, or it could be mapped again. */
bool sl_read_buffers_have_reserve(sl_read_buffers *buffers);
void sl_read_buffers_give(sl_read_buffers *buffers, sl_read_buffer *buffer);
/* Keeps the first `bytes` for `refs` items. Returns their handle. */
uint32_t sl_read_buffers_keep(sl_read_buffers *buffers, sl_read_buffer *buffer, size_t bytes,
                              uint32_t refs);
/* Returns whether the handle is in the reserve, which others wait for. */
bool sl_read_buffers_is_reserve(const sl_read_buffers *buffers, uint32_t handle);
/* Releases one item of each handle; SL_HANDLE_NONE is ignored. */
void sl_read_buffers_release(sl_read_buffers *buffers, const uint32_t *handles, uint32_t count);
/*
 * Moves kept items to the front of the arena, so that all free memory is contiguous. `kept` are
 * undelivered items, which are sorted and updated with their new addresses. Returns false, with
 * nothing moved, if other holders have a part of the arena, which they will release.
 */
bool sl_read_buffers_move(sl_read_buffers *buffers, sl_fetch_bytes **kept, uint32_t count);
/* Sets aside a buffer that the kernel may still write to, until it is returned after all. */
void sl_read_buffers_abandon(sl_read_buffers *buffers, sl_read_buffer *buffer);

#endif
