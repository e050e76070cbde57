/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging_state: the inside of sl_staging, only for staging.c (life), filling.c (filler's side),
 * copier.c, handover.c and release.c (consumer's side).
 *
 * Lock: `mutex`. Functions named _locked need it held on entry and hold it on return; those that
 * call the device or the callback release it meanwhile, and say so.
 *
 * Device events: h2d[h] is recorded after the copy out of host slot h; ready[d] when the batch in
 * device slot d is complete; release[d][i] when one of the consumer's streams has finished with it.
 *
 * A part that is converted has two places in device memory: in the slot, where it is copied to and
 * where the conversion, on a stream of its own, reads it; and its output, which the consumer gets.
 */
#ifndef SL_STAGING_STATE_H
#define SL_STAGING_STATE_H

#include "slots.h"
#include "staging.h"
#include "thread.h"

/* Host slots whose copies are queued on the device and not known to be complete, in order. */
typedef struct sl_in_flight {
    uint32_t host[SL_SLOTS_MAX];
    uint32_t first, count;
} sl_in_flight;

/* Number of streams that a batch can be released on separately. More would rarely be used. */
enum { SL_RELEASES = 4 };

typedef enum sl_release_state {
    SL_RELEASE_UNUSED = 0,
    SL_RELEASE_BUSY,    /* a thread is recording it */
    SL_RELEASE_RECORDED /* and no copy has waited for it */
} sl_release_state;

struct sl_staging {
    /* immutable after open */
    sl_device *device;
    sl_staging_config config;
    sl_layout layout;
    uint64_t forks; /* sl_fork_count of the process that owns it */
    int fd;
    sl_slab slab;
    bool registered;
    sl_part *parts;                     /* config.parts */
    sl_staging_conversion *conversions; /* config.conversions */
    uint8_t **arrays;                   /* of every host slot, then of every device slot */
    void *memory[SL_SLOTS_MAX];         /* of the device slots; not when shared */
    void **outputs;                     /* of every device slot, of every conversion */
    struct CUstream_st *copy_stream;    /* not when shared */
    struct CUstream_st *convert_stream; /* with conversions */
    bool has_copy_stream, has_convert_stream;
    sl_timing *timing;           /* not when shared */
    sl_event *h2d[SL_SLOTS_MAX]; /* not when shared */
    sl_event *ready[SL_SLOTS_MAX], *release[SL_SLOTS_MAX][SL_RELEASES];
    sl_thread copier, reaper; /* not when shared */

    pthread_mutex_t mutex;
    pthread_cond_t can_take;   /* next no longer returns AGAIN */
    pthread_cond_t can_copy;   /* the copier may have something to do */
    pthread_cond_t can_reap;   /* the reaper may have something to do */
    pthread_cond_t can_record; /* a release event is no longer BUSY */
    /* slots were emptied, or callbacks or waiters have ended: for drain and close */
    pthread_cond_t quiet;
    /* under mutex */
    sl_slots slots;
    sl_batch_facts facts[SL_SLOTS_MAX]; /* of the host slots */
    sl_release_state released[SL_SLOTS_MAX][SL_RELEASES];
    bool converted[SL_SLOTS_MAX];       /* ready[d] was recorded after a conversion out of d */
    sluice_batch batches[SL_SLOTS_MAX]; /* of the device slots */
    sl_in_flight in_flight;
    uint64_t end;           /* as announced by set_end */
    uint64_t failed_ticket; /* lowest failed ticket; UINT64_MAX: none */
    sluice_error failure;   /* why it failed */
    bool canceled, closing, copier_gone;
    bool copier_waits, reaper_waits; /* and were not signaled since */
    bool broken;                     /* the device has failed */
    sluice_error device_error;
    sluice_error refusal; /* of the stream refused last; status 0: none */
    bool watched;         /* the fd was requested: only then is it written to */
    bool readable;        /* whether the fd is readable */
    uint32_t waiters;     /* threads in next */
    uint32_t callbacks;   /* calls of on_empty in progress */
    uint32_t references;
    sl_staging_stats stats; /* the counters; the rest is filled in on request */
    uint32_t uploading;     /* copies begun and not reaped */
    uint64_t busy_since_ns; /* since when `uploading` is not 0 */
    uint64_t waited_ns;     /* for the next batch, in calls of next that timed out */
};

/* The arrays of a slot. */
static inline uint8_t **sl_staging_host_arrays(const sl_staging *staging, uint32_t slot)
{
    return staging->arrays + (size_t)slot * staging->config.part_count;
}

static inline uint8_t **sl_staging_device_arrays(const sl_staging *staging, uint32_t slot)
{
    const size_t hosts = staging->slots.host_count;
    return staging->arrays + (hosts + slot) * staging->config.part_count;
}

/* Wakes the copier or the reaper. */
static inline void sl_staging_call_copier_locked(sl_staging *staging)
{
    staging->copier_waits = false;
    sl_cond_signal(&staging->can_copy);
}

static inline void sl_staging_call_reaper_locked(sl_staging *staging)
{
    staging->reaper_waits = false;
    sl_cond_signal(&staging->can_reap);
}

/* Returns what next would return now. */
sluice_status sl_staging_peek_locked(const sl_staging *staging);
/* Updates the fd; must be called after every change that next might see. Returns whether a call of
 * next waits for the change and must be woken. */
bool sl_staging_note_change_locked(sl_staging *staging);
/* Calls the above, and wakes next. */
void sl_staging_changed_locked(sl_staging *staging);
/* Keeps the device's first error, and why a stream was refused (INVALID, STATE). Only SLUICE_DEVICE
 * breaks the staging. Returns `status`. */
sluice_status sl_staging_note_locked(sl_staging *staging, sluice_status status,
                                     const sluice_error *error);
/* Unlocks, and calls on_empty if a host slot was emptied. */
void sl_staging_unlock(sl_staging *staging, bool emptied);
/* Starts the copy of the next FULL slot if possible, and passes its facts to the batch. */
bool sl_staging_copy_begin_locked(sl_staging *staging, uint32_t *host, uint32_t *device);
/* For a recording: the batch in `device` can be taken now, unless it was discarded meanwhile. */
void sl_staging_trace_ready_locked(const sl_staging *staging, uint32_t device);
/* Frees everything. Nothing may be held, and no thread inside. Accepts a partly opened staging. */
void sl_staging_destroy(sl_staging *staging);

/* The two threads; `argument` is the staging. */
void sl_copier_run(void *argument);
void sl_reaper_run(void *argument);

#endif
