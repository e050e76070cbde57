/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columnar: a dataset whose samples are the rows of a columnar table (Arrow, Parquet).
 *
 * Purpose: the part of such datasets that does not depend on the file format. A column of large
 * values is read with each sample, as one byte range of the row's file; all others are in memory
 * (side_columns.h). columnar_fields.h decides which columns are large. An sl_columnar_reader
 * represents the file format. Walk of a sample: locate asks the reader for the row's byte range in
 * each large column. Several ranges are pieces, read one after another. unpack passes each range's
 * bytes to the reader, field by field, and adds the values in memory. locate_field asks for the
 * range of a single value. Threads: opening has one owner; then the dataset is immutable.
 * Ownership: sl_dataset_close frees it and what it points to.
 */
#ifndef SL_COLUMNAR_H
#define SL_COLUMNAR_H

#include "columnar_fields.h"
#include "dataset.h"
#include "file_list.h"
#include "side_columns.h"

typedef struct sl_columnar sl_columnar;

/* A sample's row. */
typedef struct sl_columnar_row {
    uint64_t number;  /* number over all files */
    uint64_t in_file; /* number in its file */
    uint32_t file;
} sl_columnar_row;

/* The bytes read of a large column for a row. */
typedef struct sl_columnar_bytes {
    sl_extent extent; /* their extent, as the reader returned it */
    sl_bytes bytes;   /* if there is nothing to read, a few meaningless bytes */
    sl_value_buffers *buffers;
} sl_columnar_bytes;

/*
 * Functions of a file format. All except close are const, thread-safe, and neither block nor
 * allocate (except in the values' buffers).
 */
typedef struct sl_columnar_reader {
    /*
     * Returns the extent in the row's file of its values in a large column; empty: nothing to read.
     */
    sl_extent (*extent)(const sl_columnar *table, const sl_columnar_row *row, uint32_t large);
    /*
     * Finds a field of a large column: whether it is present, its bytes, and their offset in the
     * bytes read.
     */
    sl_refusal (*value)(const sl_columnar *table, const sl_columnar_row *row, uint32_t field,
                        const sl_columnar_bytes *read, sl_value *value);
    /*
     * Returns the extent of such a field's value alone; empty if it is absent. False: the file does
     * not contain it in place, so that other bytes have to be read.
     */
    bool (*value_extent)(const sl_columnar *table, const sl_columnar_row *row, uint32_t field,
                         sl_extent *extent);
    /* Frees the format's own data, but not the table. */
    void (*close)(sl_columnar *table);
    /* bytes to read from the front of the file for a sample with nothing to read */
    uint32_t nothing_bytes;
} sl_columnar_reader;

/* The beginning of a format's dataset. */
struct sl_columnar {
    sl_dataset base;
    const sl_columnar_reader *reader;
    const sl_file_list *files; /* the format's; with the number of the first row of each */
    sl_columnar_fields plan;
    sl_side_columns *side; /* one set for all rows, or one per file; freed with the table */
    uint32_t side_count;   /* number of these sets */
    uint64_t *order;       /* row of each sample; NULL: they are equal; freed with the table */
    sl_features features;  /* closed with the table */
    const char *const
        *class_names; /* plan.classes names, the format's; NULL: those of `features` */
};

/* The ops for sl_dataset_new. The members below are set by the format's opening. */
extern const sl_dataset_ops sl_columnar_ops;

/*
 * Sets base.fields, tensors, pieces and the numbers of info that follow from the plan and the
 * files.
 */
void sl_columnar_describe(sl_columnar *table);

#endif
