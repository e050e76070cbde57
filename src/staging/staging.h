/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging: batch slots in pinned memory, the copier threads, and the hand-over to the consumer.
 *
 * Purpose: workers write rows into a host slot; the copier sends full slots to the device in step
 * order and the consumer takes them in that order. There is one contiguous block per batch, which
 * layout.h divides into its parts (base/parts.h).
 *
 * Locks: one mutex guards sl_slots and the waiters; it is never held during a device call or a
 * callback.
 *
 * Threads: begin, filled and fail are called by fetch and worker threads; copier and reaper are
 * staging's own (none where device memory is the host's); next by the consumer; release by any
 * thread.
 *
 * Hand-over: workers write rows without a lock; the caller of `filled` has seen all of them
 * written, and releasing the lock orders them before the copier's read.
 *
 * Device errors are sticky: the first is latched, next returns it from then on, nothing is copied
 * or begun any more, and every wait ends.
 *
 * Holders: next creates a batch's first holder, each retain another; the last release gives the
 * slot back.
 *
 * Life: close wakes everyone, joins the threads and frees. Slots held by the consumer keep the
 * memory alive: sl_staging is reference-counted by held batches, and the last release frees it,
 * after waiting for the device's work on it. Close gives the budget back.
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
typedef struct sluice_batch sluice_batch; /* the consumer's handle (sluice/loader.h) */

/* A part that is written as bytes, and its conversion on the device. */
typedef struct sl_staging_conversion {
    sl_conversion how;
    uint32_t part, flags; /* numbers of parts: the images, and the flags of their rows */
    bool mixes;           /* rows are mixed with each other, as part `mixing` says */
    uint32_t mixing;
} sl_staging_conversion;

typedef struct sl_staging_config {
    uint32_t host_slots, device_slots;
    uint32_t batch; /* rows of a slot */
    const sl_part *parts;
    uint32_t part_count;
    /* One for each part that is `converted`; the device must support them (device->converts). */
    const sl_staging_conversion *conversions;
    uint32_t conversion_count;
    /* The consumer's memory for part `output`: one address per device slot, each with space for the
     * part; owned by the caller until the last batch is released. The part must be a converted one,
     * or the device must share the host's memory. NULL: staging allocates the memory. */
    void *const *outputs;
    uint32_t output;
    const sl_processors *near; /* where its threads run; used by open only. NULL: anywhere */
    sl_budget *budget;         /* charged for host memory; NULL: none */
    /* Called in open when the slots are charged and mapped, before they are populated to be pinned:
     * open fails with any status but OK. May be NULL. */
    sluice_status (*may_touch)(void *ctx, sluice_error *error);
    /* Called when host slots became EMPTY: on any thread, with no lock held, never after close has
     * returned. May be NULL. */
    void (*on_empty)(void *ctx);
    void *ctx;
} sl_staging_config;

/* Facts about a batch that are passed along with it: given to begin, and `sizes` to filled. */
typedef struct sl_batch_facts {
    uint64_t epoch, step;
    uint32_t rows;
    uint64_t sizes[SL_RAGGED_MAX]; /* elements of each ragged part */
} sl_batch_facts;

/* Takes ownership of `device`: closes it with the staging, or when this fails. If its memory is
 * shared, there are as many device slots as host slots. Copies the lists of the config. Errors:
 * NOMEM, DEVICE, IO, and those of may_touch. */
sluice_status sl_staging_open(sl_staging **staging, sl_device *device,
                              const sl_staging_config *config, sluice_error *error);

/* Returns the next step's slot, FILLING, and its arrays, whose addresses never change. AGAIN when
 * no slot is empty or the device has failed. */
sluice_status sl_staging_begin(sl_staging *staging, const sl_batch_facts *facts, uint32_t *slot,
                               sl_part_view *parts);
/* All rows of `slot` are written; `sizes` as in its facts, NULL without ragged parts. Called once
 * for each begin. */
void sl_staging_filled(sl_staging *staging, uint32_t slot, const uint64_t sizes[SL_RAGGED_MAX]);
/* Marks the step in `slot` (FILLING) as failed: next returns `error`'s status when it reaches that
 * step. Only the first call for a slot counts. The slot must still be filled. */
void sl_staging_fail(sl_staging *staging, uint32_t slot, const sluice_error *error);

/* A batch in the consumer's hands. */
struct sluice_batch {
    sl_timing_mark *mark; /* guarded by staging; NULL: the step is not timed */
    sl_staging *staging;
    uint32_t slot; /* device slot */
    sl_batch_facts facts;
    sl_part_view parts;
    /* guarded by staging: releases still to come (0: not held), and those in progress */
    uint32_t holders, releasing;
};

/*
 * Returns the next batch in order. Waits up to timeout_ns (0: does not wait, < 0: without limit).
 * AGAIN on timeout; otherwise the first of these that is true: CANCELED while cancelled; DEVICE
 * when the device has failed; END when `end` was announced for this ticket; a failed step's status,
 * without consuming it: it is returned again and again. Fills `*error` with every negative status.
 */
sluice_status sl_staging_next(sl_staging *staging, int64_t timeout_ns, sluice_batch **batch,
                              sluice_error *error);
/* What keeps next from returning a batch. */
typedef enum sl_staging_stall {
    /* nothing; or the consumer holds the slots it needs; or one of staging's threads is at work */
    SL_STAGING_MOVES = 0,
    SL_STAGING_WAITS_FOR_ROWS,   /* its slot is FILLING */
    SL_STAGING_WAITS_FOR_BEGIN,  /* a slot is EMPTY, and the step was not begun */
    SL_STAGING_WAITS_FOR_COPIER, /* the copier was not signaled that it can copy */
    SL_STAGING_WAITS_FOR_REAPER  /* the reaper was not signaled of a copy */
} sl_staging_stall;

typedef struct sl_staging_state {
    sl_staging_stall wait;
    uint64_t ticket; /* of the batch */
    bool ready;      /* next does not wait: it has a batch, an end or an error */
    /* numbers of host slots that are EMPTY, FILLING, FULL and COPYING (slots.h) */
    uint32_t slots[4];
} sl_staging_state;

/* For a watchdog (loader/watchdog.h) and a description (loader/describe.c). Any thread. */
void sl_staging_look(sl_staging *staging, sl_staging_state *state);

/* Makes `stream` wait on the device for the batch. STATE when it is not held; INVALID for a stream
 * that is not one of the device's (with host memory: any but NULL). */
sluice_status sl_staging_wait(sluice_batch *batch, struct CUstream_st *stream);
/* Adds a holder: the batch then needs one more release. STATE when it is not held. */
sluice_status sl_staging_retain(sluice_batch *batch);
/*
 * Ends one holder's hold. With `on_stream`, the slot's reuse waits on the device for the work
 * queued on `stream` so far (host memory: the only stream is NULL, and its work is done). STATE
 * when the batch is not held. If the device returns INVALID or STATE, the batch stays held; after
 * OK and DEVICE it is released. Work on up to SL_RELEASES streams is waited for separately; a
 * further stream waits for an earlier one's.
 */
sluice_status sl_staging_release(sluice_batch *batch, bool on_stream, struct CUstream_st *stream);

/* Returns why wait or release last rejected a stream; OK, leaving `error` unchanged, if they
 * refused none since open or forget. */
sluice_status sl_staging_get_refusal(sl_staging *staging, sluice_error *error);
void sl_staging_forget_refusal(sl_staging *staging);

/* Returns false in a process forked from the one that opened it, which must not use it. */
bool sl_staging_is_ours(const sl_staging *staging);
/* Returns the parts of a batch; valid until the staging is freed. */
const sl_part *sl_staging_parts(const sl_staging *staging, uint32_t *count);
sluice_device_type sl_staging_device_type(const sl_staging *staging);
int32_t sl_staging_device_number(const sl_staging *staging);
/* Returns the memory of the host slots, `slot_bytes` each, without gaps. */
const sl_slab *sl_staging_memory(const sl_staging *staging, size_t *slot_bytes);

/* Announces that the epoch ends after `tickets` tickets in total: next returns END there.
 * UINT64_MAX: not known yet. */
void sl_staging_set_end(sl_staging *staging, uint64_t tickets);
/* Tickets begun so far, since open. */
uint64_t sl_staging_begun(sl_staging *staging);
/* Makes next return CANCELED from now on (true), or work again (false). Wakes waiters. */
void sl_staging_cancel(sl_staging *staging, bool canceled);
/* Discards failures, and every batch that was begun and not taken. Meanwhile the filler must fill
 * all FILLING slots and begin none. Waits until only HELD slots are in use. Tickets are not
 * restarted. */
void sl_staging_drain(sl_staging *staging);

/* Readable whenever next would not return AGAIN. The caller must not read from it. */
int sl_staging_fd(sl_staging *staging);

#define SL_READY_BINS 17
#define SL_WAIT_BINS  32

typedef struct sl_staging_stats {
    uint64_t upload_busy_ns; /* with a copy queued or in flight */
    uint64_t uploads;
    uint64_t upload_depth[SL_DEPTH_BINS]; /* number of FULL slots at each upload */
    uint64_t ready_depth[SL_READY_BINS];  /* number of READY batches at each call of next */
    uint64_t host_wait_ns, host_wait_max_ns;
    uint64_t host_waits[SL_WAIT_BINS]; /* bin i: waits for a batch of [2^(i-1), 2^i) us */
    sl_timing_sums stream;
    char device[64];            /* "host", "cuda:0" */
    const char *pinning;        /* a literal */
    const char *pinning_reason; /* owned by the device: valid as long as the staging */
    bool converts;
    uint32_t device_slots; /* separate from the host's; 0: none */
} sl_staging_stats;

void sl_staging_get_stats(sl_staging *staging, sl_staging_stats *stats);
/* Stops the threads; next returns CANCELED. The memory is freed with the last held batch. No thread
 * may begin or fill a slot any more; a next or a release may be in progress on another thread. NULL
 * is allowed. */
void sl_staging_close(sl_staging *staging);

#endif
