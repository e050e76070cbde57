/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold: what keeps the memory of a tensor. That is one of the library's holds on a batch, shared by
 * the batch object, its columns and all that was exported from them; or, of a copy, the memory
 * itself. The last one to let go gives the slot back, or frees the copy: on whatever thread that
 * is, with or without the GIL, also after the interpreter has ended. So nothing here calls Python,
 * and nothing waits.
 *
 * Owner: whoever counts. Threads: any.
 */
#ifndef SLUICE_PY_HOLD_H
#define SLUICE_PY_HOLD_H

#include <sluice/sluice.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How many batches of a loader are held, and by which columns; shared by the loader object and its
 * holds. */
typedef struct hold_count {
    atomic_uint owners;
    atomic_uint held;
    /* Known with the first batch; set under the GIL, before there is a hold on a column. */
    uint32_t column_count;
    char **names;
    atomic_uint *kept;     /* of each column: batches of which somebody has it */
    sluice_loader *loader; /* for its errors; NULL once it is closed. Under the GIL */
    /* Holds that were let go while their stream was captured into a graph, or by a thread with a
     * context of its own: a list by `next`. */
    _Atomic(struct hold *) waiting;
} hold_count;

typedef enum hold_kind {
    HOLD_BATCH,
    HOLD_COLUMN, /* counts as one of who has the column */
    /* One more of the library's holds: the slot is not used again before that stream's work so far
     * is done. */
    HOLD_STREAM,
    HOLD_COPY /* of no batch */
} hold_kind;

typedef struct hold {
    atomic_uint owners;
    hold_kind kind;
    uint32_t column;     /* COLUMN: its number */
    sluice_batch *batch; /* COPY: NULL */
    hold_count *count;   /* STREAM, COPY: NULL */
    struct hold *parent; /* COLUMN, STREAM: what it was made from, and keeps */
    struct CUstream_st *stream;
    struct hold *next; /* while it waits */
} hold;

hold_count *hold_count_new(void);
void hold_count_drop(hold_count *count);

/* Takes over the caller's hold on `batch`; NULL: no memory, and the batch is released. */
hold *hold_new(sluice_batch *batch, hold_count *count);
hold *hold_share(hold *h);
/* For who has the column of that number; NULL: no memory. */
hold *hold_column(hold *h, uint32_t column);
/* Memory of its own, a copy of `bytes` at `from`: `*data`, a multiple of 64. NULL: there is none.
 */
hold *hold_copy(const void *from, size_t bytes, void **data);
/* Which columns of how many batches somebody has, as text, cut to `bytes`: "'image' of 3". */
void hold_count_describe(const hold_count *count, char *text, size_t bytes);
/* Takes the names of the columns of all batches from the first; false: no memory. */
bool hold_count_columns(hold_count *count, const sluice_batch *batch);
/* The loader that the batch is of; NULL: it is closed, or `h` is a copy. Under the GIL, and of use
 * as long. */
sluice_loader *hold_loader(const hold *h);
/* One more of the library's holds, for who uses the batch on `stream`. NULL: it cannot be had. */
hold *hold_for_stream(hold *h, struct CUstream_st *stream);
/* NULL is fine. Where its stream is being captured into a graph, or is a default one and the thread
 * has a context of its own, the slot cannot be given back behind the stream's work: that waits
 * until hold_retry finds the stream open again, in a thread that has it. */
void hold_drop(hold *h);
void hold_retry(hold_count *count); /* NULL is fine */

#endif
