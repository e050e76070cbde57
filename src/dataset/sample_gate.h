/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_gate: the memory of threads that each read samples.
 *
 * Purpose: verifying and scanning read samples of any size in many threads. Each thread has a share
 * of the available memory. A sample that needs more waits at the gate until it is the only large
 * one. A machine thus has to hold one large sample, not one per thread; if even that does not fit,
 * it is a shortage (memory.h), not a bad sample. Samples above the size limit are rejected.
 * Threads: a pass belongs to one thread; all threads share the gate. The lock is held while a large
 * sample is processed; no other lock is taken under it that callers hold when they enter. Memory: a
 * quarter of the available memory for all shares, and one sample.
 */
#ifndef SL_SAMPLE_GATE_H
#define SL_SAMPLE_GATE_H

#include "allowance.h"
#include "error.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct sl_sample_gate {
    pthread_mutex_t mutex; /* held for the large sample */
    uint64_t share;        /* bytes per thread */
    uint64_t most; /* limit on any part of a sample: its stored bytes, an unpacked field, a page */
} sl_sample_gate;

/* A thread's use of the gate, for one sample after another. */
typedef struct sl_sample_pass {
    sl_sample_gate *gate;
    uint64_t taken; /* bytes taken for the current sample */
    bool is_large;
    bool is_refused;        /* true if a part of it exceeded the limit */
    sl_allowance allowance; /* allowance of the unpacking buffers */
} sl_sample_pass;

/* Opens a gate for `threads`. `most`: size limit of a sample; 0: 1 GiB. */
void sl_sample_gate_open(sl_sample_gate *gate, uint32_t threads, uint64_t most);
void sl_sample_gate_close(sl_sample_gate *gate);

/* Opens a pass, which must not move: its allowance points to it. */
void sl_sample_pass_open(sl_sample_pass *pass, sl_sample_gate *gate);
/*
 * Must precede taking that many bytes for the current sample; may wait. Errors: UNSUPPORTED (above
 * the limit), NOMEM (not available).
 */
sluice_status sl_sample_pass_take(sl_sample_pass *pass, uint64_t bytes, sluice_error *error);
/* Does the same for working memory, which has its own limits. Errors: NOMEM. */
sluice_status sl_sample_pass_work(sl_sample_pass *pass, uint64_t bytes, sluice_error *error);
/* Returns whether memory kept for the next sample should be released before sl_sample_pass_end. */
bool sl_sample_pass_was_large(const sl_sample_pass *pass);
/* Ends the processing of the sample. */
void sl_sample_pass_end(sl_sample_pass *pass);

#endif
