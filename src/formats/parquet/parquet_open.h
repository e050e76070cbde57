/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_open: opening Parquet files as a dataset.
 *
 * Purpose: footers of all files; which columns are fields, and which of them are read with each
 * sample (parquet_fields.c); then row groups, several at a time: indexes of the latter, values of
 * the others. Threads: one opens, with helpers; then the dataset is immutable.
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
    sl_parquet_read reads[SL_COLUMNAR_LARGE_MAX]; /* of each large column */
    uint8_t leaves[SL_PARQUET_LEAVES_MAX / 8];    /* a bit of each that a field is of */
    sl_hive hive;                                 /* columns that are the names of folders */
    uint16_t **orders; /* of each file: places of its leaves (sl_parquet_match); NULL: in place */
} sl_parquets;

/* Whether a field is of this leaf, or needs it for telling how long its lists are. */
static inline bool sl_parquets_have_leaf(const sl_parquets *own, uint32_t leaf)
{
    return (own->leaves[leaf / 8] >> leaf % 8 & 1) != 0;
}

/* A row group, while it is read. */
typedef struct sl_parquet_group {
    uint32_t file, group;
    uint64_t row;                            /* number of its first one */
    uint64_t slot[SL_COLUMNAR_LARGE_MAX];    /* of lists: of their leaves' first ones */
    uint32_t longest[SL_COLUMNAR_LARGE_MAX]; /* and elements of their longest ones */
    bool is_exact;
    uint64_t inner; /* of the lists of lists that are asked for: length; 0: none, ANY: of several */
    sl_parquet_ranges found[SL_COLUMNAR_LARGE_MAX];
    sl_side_columns side;
} sl_parquet_group;

/* What it takes to open, and is gone then. */
typedef struct sl_parquet_opening {
    sl_parquets *own;
    sl_parquet *files; /* footer of each */
    sl_parquet_columns columns;
    sl_parquet_list lists[SL_COLUMNAR_LARGE_MAX];
    uint32_t list_count;
    uint32_t asked; /* column of which is asked whether it is exact, or how long its lists are */
    uint32_t list_of[SL_COLUMNAR_LARGE_MAX]; /* of a column that is read; NONE */
    sl_parquet_group *groups;
    uint32_t group_count;
} sl_parquet_opening;

/* `own` is new but for table.reader. Errors: IO, CORRUPT, UNSUPPORTED, INVALID, NOMEM. */
sluice_status sl_parquets_open(sl_parquets *own, const sl_file_kind *kind, const char *const *paths,
                               size_t count, const sluice_dataset_options *options,
                               sluice_error *error);

/* ---- its parts ---- */

/* Which columns there are, which of them are fields, and which of those are read. */
sluice_status sl_parquet_fields_find(sl_parquet_opening *o, const sluice_dataset_options *options,
                                     sluice_error *error);
/* Opens a file for reading here and there, or takes the handle that stayed open. Leave it. */
sluice_status sl_parquet_open_file(const sl_parquet_opening *o, uint32_t file, sl_handle *from,
                                   sluice_error *error);
/* Closes the handle, unless it stays open for the next step. */
void sl_parquet_leave_file(const sl_parquet_opening *o, uint32_t file, sl_handle *from);
/* The place of a row group, its file open: the caller leaves place->from. */
sluice_status sl_parquet_open_group(const sl_parquet_opening *o, const sl_parquet_group *group,
                                    sl_parquet_place *place, sluice_error *error);
/* Path of a file. */
const char *sl_parquet_path(const sl_parquet_opening *o, uint32_t file);

#endif
