/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_side: reads a leaf of a row group into a column that is kept in memory.
 *
 * Purpose: makes rows from the slots of parquet_values.h: a number, bytes, or a list of numbers as
 * an array. Threads: one owner.
 */
#ifndef SL_PARQUET_SIDE_H
#define SL_PARQUET_SIDE_H

#include "parquet_file.h"
#include "side_columns.h"
#include "store.h"

/* A row group and its location. */
typedef struct sl_parquet_place {
    sl_handle from; /* carries the path */
    const sl_parquet *parquet;
    uint32_t group;
    uint32_t file;  /* its number in the dataset */
    uint64_t first; /* number of the leaf's first slot in the row group */
} sl_parquet_place;

/*
 * Adds the rows of a leaf to a column. Errors: those of decoding; CORRUPT (an unexpected number of
 * rows), NOMEM. Lists that contain a null, and numbers above 2^63 - 1, become bad rows.
 */
sluice_status sl_parquet_side_read(const sl_parquet_place *place, uint32_t leaf,
                                   sl_side_columns *columns, uint32_t column, sluice_error *error);

#endif
