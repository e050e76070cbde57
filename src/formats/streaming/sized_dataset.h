/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized_dataset: a dataset of files with offset tables, whose samples are columns with sizes.
 *
 * Purpose: the common part of MDS and LitData, apart from index.json, which lists the files and
 * columns. If a file is compressed, the dataset can only be read front to back. Memory: 4 bytes per
 * sample. Threads: one opens it; then it is immutable.
 */
#ifndef SL_SIZED_DATASET_H
#define SL_SIZED_DATASET_H

#include "offset_files.h"
#include "sized_columns.h"

typedef struct sl_sized_dataset {
    sl_dataset base;
    sl_offset_files files;
    sl_sized_columns columns;
    struct sl_sized_hashes *hashes; /* one per file */
    uint32_t hash_count, hash_capacity;
} sl_sized_dataset;

/* Hashes of a file that digest.h can compute, "sha1=DIGITS xxh64=DIGITS"; copied. NULL: none. */
typedef struct sl_sized_hashes {
    char *data;   /* for a compressed file: of the unpacked data */
    char *packed; /* for a compressed file: of the stored data */
} sl_sized_hashes;

/* Description of a file in an index. */
typedef struct sl_sized_file {
    sl_told_file told;
    sl_sized_hashes hashes;
} sl_sized_file;

/*
 * Returns an empty dataset, to which a format adds its files and columns; close it with
 * sl_dataset_close. NULL: NOMEM.
 */
sl_sized_dataset *sl_sized_dataset_new(const char *format, sluice_error *error);
/* Adds a file. Errors: NOMEM, CORRUPT (more samples than a file can have). */
sluice_status sl_sized_dataset_add(sl_sized_dataset *own, const sl_sized_file *file,
                                   sluice_error *error);
/*
 * Unpacks files if requested, reads all tables, looks at a few samples if necessary, and finds the
 * fields. Errors name `path` and are those of these steps.
 */
sluice_status sl_sized_dataset_finish(sl_sized_dataset *own, const sluice_dataset_options *options,
                                      const char *path, sluice_error *error);

#endif
