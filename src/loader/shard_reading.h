/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_reading: what of a loader's dataset has to be read, or is to be, from front to back.
 *
 * Purpose: says which orders a dataset can be loaded in, and finds its shards (shard_order.h): runs
 * of samples that are in one file, of a compressed one each behind the one before. What each sample
 * takes of the read buffer is known then, and so what a window of SHUFFLE_SHARDS needs at most.
 * Threads: opening only. Ownership: the caller closes the set.
 */
#ifndef SL_SHARD_READING_H
#define SL_SHARD_READING_H

#include "config.h"
#include "shard_order.h"

/* UNSUPPORTED, with what to do instead: the dataset cannot be loaded in the order of options that
 * are full-size. `windows`: the samples are windows of its own. */
sluice_status sl_shard_reading_check(const sl_dataset *dataset,
                                     const sluice_loader_options *options, bool windows,
                                     sluice_error *error);
/*
 * The shards of a dataset that is loaded so; of another one `set` stays empty. `config` is then
 * given what it needs. Blocks where samples have to be looked up. Errors: NOMEM; INVALID: a window
 * does not fit into the options' read_buffer_bytes, of which `wanted` has what was asked for;
 * UNSUPPORTED: where samples are is not known; IO, CORRUPT of looking up.
 */
sluice_status sl_shard_reading_open(sl_shard_set *set, sl_config *config, const sl_dataset *dataset,
                                    const sluice_loader_options *wanted, sluice_error *error);

#endif
