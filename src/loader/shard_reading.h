/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_reading: the parts of a loader's dataset that must be, or are to be, read from front to
 * back.
 *
 * Purpose: finds the orders in which a dataset can be loaded, and its shards (shard_order.h): runs
 * of samples in one file; in a compressed one each after the one before. Then each sample's size in
 * the read buffer is known, and so the most that a window of SHUFFLE_SHARDS needs.
 *
 * Threads: opening only. Ownership: the caller closes the set.
 */
#ifndef SL_SHARD_READING_H
#define SL_SHARD_READING_H

#include "config.h"
#include "shard_order.h"

/* Checks that the dataset can be loaded in the order of options, which are full-size. UNSUPPORTED,
 * with the remedy, if not. `windows`: the samples are windows of its own. */
sluice_status sl_shard_reading_check(const sl_dataset *dataset,
                                     const sluice_loader_options *options, bool windows,
                                     sluice_error *error);
/*
 * Finds the shards of a dataset that is loaded so; otherwise `set` stays empty. Sets `config`'s
 * memory accordingly. Blocks if samples must be looked up. Errors: NOMEM; INVALID: a window does
 * not fit into the options' read_buffer_bytes, requested in `wanted`; UNSUPPORTED: the locations of
 * samples are not known; IO, CORRUPT of looking up.
 */
sluice_status sl_shard_reading_open(sl_shard_set *set, sl_config *config, const sl_dataset *dataset,
                                    const sluice_loader_options *wanted, sluice_error *error);

#endif
