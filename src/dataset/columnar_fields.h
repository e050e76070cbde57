/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columnar_fields: which columns of a columnar table are fields, and where each is had from.
 *
 * Purpose: what opening such a table (columnar.h) takes that does not depend on the file format:
 * lists of pictures become a column for each place, columns become fields (source_columns.h), and
 * one policy decides which of them are read with each sample and which are kept in memory.
 *
 * The policy. A column is read with each sample if
 * 1. it is a list of pictures; or
 * 2. it holds pictures, of more than 1 MiB in all; or
 * 3. it holds other values, of more than 1 MiB in all and 4096 bytes a row on average; or
 * 4. its values take most of all columns, 64 bytes a row or more on average, and each of them has
 *    bytes of its own in the file, neither compressed nor encoded.
 * All other columns are kept in memory. Rules 2 and 3 apply where single values can be read at all,
 * if only with the page that they are in. Why: reading a value costs a read, or a part of one, and
 * 12 bytes of memory for where it is, so what is small is better kept, and what is large has to be
 * read, compressed or not. In between is what fills memory by its number alone: texts, token ids.
 * Of these one column is read by rule 4, since a sample that is one read costs what a file or a
 * record does; not where values are in pages, of which each value would take one. Rule 4 knows no
 * least size in all, so that windows and parts of tensors can be taken of a small table, too.
 *
 * Threads: pure, but for what the caller's functions do. Ownership: sl_columnar_columns_close.
 */
#ifndef SL_COLUMNAR_FIELDS_H
#define SL_COLUMNAR_FIELDS_H

#include "hf_features.h"
#include "omissions.h"
#include "source_columns.h"

/* Columns that are read with each sample: of each, values may have to be unpacked. */
#define SL_COLUMNAR_LARGE_MAX SL_VALUE_ROOMS

/* A column, beside its sl_source_column. */
typedef struct sl_columnar_column {
    uint32_t of;      /* number that the format has for it; of a list, all its places have one */
    uint32_t element; /* place in the list */
    bool is_list;     /* of structures of bytes: each place of it is a column, once spread */
} sl_columnar_column;

typedef struct sl_columnar_columns {
    uint32_t count;
    sl_source_column *source;
    sl_columnar_column *of;
} sl_columnar_columns;

typedef struct sl_columnar_large {
    uint32_t of;        /* the format's column */
    uint32_t low, high; /* of a list: the first and the last place that is wanted; else 0 */
} sl_columnar_large;

/* The fields, and where each is had from. */
typedef struct sl_columnar_fields {
    sl_source_fields fields;
    uint32_t of[SL_FIELDS_MAX];       /* the format's column of each */
    uint32_t element[SL_FIELDS_MAX];  /* and the place in it, of a list */
    uint32_t large_of[SL_FIELDS_MAX]; /* number of its large column; NONE: it is in memory */
    uint32_t side_of[SL_FIELDS_MAX];  /* number of its column in memory */
    sl_columnar_large large[SL_COLUMNAR_LARGE_MAX];
    uint32_t large_count;
    sl_field side_fields[SL_FIELDS_MAX]; /* of the columns in memory */
    uint32_t side_column[SL_FIELDS_MAX]; /* and the format's columns of those */
    uint32_t side_count;
    uint32_t label;   /* field whose values have names; NONE */
    uint32_t classes; /* of it */
    char label_column[SL_SOURCE_NAME_BYTES];
} sl_columnar_fields;

/* What the policy asks of the format. */
typedef struct sl_columnar_sizes {
    void *ctx;
    uint64_t rows;    /* of all files, at least 1 */
    const char *path; /* of the first file, named in errors */
    /* Bytes of the values of a format's column, in all files. */
    uint64_t (*bytes)(void *ctx, uint32_t of);
    /* Whether its values can be read at least with others, which are unpacked for them; never
     * reads. NULL: of no column. */
    bool (*by_page)(void *ctx, uint32_t of);
    /* Whether they can be read each by itself: its bytes are in all files as they are meant. Asked
     * only where that makes a difference; may read, and fail. */
    sluice_status (*by_value)(void *ctx, uint32_t of, bool *by_value, sluice_error *error);
} sl_columnar_sizes;

/* Space for `capacity` columns, none of which is there yet. Errors: NOMEM. */
sluice_status sl_columnar_columns_open(sl_columnar_columns *columns, uint32_t capacity,
                                       sluice_error *error);
/* Zero-initialised columns may be closed. */
void sl_columnar_columns_close(sl_columnar_columns *columns);

/* Whether a column is a list whose length has to be known: of pictures, and chosen, if anything is.
 */
bool sl_columnar_list_wanted(const sl_columnar_columns *columns, uint32_t number,
                             const sluice_dataset_options *options);
/*
 * In place of each list, as many columns NAME.0, NAME.1, ... as its longest row has elements
 * (`longest`, by the format's number of the column) if it is wanted, none if it is not; and where
 * fields are chosen, one that is refused, and says why. Errors: NOMEM.
 */
sluice_status sl_columnar_spread(sl_columnar_columns *columns,
                                 const sluice_dataset_options *options, const uint32_t *longest,
                                 sluice_error *error);
/* The fields, and the label among them. `path` is named in errors: those of sl_source_fields_find.
 */
sluice_status sl_columnar_fields_find(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                                      const sl_features *features,
                                      const sluice_dataset_options *options, const char *path,
                                      sluice_error *error);
/* Counts the columns that are `refused` unless they are chosen, each by its name and what it holds.
 */
void sl_columnar_leave_out(const sl_columnar_columns *columns, sl_omissions *omissions);
/* UNSUPPORTED: more than SL_COLUMNAR_LARGE_MAX of the columns would have to be read. */
sluice_status sl_columnar_too_many(const char *path, sluice_error *error);
/* Decides by the policy where each field is had from. Errors: UNSUPPORTED (more columns are large
 * than can be), NOMEM (what would be kept in memory), and those of sizes->access. */
sluice_status sl_columnar_choose(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                                 const sl_columnar_sizes *sizes, sluice_error *error);

#endif
