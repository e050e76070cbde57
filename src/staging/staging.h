/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging: batch slots in pinned memory, the copier threads, and the hand-over to the consumer.
 *
 * Purpose: workers write rows into a host slot; the copier sends full slots to the device in step
 * order and the consumer takes them in that order. One contiguous slab per batch, cut into its
 * parts (base/parts.h) by layout.h.
 * Locks: one mutex guards sl_slots and the waiters; it is never held during a device call or a
 * callback.
 * Threads: begin, filled, fail from fetch and worker threads; copier and reaper are staging's own
 * (none where device memory is the host's); next by the consumer; release from any thread.
 * Hand-over: rows are written by workers without a lock; the caller of `filled` has seen them all
 * made, and its lock release orders them before the copier's read.
 * Device errors are sticky: the first is latched, next returns it from then on, nothing is copied
 * or begun any more, and every wait ends.
 * Holders: next makes one of a batch, retain each another, and the last release gives the slot
 * back.
 * Life: close = wake everyone, join the threads, free. Slots held by the consumer keep the memory
 * alive: sl_staging is reference-counted by held batches, and the last release frees it, after
 * waiting for the device's work on it. The budget is given back by close.
 */
#ifndef SL_STAGING_H
#define SL_STAGING_H

#include "device.h"
#include "histogram.h"
#include "layout.h"
#include "processors.h"
#include "timing.h"

#include <stdbool.h>

typedef struct sl_staging sl_staging;
typedef struct sluice_batch sluice_batch; /* what the consumer's handle is (sluice/loader.h) */

/* A part that is written as bytes, and what the device makes of it. */
typedef struct sl_staging_conversion {
    sl_conversion how;
    uint32_t part, flags; /* numbers of parts: the pictures, and the flags of their rows */
    bool mixes;           /* rows with each other, by what is in part */
    uint32_t mixing;
} sl_staging_conversion;

typedef struct sl_staging_config {
    uint32_t host_slots, device_slots;
    uint32_t batch; /* rows of a slot */
    const sl_part *parts;
    uint32_t part_count;
    /* One for each part that is `converted`; the device must be able to (device->converts). */
    const sl_staging_conversion *conversions;
    uint32_t conversion_count;
    /* Where part `output` is to be for the consumer, one address for each device slot, each with
     * space for it; owned by the caller until the last batch is released. It is a converted part,
     * or the device shares the host's memory. NULL: in memory of our own. */
    void *const *outputs;
    uint32_t output;
    const sl_processors *near; /* where its threads run; used by open only. NULL: anywhere */
    sl_budget *budget;         /* charged for host memory; NULL: none */
    /* Asked in open once the slots are charged and mapped, and before they are touched to be
     * pinned: whatever is not OK ends open. May be NULL. */
    sluice_status (*may_touch)(void *ctx, sluice_error *error);
    /* One or more host slots became EMPTY; on any thread, no lock held. Not once close has
     * returned. May be NULL. */
    void (*on_empty)(void *ctx);
    void *ctx;
} sl_staging_config;

/* Facts about a batch that ride along: given to begin, and `sizes` to filled. */
typedef struct sl_batch_facts {
    uint64_t epoch, step;
    uint32_t rows;
    uint64_t sizes[SL_RAGGED_MAX]; /* elements of each ragged part */
} sl_batch_facts;

/* Takes over `device`: closed with the staging, and when this fails. When its memory is shared,
 * there are as many device slots as host slots. Copies the lists of the config. Errors: NOMEM,
 * DEVICE, IO, and those of may_touch. */
sluice_status sl_staging_open(sl_staging **staging, sl_device *device,
                              const sl_staging_config *config, sluice_error *error);

/* The next step's slot, FILLING, and its arrays, which stay where they are for ever; AGAIN when
 * none is empty or the device has failed. */
sluice_status sl_staging_begin(sl_staging *staging, const sl_batch_facts *facts, uint32_t *slot,
                               sl_part_view *parts);
/* All rows of `slot` are made; `sizes` as in its facts. NULL: there are no ragged parts. Once for
 * each begin. */
void sl_staging_filled(sl_staging *staging, uint32_t slot, const uint64_t sizes[SL_RAGGED_MAX]);
/* Marks the step in `slot` (FILLING) as failed: next will return `error`'s status for it, as soon
 * as it comes to that step. The first call for a slot counts. It must still be filled. */
void sl_staging_fail(sl_staging *staging, uint32_t slot, const sluice_error *error);

/* A batch in the consumer's hands. */
struct sluice_batch {
    sl_timing_mark *mark; /* guarded by staging: of its times; NULL: none */
    sl_staging *staging;
    uint32_t slot; /* device slot */
    sl_batch_facts facts;
    sl_part_view parts;
    /* guarded by staging: releases to come, 0: it is not held; and those in progress */
    uint32_t holders, releasing;
};

/*
 * The next batch in order. Waits up to timeout_ns (0: not at all, < 0: for ever). AGAIN on timeout;
 * otherwise the first of these that is true: CANCELED while cancelled; DEVICE when the device has
 * failed; END when `end` was announced for this ticket; a failed step's status, without consuming
 * it: it is returned again and again. `*error` is filled with every negative status.
 */
sluice_status sl_staging_next(sl_staging *staging, int64_t timeout_ns, sluice_batch **batch,
                              sluice_error *error);
/* What keeps next from having a batch. */
typedef enum sl_staging_stall {
    SL_STAGING_MOVES = 0,        /* nothing, or the consumer, who holds what the batch needs, or one
                                    of staging's own threads, which is at work */
    SL_STAGING_WAITS_FOR_ROWS,   /* its slot is FILLING */
    SL_STAGING_WAITS_FOR_BEGIN,  /* a slot is EMPTY, and the step was not begun */
    SL_STAGING_WAITS_FOR_COPIER, /* which was not signaled that it can copy */
    SL_STAGING_WAITS_FOR_REAPER  /* which was not signaled of a copy */
} sl_staging_stall;

typedef struct sl_staging_state {
    sl_staging_stall wait;
    uint64_t ticket;   /* of the batch */
    bool ready;        /* next does not wait: there is a batch, an end or an error */
    uint32_t slots[4]; /* host slots that are EMPTY, FILLING, FULL and COPYING (slots.h) */
} sl_staging_state;

/* For a watchdog (loader/watchdog.h) and a description (loader/describe.c). Any thread. */
void sl_staging_look(sl_staging *staging, sl_staging_state *state);

/* Makes `stream` wait on the device for the batch. STATE when it is not held; INVALID for a stream
 * that is none of the device's (with host memory: any but NULL). */
sluice_status sl_staging_wait(sluice_batch *batch, struct CUstream_st *stream);
/* One holder more: as many releases give the batch back. STATE when it is not held. */
sluice_status sl_staging_retain(sluice_batch *batch);
/*
 * Ends one holder's hold. With `on_stream`, reuse waits on the device for the work queued on
 * `stream` so far (host memory: NULL is the only stream and means now). STATE when the batch is not
 * held. With INVALID or STATE from the device it stays held; after OK and DEVICE it is released.
 * Work on SL_RELEASES streams is waited for apart; a further stream waits for an earlier one's.
 */
sluice_status sl_staging_release(sluice_batch *batch, bool on_stream, struct CUstream_st *stream);

/* Why wait or release refused the latest stream that they did; OK, and `error` untouched, when
 * there was none since open or forget. */
sluice_status sl_staging_get_refusal(sl_staging *staging, sluice_error *error);
void sl_staging_forget_refusal(sl_staging *staging);

/* false in a process forked from the one that opened it: nothing of it may be used there. */
bool sl_staging_is_ours(const sl_staging *staging);
/* The parts of a batch; as long as anything of the staging lives. */
const sl_part *sl_staging_parts(const sl_staging *staging, uint32_t *count);
sluice_device_type sl_staging_device_type(const sl_staging *staging);
int32_t sl_staging_device_number(const sl_staging *staging);
/* Where the host slots are, `slot_bytes` each, one behind the other. */
const sl_slab *sl_staging_memory(const sl_staging *staging, size_t *slot_bytes);

/* Announces that the epoch ends after `tickets` tickets in all: next returns END there. UINT64_MAX:
 * not known yet. */
void sl_staging_set_end(sl_staging *staging, uint64_t tickets);
/* Tickets begun so far, since open. */
uint64_t sl_staging_begun(sl_staging *staging);
/* Makes next return CANCELED from now on (1), or work again (0). Wakes waiters. */
void sl_staging_cancel(sl_staging *staging, bool canceled);
/* Drops every batch begun and not taken, and failures. The filler must fill all FILLING slots
 * and begin nothing meanwhile; waits until only HELD slots are in use.
 * Tickets go on where they were. */
void sl_staging_drain(sl_staging *staging);

/* Readable whenever next would not return AGAIN. Never to be read from. */
int sl_staging_fd(sl_staging *staging);

#define SL_READY_BINS 17
#define SL_WAIT_BINS  32

typedef struct sl_staging_stats {
    uint64_t upload_busy_ns; /* with a copy queued or in flight */
    uint64_t uploads;
    uint64_t upload_depth[SL_DEPTH_BINS]; /* FULL slots of all, at each of them */
    uint64_t ready_depth[SL_READY_BINS];  /* READY batches when each was asked for, by number */
    uint64_t host_wait_ns, host_wait_max_ns;
    uint64_t host_waits[SL_WAIT_BINS]; /* bin i: batches waited for [2^(i-1), 2^i) us */
    sl_timing_sums stream;
    char device[64];            /* "host", "cuda:0" */
    const char *pinning;        /* a literal */
    const char *pinning_reason; /* the device's: valid as long as the staging */
    bool converts;
    uint32_t device_slots; /* apart from the host's; 0: none */
} sl_staging_stats;

void sl_staging_get_stats(sl_staging *staging, sl_staging_stats *stats);
/* Stops the threads; next returns CANCELED. Memory goes with the last held batch. Nobody may begin
 * or fill a slot any more; a next or a release may be in progress on another thread. NULL is
 * fine. */
void sl_staging_close(sl_staging *staging);

#endif
