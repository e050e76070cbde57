/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row: a worker's whole job: stored bytes in, one row of a batch out.
 *
 * Purpose: where decode and augment meet. unpack (checksum, fields) -> open_picture (header) ->
 * draw (which crop) -> decode -> augment, straight into the row of the slot. Threads: sl_row_run on
 * the workers; the maker is immutable but for its counters.
 */
#ifndef SL_ROW_H
#define SL_ROW_H

#include "feed.h"

#include "apply.h"
#include "recipe.h"

typedef struct sl_row_maker {
    sl_feed *feed;
    sluice_augment recipe; /* a copy */
    sl_converter converter;
    bool mirrors_later;    /* flips are left to the device */
    uint32_t image, label; /* fields */
    sl_stage decode, augment;
} sl_row_maker;

/* `ctx`: the maker; `job`: an sl_job. Releases the bytes and completes the row, good or bad. */
void sl_row_run(void *ctx, sl_decoder *decoder, void *job);

#endif
