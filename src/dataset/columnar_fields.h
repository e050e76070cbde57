/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columnar_fields: chooses the fields among the columns of a columnar table, and how each is read.
 *
 * Purpose: the steps of opening such a table (columnar.h) that do not depend on the file format. A
 * list of images becomes one column per position, columns become fields (source_columns.h), and a
 * policy decides which of them are read with each sample and which are kept in memory.
 *
 * The policy: a column is read with each sample if
 * 1. it is a list of images; or
 * 2. it contains images of more than 1 MiB in total; or
 * 3. it contains other values of more than 1 MiB in total and 4096 bytes per row on average; or
 * 4. it is the largest column, has at least 64 bytes per row on average, and the file contains each
 *    value in place, neither compressed nor encoded.
 * All other columns are kept in memory. Rules 2 and 3 require that single values can be read, at
 * least together with their page. Reading a value costs a read, or a part of one, and 12 bytes of
 * memory for its location. Small values are therefore better kept, and large ones have to be read,
 * compressed or not. Medium ones fill memory only by their number: texts, token ids. Rule 4 reads
 * one such column, since a sample with a single read costs the same as a file or record. It does
 * not apply to values in pages, since each value would take a page. It has no minimum total size,
 * so that windows and parts of tensors are also available in small tables.
 *
 * Threads: pure, except for the caller's functions. Ownership: sl_columnar_columns_close.
 */
#ifndef SL_COLUMNAR_FIELDS_H
#define SL_COLUMNAR_FIELDS_H

#include "hf_features.h"
#include "omissions.h"
#include "source_columns.h"

/*
 * Limit on columns that are read with each sample: the values of each may need a buffer to unpack.
 */
#define SL_COLUMNAR_LARGE_MAX SL_VALUE_ROOMS

/* A column, in addition to its sl_source_column. */
typedef struct sl_columnar_column {
    uint32_t of;      /* its number in the format; all positions of a list have the same */
    uint32_t element; /* position in the list */
    bool
        is_list; /* true for lists of byte structures: each position becomes a column when spread */
} sl_columnar_column;

typedef struct sl_columnar_columns {
    uint32_t count;
    sl_source_column *source;
    sl_columnar_column *of;
} sl_columnar_columns;

typedef struct sl_columnar_large {
    uint32_t of;        /* the format's column */
    uint32_t low, high; /* for lists: first and last wanted position; otherwise 0 */
} sl_columnar_large;

/* The fields, and the source of each. */
typedef struct sl_columnar_fields {
    sl_source_fields fields;
    uint32_t of[SL_FIELDS_MAX];       /* the format's column of each field */
    uint32_t element[SL_FIELDS_MAX];  /* position in that column, for lists */
    uint32_t large_of[SL_FIELDS_MAX]; /* number of its large column; NONE: in memory */
    uint32_t side_of[SL_FIELDS_MAX];  /* number of its column in memory */
    sl_columnar_large large[SL_COLUMNAR_LARGE_MAX];
    uint32_t large_count;
    sl_field side_fields[SL_FIELDS_MAX]; /* fields of the columns in memory */
    uint32_t side_column[SL_FIELDS_MAX]; /* the format's columns of these */
    uint32_t side_count;
    uint32_t label;   /* field whose values have class names; NONE */
    uint32_t classes; /* number of its classes */
    char label_column[SL_SOURCE_NAME_BYTES];
} sl_columnar_fields;

/* Questions of the policy to the format. */
typedef struct sl_columnar_sizes {
    void *ctx;
    uint64_t rows;    /* rows in all files, at least 1 */
    const char *path; /* path of the first file, for errors */
    /* Returns the total size of a format's column in all files. */
    uint64_t (*bytes)(void *ctx, uint32_t of);
    /*
     * Returns whether its values can at least be read together with others, which are unpacked with
     * them; does no I/O. NULL: for no column.
     */
    bool (*by_page)(void *ctx, uint32_t of);
    /*
     * Determines whether its values can be read one by one: all files contain them in place. Called
     * only if it matters; may do I/O and fail.
     */
    sluice_status (*by_value)(void *ctx, uint32_t of, bool *by_value, sluice_error *error);
} sl_columnar_sizes;

/* Makes space for `capacity` columns; there are none yet. Errors: NOMEM. */
sluice_status sl_columnar_columns_open(sl_columnar_columns *columns, uint32_t capacity,
                                       sluice_error *error);
/* Releases `columns`, which may be zero-initialised. */
void sl_columnar_columns_close(sl_columnar_columns *columns);

/*
 * Returns whether a column is a list whose length is needed: of images, and chosen if there are
 * choices.
 */
bool sl_columnar_list_wanted(const sl_columnar_columns *columns, uint32_t number,
                             const sluice_dataset_options *options);
/*
 * Replaces each list: if it is wanted, by columns NAME.0, NAME.1, ... up to the length of its
 * longest row (`longest`, by the format's column number); if not, by none. If fields are chosen,
 * adds a refused column that gives the reason. Errors: NOMEM.
 */
sluice_status sl_columnar_spread(sl_columnar_columns *columns,
                                 const sluice_dataset_options *options, const uint32_t *longest,
                                 sluice_error *error);
/*
 * Finds the fields and the label among them. Errors name `path` and are those of
 * sl_source_fields_find.
 */
sluice_status sl_columnar_fields_find(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                                      const sl_features *features,
                                      const sluice_dataset_options *options, const char *path,
                                      sluice_error *error);
/* Counts the columns that are `refused` unless chosen, each by name and contents. */
void sl_columnar_leave_out(const sl_columnar_columns *columns, sl_omissions *omissions);
/* Returns UNSUPPORTED: more than SL_COLUMNAR_LARGE_MAX columns would have to be read. */
sluice_status sl_columnar_too_many(const char *path, sluice_error *error);
/*
 * Decides by the policy how each field is read. Errors: UNSUPPORTED (too many large columns), NOMEM
 * (for columns to be kept in memory), those of sizes->by_value.
 */
sluice_status sl_columnar_choose(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                                 const sl_columnar_sizes *sizes, sluice_error *error);

#endif
