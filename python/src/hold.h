/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold: a reference to the memory of a tensor: one of the library's holds on a batch, shared by the
 * batch object, its columns and their exports; or the memory of a copy. The last release returns
 * the slot, or frees the copy, on any thread, with or without the GIL, also after the interpreter
 * has ended. So nothing here calls Python, and nothing waits.
 *
 * Owner: the holders of a count. Threads: any.
 */
#ifndef SLUICE_PY_HOLD_H
#define SLUICE_PY_HOLD_H

#include <sluice/sluice.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts the held batches of a loader, and the columns that hold them; shared by the loader object
 * and its holds. */
typedef struct hold_count {
    atomic_uint owners;
    atomic_uint held;
    /* Set with the first batch, under the GIL, before a column has a hold. */
    uint32_t column_count;
    char **names;
    atomic_uint *kept;     /* batches with a live reference, for each column */
    sluice_loader *loader; /* for its errors; NULL after close. Under the GIL */
    /* Holds released while their stream was captured into a graph, or by a thread with another
     * context: a list by `next`. */
    _Atomic(struct hold *) waiting;
} hold_count;

typedef enum hold_kind {
    HOLD_BATCH,
    HOLD_COLUMN, /* counts as a reference to the column */
    /* Another hold of the library: the slot is not reused before the stream's work so far is
     * done. */
    HOLD_STREAM,
    HOLD_COPY /* belongs to no batch */
} hold_kind;

typedef struct hold {
    atomic_uint owners;
    hold_kind kind;
    uint32_t column;     /* COLUMN: its number */
    sluice_batch *batch; /* COPY: NULL */
    hold_count *count;   /* STREAM, COPY: NULL */
    struct hold *parent; /* COLUMN, STREAM: its source, which it keeps */
    struct CUstream_st *stream;
    struct hold *next; /* in the list of waiting holds */
} hold;

hold_count *hold_count_new(void);
void hold_count_drop(hold_count *count);

/* Takes over the caller's hold on `batch`; NULL: no memory, and the batch is released. */
hold *hold_new(sluice_batch *batch, hold_count *count);
hold *hold_share(hold *h);
/* Returns a hold for a holder of that column; NULL: no memory. */
hold *hold_column(hold *h, uint32_t column);
/* Returns a hold on separate memory, a copy of `bytes` at `from`. `*data`: its address, a multiple
 * of 64. NULL: no memory. */
hold *hold_copy(const void *from, size_t bytes, void **data);
/* Writes which columns of how many batches are held, cut to `bytes`: "'image' of 3". */
void hold_count_describe(const hold_count *count, char *text, size_t bytes);
/* Takes the names of the columns of all batches from the first; false: no memory. */
bool hold_count_columns(hold_count *count, const sluice_batch *batch);
/* Returns the batch's loader; NULL: it is closed, or `h` is a copy. Under the GIL, while the result
 * is valid. */
sluice_loader *hold_loader(const hold *h);
/* Takes another of the library's holds, for work on `stream` that uses the batch. NULL: failed. */
hold *hold_for_stream(hold *h, struct CUstream_st *stream);
/* NULL is a no-op. If the stream is being captured into a graph, or is a default stream and the
 * thread has another context, the slot cannot be released after the stream's work yet: hold_retry
 * does so once the stream is available, in a thread that has it. */
void hold_drop(hold *h);
void hold_retry(hold_count *count); /* NULL is a no-op */

#endif
