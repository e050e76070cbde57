/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_schema: describes the columns of a Parquet file for columnar_fields.h.
 *
 * Purpose: turns leaves into columns. Numbers and byte arrays stay as they are. A structure of
 * "bytes" and "path", in which Hugging Face stores images and sounds, is one column. A list of
 * numbers is a tensor. A list of such structures is one column until the lengths of the lists are
 * known, then one per position. Lists of lists of numbers are tensors if all inner lists turn out
 * to have one length (boxes: 4). Lists of anything else, decimal numbers and 96-bit timestamps are
 * not supported: such columns are `asked` and `refused` (source_columns.h), so that they are
 * counted, and report the reason if chosen. Threads: pure. Ownership: sl_parquet_columns_close.
 */
#ifndef SL_PARQUET_SCHEMA_H
#define SL_PARQUET_SCHEMA_H

#include "columnar_fields.h"
#include "parquet_file.h"
#include "parquet_hive.h"

typedef struct sl_parquet_column {
    uint32_t leaf;  /* NONE: from folder names */
    uint32_t key;   /* number of the folder key */
    uint32_t guide; /* for a list of images: the leaf of their paths; NONE */
    bool looked_at; /* true once it is known whether values can be read one by one: */
    bool by_value;
    bool measured; /* true for lists of lists, whose length must be found (parquet_fields.c) */
} sl_parquet_column;

typedef struct sl_parquet_columns {
    sl_columnar_columns table;
    sl_parquet_column *of; /* by their number in the table */
} sl_parquet_columns;

/* Finds the columns. Errors: NOMEM. */
sluice_status sl_parquet_columns_find(sl_parquet_columns *columns, const sl_parquet *parquet,
                                      const sl_features *features, const sl_hive *hive,
                                      sluice_error *error);
/* Releases `columns`, which may be zeroed. */
void sl_parquet_columns_close(sl_parquet_columns *columns);
/*
 * Sorts the leaves of a file by name into the order of `first`. `*order`: the former position of
 * each; NULL: unchanged. Errors: INVALID, with the column that is missing, that the other file
 * lacks, or that has another type; NOMEM.
 */
sluice_status sl_parquet_match(sl_parquet *parquet, const sl_parquet *first, const char *path,
                               const char *first_path, uint16_t **order, sluice_error *error);
/* Applies the same order to another reading of the file. Errors: NOMEM. */
sluice_status sl_parquet_reorder(sl_parquet *parquet, const uint16_t *order, sluice_error *error);

#endif
