/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_lists: finds the slots of each row in a column of image lists.
 *
 * Purpose: an image's bytes and its path are in leaves of the same lists, slot by slot. The leaf of
 * the paths is small, so opening reads all of it; its list structure also holds for the other leaf,
 * whose pages are not read. Threads: several read groups at once, each its own rows and slots.
 */
#ifndef SL_PARQUET_LISTS_H
#define SL_PARQUET_LISTS_H

#include "parquet_index.h"

typedef struct sl_parquet_list {
    uint32_t leaf, guide; /* leaf of the bytes, and of the paths */
    sl_parquet_index index;
} sl_parquet_list;

/*
 * Sets, for a row group, the starts of its rows from number `row` on. Its slots begin at
 * place->first; those of empty lists are null. `*longest`: number of elements of the longest list.
 * Errors: those of decoding; CORRUPT (the two leaves do not match).
 */
sluice_status sl_parquet_lists_read(const sl_parquet_list *list, const sl_parquet_place *place,
                                    uint64_t row, uint32_t *longest, sluice_error *error);

#endif
