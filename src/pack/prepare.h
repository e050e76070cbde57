/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare: threads that read and process samples, delivered in order.
 *
 * Purpose: the parallel half of packing and unpacking. Workers take positions in turn, read and
 * check samples, and pass the values to a job, which processes them. The owner takes the results in
 * position order, so that the number of workers cannot change a byte of the output. A dataset that
 * can only be read front to back is read in position order by one worker at a time; it requires
 * keep_order. Threads: one owner calls open, next, done, close; the workers are internal. Memory:
 * bytes held by samples and charged by the job are at most a fixed budget plus one sample: a worker
 * waits before it allocates, unless its position is the next to be taken. Stop: the workers observe
 * the owner's stop (stop.h), so that a sample in progress soon ends with CANCELED.
 */
#ifndef SL_PREPARE_H
#define SL_PREPARE_H

#include "dataset.h"
#include "piece.h"

typedef struct sl_prepare sl_prepare;

/* A sample as passed to a job. */
typedef struct sl_prepare_sample {
    const sl_dataset *dataset;
    const sl_sample *place;
    sl_values *values; /* all fields; what they point to stays valid until the sample is done */
    const sl_allowance *allowance;
    sl_value blame; /* output on failure: the value at fault; not present: no field */
} sl_prepare_sample;

/* The processing of samples. Workers call these functions, each with its own state. */
typedef struct sl_prepare_job {
    size_t state_bytes,
        made_bytes; /* sizes of a worker's state and of a result; zeroed before use */
    sluice_status (*open)(void *state, const void *config, sluice_error *error);
    void (*close)(void *state); /* also for a zeroed state */
    sluice_status (*make)(void *state, sl_prepare_sample *sample, void *made, sluice_error *error);
    void (*drop)(void *made); /* frees a result; also a zeroed one */
} sl_prepare_job;

typedef struct sl_prepare_config {
    const sl_dataset *dataset;
    const sl_prepare_job *job;
    const void *config; /* the job's; valid while this is open */
    bool copies;        /* true if results contain a copy of the sample's bytes */
    bool keep_order;
    bool leave_unread_out; /* true if an unreadable sample (sl_error_is_unreadable) is a bad sample
                            */
    uint32_t workers;
    uint64_t first, end; /* positions: the first, and one past the last */
    uint64_t seed;
    uint64_t budget_bytes;
    uint64_t max_sample_bytes; /* a larger sample is bad; 0: SL_RECORD_BYTES_MAX, the maximum */
} sl_prepare_config;

/* One sample, ready or bad. */
typedef struct sl_prepared {
    uint64_t position;
    sluice_status status; /* negative: bad; `error` has the reason */
    bool fatal; /* true if it is not the sample's fault, or unknown: the work cannot continue */
    void *made; /* the job's */
    sluice_error error;
    char key[SL_KEY_MAX + 1];
} sl_prepared;

/* Errors: NOMEM. */
sluice_status sl_prepare_open(sl_prepare **out, const sl_prepare_config *config,
                              sluice_error *error);
/*
 * Returns the sample of the next position once it is ready; valid until done. Must not be called
 * after the last position. Errors: CANCELED (the owner's stop, stop.h, is requested, or this is a
 * child that should_stop forked), INTERNAL (the sample will never be ready: standstill.h).
 */
sluice_status sl_prepare_next(sl_prepare *prepare, sl_prepared **prepared, sluice_error *error);
void sl_prepare_done(sl_prepare *prepare, sl_prepared *prepared);
/*
 * Stops and joins the workers, and frees; in a forked child, which has none, only discards them.
 * NULL is a no-op.
 */
void sl_prepare_close(sl_prepare *prepare);

#endif
