/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset: some samples of a dataset, in an order of their own, as a dataset.
 *
 * Purpose: sample i is sample index_map(i) of the base; all else is the base's. Its objects are the
 * base's own, so that many subsets of one dataset cost nothing but their maps. Nothing stands for
 * all samples of an object any more, and objects are not checked by themselves: sum and
 * check_object are not there. A subset of a subset is one of the base.
 * Memory: index_map.h. Threads: as any dataset. Ownership: holds a reference to the base.
 */
#ifndef SL_SUBSET_H
#define SL_SUBSET_H

#include "dataset.h"
#include "index_map.h"

/*
 * Of what `map` says (numbers of `base`, not empty), which is the subset's then, also on failure.
 * Errors: UNSUPPORTED (more than SL_DATASET_DEPTH_MAX datasets over one another), NOMEM.
 */
sluice_status sl_subset_open(sl_dataset **dataset, sl_dataset *base, sl_index_map *map,
                             sluice_error *error);

/* ---- subset_choice.c: what a choice in words means. Each fills a map that was begun. ---- */

/* "0:1000,5000:,-100:,7": as Python's slices, but an end behind the samples is refused. */
sluice_status sl_subset_ranges(sl_index_map *map, const char *text, uint64_t samples,
                               sluice_error *error);
/* Numbers below `samples`, else INVALID. */
sluice_status sl_subset_indices(sl_index_map *map, const uint64_t *indices, uint64_t count,
                                uint64_t samples, sluice_error *error);
/* The same of a file: .npy of one dimension, of whole numbers; or text, a number a line. */
sluice_status sl_subset_index_file(sl_index_map *map, const char *path, uint64_t samples,
                                   sluice_error *error);

#endif
