/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_lists: which slots of a leaf the rows have whose column is a list of pictures.
 *
 * Purpose: a picture's bytes and its path are in leaves of the same lists, slot by slot. That of
 * the paths is small, so that it is read whole when a dataset is opened; what it tells of lists
 * holds of the other one, too, whose pages stay where they are. Threads: groups are read by several
 * threads at once, each its own rows and slots.
 */
#ifndef SL_PARQUET_LISTS_H
#define SL_PARQUET_LISTS_H

#include "parquet_index.h"

typedef struct sl_parquet_list {
    uint32_t leaf, guide; /* of the bytes, and of the paths */
    sl_parquet_index index;
} sl_parquet_list;

/*
 * Fills in, of a row group, the starts of its rows, of which the first is `row`; its slots are from
 * place->first on, and those of empty lists are null. `*longest`: elements of the longest list.
 * Errors: those of decoding; CORRUPT (the two leaves do not fit).
 */
sluice_status sl_parquet_lists_read(const sl_parquet_list *list, const sl_parquet_place *place,
                                    uint64_t row, uint32_t *longest, sluice_error *error);

#endif
