/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_schema: which columns a Parquet file has, as columnar_fields.h wants them.
 *
 * Purpose: leaves become columns: numbers and byte arrays as they are; structures of "bytes" and
 * "path", which is how Hugging Face stores pictures and sounds, are one column; a list of numbers
 * is a tensor; a list of such structures is one column, until it is known how long lists are, and
 * then one for each place of a list. Lists of lists of numbers are tensors once
 * it is known that all inner lists have one length (boxes: 4). Lists of anything else, decimal
 * numbers and times of 96 bits cannot be read: such columns are `asked` and `refused`
 * (source_columns.h), so that they are counted, and say why if they are chosen. Threads: pure.
 * Ownership: sl_parquet_columns_close.
 */
#ifndef SL_PARQUET_SCHEMA_H
#define SL_PARQUET_SCHEMA_H

#include "columnar_fields.h"
#include "parquet_file.h"
#include "parquet_hive.h"

typedef struct sl_parquet_column {
    uint32_t leaf;  /* NONE: it is the names of folders */
    uint32_t key;   /* of those */
    uint32_t guide; /* of a list of pictures: the leaf of their paths; NONE */
    bool looked_at; /* whether its values can be read one by one is known: */
    bool by_value;
    bool measured; /* of lists of lists: their length has to be found (parquet_fields.c) */
} sl_parquet_column;

typedef struct sl_parquet_columns {
    sl_columnar_columns table;
    sl_parquet_column *of; /* by the number that the table has for them */
} sl_parquet_columns;

/* Errors: NOMEM. */
sluice_status sl_parquet_columns_find(sl_parquet_columns *columns, const sl_parquet *parquet,
                                      const sl_features *features, const sl_hive *hive,
                                      sluice_error *error);
/* Of all zero is fine. */
void sl_parquet_columns_close(sl_parquet_columns *columns);
/*
 * Brings the leaves of a file into the order that they have in `first`, by their names. `*order`:
 * the place that each had; NULL: the same. Errors: INVALID, which names the column that is missing,
 * that the other file lacks, or that is of another type; NOMEM.
 */
sluice_status sl_parquet_match(sl_parquet *parquet, const sl_parquet *first, const char *path,
                               const char *first_path, uint16_t **order, sluice_error *error);
/* Does the same to another reading of that file. Errors: NOMEM. */
sluice_status sl_parquet_reorder(sl_parquet *parquet, const uint16_t *order, sluice_error *error);

#endif
