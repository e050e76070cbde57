/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columnar: a dataset of a columnar table (Arrow, Parquet), each of whose rows is a sample.
 *
 * Purpose: the part of such datasets that does not depend on the file format. Columns of large
 * values are read with each sample, each by one byte range of the row's file; all others are in
 * memory (side_columns.h). What the format knows of its files is behind an sl_columnar_reader.
 * Which columns are large is columnar_fields.h's affair.
 * Walk of a sample: locate asks the reader for the row's byte range in each large column; several
 * of them are pieces, read one behind the other; unpack hands each range's bytes to the reader,
 * field by field, and adds the values in memory. locate_field asks for one value's range alone.
 * Threads: opening has one owner; then the dataset is immutable. Ownership: sl_dataset_close frees
 * it, and what it points to.
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
    uint64_t number;  /* among those of all files */
    uint64_t in_file; /* among those of its file */
    uint32_t file;
} sl_columnar_row;

/* What was read of a large column for a row. */
typedef struct sl_columnar_bytes {
    sl_extent extent; /* where: what the reader said */
    sl_bytes bytes;   /* where there is nothing to read, a few that mean nothing */
    sl_value_buffers *buffers;
} sl_columnar_bytes;

/* What a file format knows. All but close are const, thread-safe, and neither block nor allocate
 * (but in the values' buffers). */
typedef struct sl_columnar_reader {
    /* The bytes of the row's file that its values in a large column are in; none: nothing has to be
     * read. */
    sl_extent (*extent)(const sl_columnar *table, const sl_columnar_row *row, uint32_t large);
    /* A field of a large column: whether it is present, its bytes, and their offset among those
     * that were read. */
    sl_refusal (*value)(const sl_columnar *table, const sl_columnar_row *row, uint32_t field,
                        const sl_columnar_bytes *read, sl_value *value);
    /* The bytes of such a field's value, and nothing else; none where it is absent. False: they are
     * not in the file as they are meant, so that others have to be read. */
    bool (*value_extent)(const sl_columnar *table, const sl_columnar_row *row, uint32_t field,
                         sl_extent *extent);
    /* Frees what the format has besides; not the table itself. */
    void (*close)(sl_columnar *table);
    /* Read from the front of its file for a sample of which there is nothing to read. */
    uint32_t nothing_bytes;
} sl_columnar_reader;

/* A format's dataset begins with it. */
struct sl_columnar {
    sl_dataset base;
    const sl_columnar_reader *reader;
    const sl_file_list *files; /* the format's; with the first row of each */
    sl_columnar_fields plan;
    sl_side_columns *side; /* one set for all rows, or one of each file; freed with the table */
    uint32_t side_count;   /* of those sets */
    uint64_t *order;       /* row of each sample; NULL: they are the rows; freed with the table */
    sl_features features;  /* closed with the table */
    const char *const *class_names; /* the format's, plan.classes of them; NULL: of `features` */
};

/* The ops that sl_dataset_new needs. All that follows is filled in by the format's opening. */
extern const sl_dataset_ops sl_columnar_ops;

/* base.fields, tensors, pieces and the numbers of info that follow from the plan and the files. */
void sl_columnar_describe(sl_columnar *table);

#endif
