/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row: a worker's job: turns stored bytes into rows of a batch.
 *
 * Purpose: unpacks a record (checksum, fields), then lets each column make its part of the row, in
 * place in the slot. Counters, releases and reports to other threads happen once per task, not per
 * row.
 * Times: a task is timed as a whole; its decoding is timed on the first row, or on all rows while a
 * trace is recorded.
 * Memory: the buffers of a sample's values (value_buffer.h) and of its decoding share a worker's
 * limit. If it is too small, the row is tried again with otherwise empty buffers, so that whether a
 * sample fits depends on the sample alone. Threads: sl_row_run on the workers, each with a row of
 * its own; the maker is immutable except for its counters.
 */
#ifndef SL_ROW_H
#define SL_ROW_H

#include "feed.h"

/* Part of its share set aside for each worker when the loader is opened: enough to crop and decode
 * photos of some megapixels. */
#define SL_ROW_BYTES_MIN (UINT64_C(1) << 20)

/* A worker's. */
typedef struct sl_row_worker {
    sl_row row;
    sl_allowance allowance; /* of row.values */
    sl_job *jobs;           /* of two rows, with the most members: the current and the next one */
    uint32_t *handles; /* of a task's rows, released together: SL_TASK_ROWS, and those of a row */
    uint64_t share;    /* limit on bytes for unpacking and decoding; UINT64_MAX: none */
    uint64_t bound;    /* the decoder's part of it at the last row */
    bool starved;      /* the pages of the current row did not fit */
    _Atomic uint64_t unpacked; /* bytes that the buffers held last, for statistics */
} sl_row_worker;

typedef struct sl_row_maker {
    sl_feed *feed;
    sl_row_worker *workers;
    uint8_t *draws; /* of all workers (draw_memory.h), in one block; NULL: there are none */
    uint32_t worker_count;
    sl_stage decode, augment;
    _Atomic uint64_t operation_ns[SL_OPERATION_NUMBERS]; /* parts of `augment` */
} sl_row_maker;

/* Bytes of a worker's jobs and handles, with rows of at most so many members. */
static inline size_t sl_row_jobs_bytes(uint32_t members)
{
    return (size_t)members * 2 * sizeof(sl_job) +
           ((size_t)SL_TASK_ROWS + members) * sizeof(uint32_t);
}
/* For `workers` workers. Errors: NOMEM. A zeroed maker may be closed. */
sluice_status sl_row_maker_open(sl_row_maker *maker, sl_feed *feed, uint32_t workers,
                                sluice_error *error);
/* Sets the bytes in which each worker may unpack and decode. Before the first row. */
void sl_row_maker_share(sl_row_maker *maker, uint64_t bytes);
void sl_row_maker_close(sl_row_maker *maker);
/* Returns the bytes of unpacked pages at present, except for those set aside. */
uint64_t sl_row_maker_unpacked(const sl_row_maker *maker);

/* Runs a task. `ctx`: the maker; `task`: an sl_task. Releases the bytes and finishes all its rows,
 * good or bad. */
void sl_row_run(void *ctx, uint32_t worker, sl_decoder *decoder, void *task);

#endif
