/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset: some samples of a dataset, in an order of their own, as a dataset.
 *
 * Purpose: sample i is sample index_map(i) of the base; everything else is the base's. It shares
 * the base's objects, so many subsets of one dataset only cost their maps. Checks over all samples
 * of an object no longer apply, so sum and check_object do not exist. A subset of a subset refers
 * to the base. Memory: index_map.h. Threads: as for any dataset. Ownership: holds a reference to
 * the base.
 */
#ifndef SL_SUBSET_H
#define SL_SUBSET_H

#include "dataset.h"
#include "index_map.h"

/*
 * Opens the subset of the samples in `map` (numbers of `base`, not empty), which it takes over,
 * also on failure. Errors: UNSUPPORTED (datasets nested more than SL_DATASET_DEPTH_MAX deep),
 * NOMEM.
 */
sluice_status sl_subset_open(sl_dataset **dataset, sl_dataset *base, sl_index_map *map,
                             sluice_error *error);

/* ---- subset_choice.c: what a choice in words means. Each fills a map that was begun. ---- */

/*
 * Parses "0:1000,5000:,-100:,7": like Python's slices, but an end beyond the samples is an error.
 */
sluice_status sl_subset_ranges(sl_index_map *map, const char *text, uint64_t samples,
                               sluice_error *error);
/* Adds numbers, which must be below `samples`; INVALID otherwise. */
sluice_status sl_subset_indices(sl_index_map *map, const uint64_t *indices, uint64_t count,
                                uint64_t samples, sluice_error *error);
/* Does the same for a file: one-dimensional .npy of integers, or text with one number per line. */
sluice_status sl_subset_index_file(sl_index_map *map, const char *path, uint64_t samples,
                                   sluice_error *error);

#endif
