/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare: threads that read samples and make something of them, delivered in order.
 *
 * Purpose: the parallel half of a pack and of what goes the other way. Workers take positions in
 * turn, read, check and hand the values to a job, which makes what is wanted of them; the owner
 * takes the results in the order of positions, so that the number of workers cannot change a byte
 * of what is written. A dataset that can only be read from front to back is read in the order of
 * positions, by one worker at a time; keep_order has to be set for it. Threads: one owner calls
 * open, next, done, close; the workers are inside. Memory: bytes held by samples, and what the job
 * charges, are at most a fixed budget plus one sample: a worker waits before it takes them, unless
 * its position is the next to be taken. The end: the workers work under the owner's stop (stop.h),
 * so that a sample in work ends with CANCELED soon after it is requested.
 */
#ifndef SL_PREPARE_H
#define SL_PREPARE_H

#include "dataset.h"
#include "piece.h"

typedef struct sl_prepare sl_prepare;

/* A sample as a job gets it. */
typedef struct sl_prepare_sample {
    const sl_dataset *dataset;
    const sl_sample *place;
    sl_values *values; /* all fields; what they point to stays until the sample is done */
    const sl_allowance *allowance;
    sl_value blame; /* out, of a failure: what it was about; not present: no field */
} sl_prepare_sample;

/* What becomes of samples. Workers call these, each with a state of its own. */
typedef struct sl_prepare_job {
    size_t state_bytes, made_bytes; /* of a worker's state, and of what is made; zeroed before */
    sluice_status (*open)(void *state, const void *config, sluice_error *error);
    void (*close)(void *state); /* also of a zeroed one */
    sluice_status (*make)(void *state, sl_prepare_sample *sample, void *made, sluice_error *error);
    void (*drop)(void *made); /* frees, also of a zeroed one */
} sl_prepare_job;

typedef struct sl_prepare_config {
    const sl_dataset *dataset;
    const sl_prepare_job *job;
    const void *config; /* the job's; stays as long as this is open */
    bool copies;        /* what is made holds a copy of the sample's bytes */
    bool keep_order;
    bool leave_unread_out; /* what cannot be read (sl_error_is_unreadable) is a bad sample */
    uint32_t workers;
    uint64_t first, end; /* positions: to begin with, and behind the last */
    uint64_t seed;
    uint64_t budget_bytes;
    uint64_t max_sample_bytes; /* a larger one is bad; 0: SL_RECORD_BYTES_MAX, which is the most */
} sl_prepare_config;

/* One sample, ready or bad. */
typedef struct sl_prepared {
    uint64_t position;
    sluice_status status; /* < 0: bad; `error` says why */
    bool fatal;           /* not the sample's fault, or nobody knows: the work cannot go on */
    void *made;           /* the job's */
    sluice_error error;
    char key[SL_KEY_MAX + 1];
} sl_prepared;

/* Errors: NOMEM. */
sluice_status sl_prepare_open(sl_prepare **out, const sl_prepare_config *config,
                              sluice_error *error);
/*
 * Gives the sample of the next position, once it is ready; valid until done. Not past the last
 * position. Errors: CANCELED (the owner's stop, stop.h, is requested, or this is a child that
 * should_stop forked), INTERNAL (the sample will never be ready: standstill.h).
 */
sluice_status sl_prepare_next(sl_prepare *prepare, sl_prepared **prepared, sluice_error *error);
void sl_prepare_done(sl_prepare *prepare, sl_prepared *prepared);
/* Stops the workers, joins and frees; only forgets them in a forked child, which has none. NULL is
 * fine. */
void sl_prepare_close(sl_prepare *prepare);

#endif
