/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging_state: the inside of sl_staging, for staging.c (life), filling.c (filler's
 * side), copier.c, handover.c and release.c (consumer's side) only.
 *
 * Lock: `mutex`. Functions named _locked need it held on entry and hold it on return; those that
 * call the device or the callback let go of it in between and say so.
 * Device events: h2d[h] the copy out of host slot h; ready[d] the batch in device slot d is there;
 * release[d][i] one of the consumer's streams is done with it.
 * A part that is converted has two places in device memory: in the slot, where the copy puts it and
 * the conversion reads it, on a stream of its own; and its output, which the consumer gets.
 */
#ifndef SL_STAGING_STATE_H
#define SL_STAGING_STATE_H

#include "slots.h"
#include "staging.h"
#include "thread.h"

/* Host slots whose copy is given to the device and not known to be done, in order. */
typedef struct sl_in_flight {
    uint32_t host[SL_SLOTS_MAX];
    uint32_t first, count;
} sl_in_flight;

/* Of streams that a batch is released on. More would be memory for nobody. */
enum { SL_RELEASES = 4 };

typedef enum sl_release_state {
    SL_RELEASE_UNUSED = 0,
    SL_RELEASE_BUSY,    /* somebody is recording it */
    SL_RELEASE_RECORDED /* and no copy has waited for it */
} sl_release_state;

struct sl_staging {
    /* immutable after open */
    sl_device *device;
    sl_staging_config config;
    sl_layout layout;
    uint64_t forks; /* sl_fork_count of the process that it belongs to */
    int fd;
    sl_slab slab;
    bool registered;
    sl_part *parts;                     /* config.parts */
    sl_staging_conversion *conversions; /* config.conversions */
    uint8_t **arrays;                   /* of every host slot, then of every device slot */
    void *memory[SL_SLOTS_MAX];         /* device slots; not when shared */
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
    pthread_cond_t can_copy;   /* the copier has something to do */
    pthread_cond_t can_reap;   /* the reaper has */
    pthread_cond_t can_record; /* a release event is not BUSY any more */
    pthread_cond_t quiet;      /* slots emptied, callbacks or waiters gone: drain and close */
    /* under mutex */
    sl_slots slots;
    sl_batch_facts facts[SL_SLOTS_MAX]; /* of host slots */
    sl_release_state released[SL_SLOTS_MAX][SL_RELEASES];
    bool converted[SL_SLOTS_MAX];       /* ready[d] is recorded behind a conversion out of d */
    sluice_batch batches[SL_SLOTS_MAX]; /* of device slots */
    sl_in_flight in_flight;
    uint64_t end;           /* as announced by set_end */
    uint64_t failed_ticket; /* lowest failed one; UINT64_MAX: none */
    sluice_error failure;   /* why */
    bool canceled, closing, copier_gone;
    bool copier_waits, reaper_waits; /* and were not called since */
    bool broken;                     /* the device has failed */
    sluice_error device_error;
    sluice_error refusal; /* of the latest stream that was; status 0: none */
    bool watched;         /* somebody asked for fd: only then is it worth writing to */
    bool readable;        /* of fd */
    uint32_t waiters;     /* in next */
    uint32_t callbacks;   /* of on_empty, in progress */
    uint32_t references;
    sl_staging_stats stats; /* what is counted; the rest is filled in on request */
    uint32_t uploading;     /* copies begun and not reaped */
    uint64_t busy_since_ns; /* while there are any */
    uint64_t waited_ns;     /* for the next batch, in calls of next that did not get it */
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

/* Wakes the copier, or the reaper. */
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

/* What next would return now. */
sluice_status sl_staging_peek_locked(const sl_staging *staging);
/* To be called after every change that next might see: keeps fd true. Whether a call of next waits
 * for it, and is to be woken. */
bool sl_staging_note_change_locked(sl_staging *staging);
/* The same, and wakes it. */
void sl_staging_changed_locked(sl_staging *staging);
/* Keeps the device's first error, and why a stream was refused (INVALID, STATE). Only SLUICE_DEVICE
 * breaks the staging; returns `status`. */
sluice_status sl_staging_note_locked(sl_staging *staging, sluice_status status,
                                     const sluice_error *error);
/* Unlocks, and calls on_empty when a host slot was emptied. */
void sl_staging_unlock(sl_staging *staging, bool emptied);
/* Starts the copy of the next FULL slot if that can be; the batch carries its facts then. */
bool sl_staging_copy_begin_locked(sl_staging *staging, uint32_t *host, uint32_t *device);
/* For a recording: what is in `device` can be taken now, unless it was discarded meanwhile. */
void sl_staging_trace_ready_locked(const sl_staging *staging, uint32_t device);
/* Frees everything; nothing is held and nobody is inside. Half-built is fine. */
void sl_staging_destroy(sl_staging *staging);

/* The two threads; `argument` is the staging. */
void sl_copier_run(void *argument);
void sl_reaper_run(void *argument);

#endif
