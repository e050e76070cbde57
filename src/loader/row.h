/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row: a worker's whole job: stored bytes in, rows of a batch out.
 *
 * Purpose: where a dataset's records become a batch's rows: unpack (checksum, fields), then each
 * column makes its part of the row, straight in the slot. What is counted, released and told to
 * others is so once for a task, not for each of its rows.
 * Times: a task's is measured as a whole; which part of it was decoding is measured on its first
 * row, or on all of them while a trace is recorded.
 * Threads: sl_row_run on the workers, each with a row of its own; the maker is immutable but for
 * its counters.
 */
#ifndef SL_ROW_H
#define SL_ROW_H

#include "feed.h"

typedef struct sl_row_maker {
    sl_feed *feed;
    sl_row *rows; /* of every worker */
    uint32_t row_count;
    sl_stage decode, augment;
} sl_row_maker;

/* For `workers` workers. Errors: NOMEM. A zeroed maker may be closed. */
sluice_status sl_row_maker_open(sl_row_maker *maker, sl_feed *feed, uint32_t workers,
                                sluice_error *error);
void sl_row_maker_close(sl_row_maker *maker);

/* `ctx`: the maker; `task`: an sl_task. Releases the bytes and does all its rows, good or bad. */
void sl_row_run(void *ctx, uint32_t worker, sl_decoder *decoder, void *task);

#endif
