/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized_columns: samples that consist of column sizes and column bytes.
 *
 * Purpose: a sample of MDS or LitData has a u32 size for each column of variable size, then the
 * bytes of all columns, in the same order; this also interprets these bytes. Threads: one builds;
 * then it is immutable. Ownership: sl_sized_columns_close.
 */
#ifndef SL_SIZED_COLUMNS_H
#define SL_SIZED_COLUMNS_H

#include "array_head.h"
#include "source_columns.h"

typedef enum sl_sized_kind {
    SL_SIZED_PLAIN,  /* the bytes are the value (sl_source_value) */
    SL_SIZED_NUMBER, /* one element: an int or a float */
    SL_SIZED_PIXELS, /* Pillow's image: u32 width, height, size of the mode; mode; pixels */
    SL_SIZED_ARRAY   /* an array with its header */
} sl_sized_kind;

typedef struct sl_sized_column {
    sl_sized_kind kind;
    uint32_t bytes;     /* size in each sample; 0: given in each sample */
    sluice_dtype dtype; /* of a number; of an array if its header lacks it */
    sl_array_head head; /* of an array */
    bool odd_head;      /* true if an array's header is longer than MDS's writers make it */
} sl_sized_column;

typedef struct sl_sized_columns {
    uint32_t count, capacity;
    sl_sized_column *of;
    sl_source_column *sources; /* field descriptions; NULL once the fields are found */
    sl_source_fields fields;
} sl_sized_columns;

/* Releases `columns`, which may be zero-initialised. */
void sl_sized_columns_close(sl_sized_columns *columns);

/*
 * Adds space for a column and its source, which the caller fills in. Errors: NOMEM, and UNSUPPORTED
 * above SL_SOURCE_COLUMNS_MAX.
 */
sluice_status sl_sized_columns_add(sl_sized_columns *columns, const char *path,
                                   sluice_error *error);
/*
 * Takes from a sample what only samples have about arrays: dimensions and dtype. Until then, such
 * columns are rejected.
 */
sl_refusal sl_sized_columns_look(sl_sized_columns *columns, sl_bytes sample);
/* Returns a checksum of the columns' names and types; valid before the fields are found. */
uint64_t sl_sized_columns_sum(const sl_sized_columns *columns);
/* Returns whether a column needs a look at a sample. */
bool sl_sized_columns_unknown(const sl_sized_columns *columns);
/* Finds the fields according to `options`. Errors: as sl_source_fields_find. */
sluice_status sl_sized_columns_find(sl_sized_columns *columns,
                                    const sluice_dataset_options *options, const char *path,
                                    sluice_error *error);

/* An extent in a sample. */
typedef struct sl_sized_extent {
    uint32_t begin, bytes;
} sl_sized_extent;

/*
 * Finds the elements of a tensor field in a sample of `sample_bytes`, using known sizes: those of
 * fixed-size columns, and the rest of the sample for a single variable one. UNKNOWN: only the
 * sample has it.
 */
sl_refusal sl_sized_columns_place(const sl_sized_columns *columns, uint32_t field,
                                  uint32_t sample_bytes, sl_sized_extent *extent);

/* Implements ops->unpack. */
sl_refusal sl_sized_columns_unpack(const sl_sized_columns *columns, sl_bytes sample,
                                   sl_values *values);

#endif
