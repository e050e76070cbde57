/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_schema: which columns a Parquet file has, as columnar_fields.h wants them.
 *
 * Purpose: leaves become columns: numbers and byte arrays as they are; structures of "bytes" and
 * "path", which is how Hugging Face stores pictures and sounds, are one column; a list of numbers
 * is a tensor; a list of such structures is one column, until it is known how long lists are, and
 * then one for each place of a list. Lists of anything else, lists of lists, decimal numbers and
 * times of 96 bits are left out. Threads: pure. Ownership: sl_parquet_columns_close.
 */
#ifndef SL_PARQUET_SCHEMA_H
#define SL_PARQUET_SCHEMA_H

#include "columnar_fields.h"
#include "parquet_file.h"

typedef struct sl_parquet_column {
    uint32_t leaf;
    uint32_t guide; /* of a list of pictures: the leaf of their paths; NONE */
    bool looked_at; /* whether its values can be read one by one is known: */
    bool by_value;
} sl_parquet_column;

typedef struct sl_parquet_columns {
    sl_columnar_columns table;
    sl_parquet_column *of; /* by the number that the table has for them */
} sl_parquet_columns;

/* Errors: NOMEM. */
sluice_status sl_parquet_columns_find(sl_parquet_columns *columns, const sl_parquet *parquet,
                                      const sl_features *features, sluice_error *error);
/* Of all zero is fine. */
void sl_parquet_columns_close(sl_parquet_columns *columns);
/* Whether both files have the same leaves. */
bool sl_parquet_is_alike(const sl_parquet *a, const sl_parquet *b);

#endif
