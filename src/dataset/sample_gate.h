/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_gate: what threads that read samples for themselves have of memory together.
 *
 * Purpose: verifying and scanning take samples of any size, by many threads. Each thread has a
 * share of what is available; a sample that takes more waits at the gate until it is the only one
 * that does. So a machine has to hold one large sample, and not one for each thread; what does not
 * fit even then is a shortage (memory.h), and not the sample's fault. What is above the limit of a
 * sample is refused.
 * Threads: a pass is one thread's; the gate is all of theirs. The lock is held for as long as a
 * large sample is worked on, and no other is taken under it that others hold when they come here.
 * Memory: a quarter of what is available for all shares, and one sample.
 */
#ifndef SL_SAMPLE_GATE_H
#define SL_SAMPLE_GATE_H

#include "allowance.h"
#include "error.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct sl_sample_gate {
    pthread_mutex_t mutex; /* of the large sample */
    uint64_t share;        /* bytes of a thread */
    uint64_t most;         /* of anything of a sample: its stored bytes, a field unpacked, a page */
} sl_sample_gate;

/* A thread's way through it, for one sample after the other. */
typedef struct sl_sample_pass {
    sl_sample_gate *gate;
    uint64_t taken; /* for the sample at hand */
    bool is_large;
    bool is_refused;        /* something of it was above the limit */
    sl_allowance allowance; /* for what it is unpacked in; of its buffers */
} sl_sample_pass;

/* For that many threads. `most` bytes of a sample, 0: 1 GiB. */
void sl_sample_gate_open(sl_sample_gate *gate, uint32_t threads, uint64_t most);
void sl_sample_gate_close(sl_sample_gate *gate);

/* `pass` must not move: its allowance points to it. */
void sl_sample_pass_open(sl_sample_pass *pass, sl_sample_gate *gate);
/* Before that many bytes are taken for the sample at hand; may wait. Errors: UNSUPPORTED (above the
 * limit), NOMEM (there are not as many). */
sluice_status sl_sample_pass_take(sl_sample_pass *pass, uint64_t bytes, sluice_error *error);
/* The same of memory that is worked in, and has limits of its own. Errors: NOMEM. */
sluice_status sl_sample_pass_work(sl_sample_pass *pass, uint64_t bytes, sluice_error *error);
/* Whether memory that is kept for the next sample is to be given back: before the end. */
bool sl_sample_pass_was_large(const sl_sample_pass *pass);
/* The sample is done with. */
void sl_sample_pass_end(sl_sample_pass *pass);

#endif
