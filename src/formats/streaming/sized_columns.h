/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized_columns: samples that are their columns' bytes, behind their sizes.
 *
 * Purpose: the samples of MDS and of LitData: a u32 size for each column whose size differs from
 * sample to sample, then the bytes of all columns, in the same order; and what those bytes are.
 * Threads: one builds; then it is immutable. Ownership: sl_sized_columns_close.
 */
#ifndef SL_SIZED_COLUMNS_H
#define SL_SIZED_COLUMNS_H

#include "array_head.h"
#include "source_columns.h"

typedef enum sl_sized_kind {
    SL_SIZED_PLAIN,  /* the bytes are the value (sl_source_value) */
    SL_SIZED_NUMBER, /* one element: an int or a float */
    SL_SIZED_PIXELS, /* Pillow's: u32 width, height, bytes of the mode; mode; pixels */
    SL_SIZED_ARRAY   /* an array behind its head */
} sl_sized_kind;

typedef struct sl_sized_column {
    sl_sized_kind kind;
    uint32_t bytes;     /* in each sample; 0: each sample says */
    sluice_dtype dtype; /* of a number; of an array, if its head does not say */
    sl_array_head head; /* of an array */
    bool odd_head;      /* of an array: it is longer than MDS's writers make it */
} sl_sized_column;

typedef struct sl_sized_columns {
    uint32_t count, capacity;
    sl_sized_column *of;
    sl_source_column *sources; /* what each is as a field; NULL when the fields are found */
    sl_source_fields fields;
} sl_sized_columns;

/* May be zero-initialised. */
void sl_sized_columns_close(sl_sized_columns *columns);

/* Space for another column, which is the caller's to fill in, and its source. Errors: NOMEM, and
 * UNSUPPORTED above SL_SOURCE_COLUMNS_MAX. */
sluice_status sl_sized_columns_add(sl_sized_columns *columns, const char *path,
                                   sluice_error *error);
/*
 * Takes from a sample what it alone tells of arrays: how many dimensions, and their dtype. Until
 * then such columns are refused.
 */
sl_refusal sl_sized_columns_look(sl_sized_columns *columns, sl_bytes sample);
/* A checksum of what the columns are called and what they are; before the fields are found. */
uint64_t sl_sized_columns_sum(const sl_sized_columns *columns);
/* Whether there is a column that a sample has to be looked at for. */
bool sl_sized_columns_unknown(const sl_sized_columns *columns);
/* The fields, as `options` have it. Errors: as sl_source_fields_find. */
sluice_status sl_sized_columns_find(sl_sized_columns *columns,
                                    const sluice_dataset_options *options, const char *path,
                                    sluice_error *error);

/* Where bytes are in a sample. */
typedef struct sl_sized_extent {
    uint32_t begin, bytes;
} sl_sized_extent;

/*
 * Where the elements of a tensor field are in a sample of `sample_bytes`, as far as sizes that are
 * known tell: of columns of a fixed size, and of one whose size is what the others leave. UNKNOWN:
 * each sample says it.
 */
sl_refusal sl_sized_columns_place(const sl_sized_columns *columns, uint32_t field,
                                  uint32_t sample_bytes, sl_sized_extent *extent);

/* As ops->unpack. */
sl_refusal sl_sized_columns_unpack(const sl_sized_columns *columns, sl_bytes sample,
                                   sl_values *values);

#endif
