/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold: one of the library's holds on a batch, shared by the batch object, its tensors and all that
 * was exported from them. The last one to let go gives the slot back: on whatever thread that is,
 * with or without the GIL, also after the interpreter has ended. So nothing here calls Python.
 *
 * Owner: whoever counts. Threads: any.
 */
#ifndef SLUICE_PY_HOLD_H
#define SLUICE_PY_HOLD_H

#include <sluice/sluice.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How many batches of a loader are held; shared by the loader object and its holds. */
typedef struct hold_count {
    atomic_uint owners;
    atomic_uint held;
    sluice_loader *loader; /* for its errors; NULL once it is closed. Under the GIL */
    /* Holds that were let go while their stream was captured into a graph, or by a thread with a
     * context of its own: a list by `next`. */
    _Atomic(struct hold *) waiting;
} hold_count;

typedef struct hold {
    atomic_uint owners;
    sluice_batch *batch;
    hold_count *count; /* NULL: it has a parent */
    /* One for a stream: the slot is not used again before that stream's work so far is done. It
     * keeps the hold that it was made from. */
    struct hold *parent;
    struct CUstream_st *stream;
    struct hold *next; /* while it waits */
} hold;

hold_count *hold_count_new(void);
void hold_count_drop(hold_count *count);

/* Takes over the caller's hold on `batch`; NULL: no memory, and the batch is released. */
hold *hold_new(sluice_batch *batch, hold_count *count);
hold *hold_share(hold *h);
/* The loader that the batch is of; NULL: it is closed. Under the GIL, and of use as long. */
sluice_loader *hold_loader(const hold *h);
/* One more of the library's holds, for who uses the batch on `stream`. NULL: it cannot be had. */
hold *hold_for_stream(hold *h, struct CUstream_st *stream);
/* NULL is fine. Where its stream is being captured into a graph, or is a default one and the thread
 * has a context of its own, the slot cannot be given back behind the stream's work: that waits
 * until hold_retry finds the stream open again, in a thread that has it. */
void hold_drop(hold *h);
void hold_retry(hold_count *count); /* NULL is fine */

#endif
