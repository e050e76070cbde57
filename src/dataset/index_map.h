/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_map: which sample of a dataset each sample of a subset is.
 *
 * Purpose: an ordered list of numbers, any of which may come several times. Runs of consecutive
 * numbers are kept as one (16 bytes) as long as that is less than 8 bytes a sample, else each
 * number is. Built by one thread, then immutable.
 */
#ifndef SL_INDEX_MAP_H
#define SL_INDEX_MAP_H

#include "checksum.h"

#include <stdbool.h>
#include <stdint.h>

/* `first` and what follows it. */
typedef struct sl_index_run {
    uint64_t first; /* number in the dataset */
    uint64_t at;    /* place in the list of its first */
} sl_index_run;

typedef struct sl_index_map {
    uint64_t count;
    sl_index_run *runs; /* NULL: there is a list */
    uint64_t run_count, run_capacity;
    uint64_t *list;
    uint64_t list_capacity;
    sl_checksum_stream sum; /* of all runs but the last, however they are kept */
    uint64_t last_first, last_count;
} sl_index_map;

void sl_index_map_begin(sl_index_map *map);
/* May be zero-initialised. */
void sl_index_map_close(sl_index_map *map);
/* Adds first, first + 1, ..., `count` of them. False: no memory. */
bool sl_index_map_add(sl_index_map *map, uint64_t first, uint64_t count);
/* All are there: gives back memory that is not needed. */
void sl_index_map_finish(sl_index_map *map);

/* The number at a place below count. */
uint64_t sl_index_map_at(const sl_index_map *map, uint64_t at);
/* How many from there on follow one another, at least 1; not always all of them. */
uint64_t sl_index_map_run(const sl_index_map *map, uint64_t at);
/* The same for the same numbers in the same order. */
uint64_t sl_index_map_sum(const sl_index_map *map);

#endif
