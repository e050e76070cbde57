/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the loader's options with every default filled in and every range checked.
 *
 * Purpose: the one place that knows defaults. After sl_config_make nothing below asks "is it 0?".
 * Threads: a value, immutable once made.
 */
#ifndef SL_CONFIG_H
#define SL_CONFIG_H

#include "fetch.h"

#include "dataset.h"

#include <sluice/loader.h>

/* A worker gets this many rows at once, or the rows in this many bytes. */
#define SL_TASK_ROWS  64U
#define SL_TASK_BYTES ((uint64_t)32 << 10)

/* From front to back, samples with at most this between them are read together: padding of a
 * tar. */
#define SL_MERGE_GAP_ON ((uint64_t)512)

typedef struct sl_config {
    sluice_loader_options options; /* no field is 0 that has a default */
    sl_cache_mode cache;
    bool fills;            /* the page cache, with AUTO */
    bool chooses_prefetch; /* the caller did not set it */
    bool chooses_read_buffer;
    uint32_t lookahead;      /* samples that the reader may be ahead of the slots */
    uint32_t inserts;        /* items outside the sequence that may be on their way at once */
    uint32_t task_rows;      /* rows per task on the short path (feed.h) */
    uint64_t resident_bytes; /* largest dataset kept in memory; 0: none */
    /* of the read buffer: part that a batch needs, used before the rest is present */
    size_t first_bytes;
    uint64_t merge_bytes, merge_gap_bytes;
    uint32_t spread; /* samples of a window of SHUFFLE_SHARDS, at most; 0 with others */
    uint32_t unpack_threads, unpack_passes; /* fetch.h */
} sl_config;

/* Makes the config. `wanted` is full-size. INVALID names the option that is out of range. */
sluice_status sl_config_make(sl_config *config, const sluice_loader_options *wanted,
                             const sl_dataset *dataset, sluice_error *error);
/* Facts about columns that options depend on. */
typedef struct sl_config_columns {
    bool pictures;
    uint64_t row_bytes; /* of all columns together */
    uint32_t members;   /* samples of a row, at most */
} sl_config_columns;

/*
 * Adapts the config to the columns. Images cost so much more than reading does that only small ones
 * are worth keeping in memory. There are more of small batches, unless `prefetch` was given: a
 * thread is woken for every few of them, not for each. The read buffer counts the samples of a row,
 * unless it was given.
 */
void sl_config_use_columns(sl_config *config, const sl_dataset *dataset,
                           const sl_config_columns *columns);
/* Checks an epoch's samples. INVALID: it would have no batch. */
sluice_status sl_config_check_epoch(const sl_config *config, uint64_t samples, sluice_error *error);

#endif
