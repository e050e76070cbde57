/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_open: opens Parquet files as a dataset.
 *
 * Purpose: reads the footers of all files; chooses the fields, and those that are read with each
 * sample (parquet_fields.c); then processes several row groups at a time, indexing these fields and
 * reading the values of the others. Threads: one opens, with helpers; then the dataset is
 * immutable.
 */
#ifndef SL_PARQUET_OPEN_H
#define SL_PARQUET_OPEN_H

#include "columnar.h"
#include "file_set.h"
#include "parquet_hive.h"
#include "parquet_lists.h"
#include "parquet_reads.h"
#include "parquet_schema.h"
#include "store.h"

typedef struct sl_parquets {
    sl_columnar table;
    sl_file_set set;
    sl_parquet_read reads[SL_COLUMNAR_LARGE_MAX]; /* one per large column */
    uint8_t leaves[SL_PARQUET_LEAVES_MAX / 8];    /* one bit per leaf that a field uses */
    sl_hive hive;                                 /* columns from folder names */
    uint16_t *
        *orders; /* for each file, the positions of its leaves (sl_parquet_match); NULL: in order */
} sl_parquets;

/* Returns whether a field uses the leaf, for its values or for the lengths of its lists. */
static inline bool sl_parquets_have_leaf(const sl_parquets *own, uint32_t leaf)
{
    return (own->leaves[leaf / 8] >> leaf % 8 & 1) != 0;
}

/* A row group while it is read. */
typedef struct sl_parquet_group {
    uint32_t file, group;
    uint64_t row;                            /* number of its first row */
    uint64_t slot[SL_COLUMNAR_LARGE_MAX];    /* for lists: number of the first slot */
    uint32_t longest[SL_COLUMNAR_LARGE_MAX]; /* for lists: number of elements of the longest */
    bool is_exact;
    uint64_t inner; /* for the measured lists of lists: inner length; 0: none, ANY: several */
    sl_parquet_ranges found[SL_COLUMNAR_LARGE_MAX];
    sl_side_columns side;
} sl_parquet_group;

/* State that exists only during opening. */
typedef struct sl_parquet_opening {
    sl_parquets *own;
    sl_parquet *files; /* footer of each file */
    sl_parquet_columns columns;
    sl_parquet_list lists[SL_COLUMNAR_LARGE_MAX];
    uint32_t list_count;
    uint32_t asked; /* column whose exactness or list length is being determined */
    uint32_t list_of[SL_COLUMNAR_LARGE_MAX]; /* number of the list index of a column that is read;
                                                NONE */
    sl_parquet_group *groups;
    uint32_t group_count;
} sl_parquet_opening;

/* `own` is zeroed except for table.reader. Errors: IO, CORRUPT, UNSUPPORTED, INVALID, NOMEM. */
sluice_status sl_parquets_open(sl_parquets *own, const sl_file_kind *kind, const char *const *paths,
                               size_t count, const sluice_dataset_options *options,
                               sluice_error *error);

/* ---- its parts ---- */

/* Finds the columns, chooses the fields, and selects those that are read with each sample. */
sluice_status sl_parquet_fields_find(sl_parquet_opening *o, const sluice_dataset_options *options,
                                     sluice_error *error);
/*
 * Opens a file for random reads, or takes the handle that stayed open. Pair with
 * sl_parquet_leave_file.
 */
sluice_status sl_parquet_open_file(const sl_parquet_opening *o, uint32_t file, sl_handle *from,
                                   sluice_error *error);
/* Closes the handle, unless it stays open for the next step. */
void sl_parquet_leave_file(const sl_parquet_opening *o, uint32_t file, sl_handle *from);
/* Opens the file of a row group and locates it; the caller leaves place->from. */
sluice_status sl_parquet_open_group(const sl_parquet_opening *o, const sl_parquet_group *group,
                                    sl_parquet_place *place, sluice_error *error);
/* Returns the path of a file. */
const char *sl_parquet_path(const sl_parquet_opening *o, uint32_t file);

#endif
