/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_side: a leaf of a row group, as a column that is kept in memory.
 *
 * Purpose: makes rows of the slots that parquet_values.h gives: a number, bytes, or a list of
 * numbers as an array. Threads: one owner.
 */
#ifndef SL_PARQUET_SIDE_H
#define SL_PARQUET_SIDE_H

#include "parquet_file.h"
#include "side_columns.h"
#include "store.h"

/* A row group, and where it is read from. */
typedef struct sl_parquet_place {
    sl_handle from; /* names its path */
    const sl_parquet *parquet;
    uint32_t group;
    uint32_t file;  /* its number in the dataset */
    uint64_t first; /* number of the leaf's first slot there */
} sl_parquet_place;

/* Adds the rows of a leaf to a column. Errors: those of decoding; CORRUPT (other rows than there
 * should be), NOMEM. Lists that hold a null, and numbers above 2^63 - 1, are refused rows. */
sluice_status sl_parquet_side_read(const sl_parquet_place *place, uint32_t leaf,
                                   sl_side_columns *columns, uint32_t column, sluice_error *error);

#endif
