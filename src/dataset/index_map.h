/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_map: maps the samples of a subset to samples of a dataset.
 *
 * Purpose: an ordered list of numbers with possible repeats. Runs of consecutive numbers are stored
 * as such (16 bytes) while that takes less than 8 bytes per sample; otherwise each number is
 * stored. Built by one thread, then immutable.
 */
#ifndef SL_INDEX_MAP_H
#define SL_INDEX_MAP_H

#include "checksum.h"

#include <stdbool.h>
#include <stdint.h>

/* Consecutive numbers from `first` on. */
typedef struct sl_index_run {
    uint64_t first; /* number in the dataset */
    uint64_t at;    /* position in the list of its first number */
} sl_index_run;

typedef struct sl_index_map {
    uint64_t count;
    sl_index_run *runs; /* NULL: stored as a list */
    uint64_t run_count, run_capacity;
    uint64_t *list;
    uint64_t list_capacity;
    sl_checksum_stream sum; /* checksum of all runs except the last, independent of their storage */
    uint64_t last_first, last_count;
} sl_index_map;

void sl_index_map_begin(sl_index_map *map);
/* Releases `map`, which may be zero-initialised. */
void sl_index_map_close(sl_index_map *map);
/* Adds first, first + 1, ..., `count` numbers. False: no memory. */
bool sl_index_map_add(sl_index_map *map, uint64_t first, uint64_t count);
/* Ends the adding: releases unused memory. */
void sl_index_map_finish(sl_index_map *map);

/* Returns the number at a position below count. */
uint64_t sl_index_map_at(const sl_index_map *map, uint64_t at);
/* Returns how many consecutive numbers begin there: at least 1, but not always all of them. */
uint64_t sl_index_map_run(const sl_index_map *map, uint64_t at);
/* Returns a checksum that depends only on the numbers and their order. */
uint64_t sl_index_map_sum(const sl_index_map *map);

#endif
