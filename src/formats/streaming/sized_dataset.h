/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized_dataset: a dataset of files with a table of offsets, whose samples are columns behind their
 * sizes.
 *
 * Purpose: all of MDS and LitData but what their index.json looks like, which says which files and
 * columns there are. With a compressed file it can only be read from front to back. Memory: 4 bytes
 * a sample. Threads: one opens it; then it is immutable.
 */
#ifndef SL_SIZED_DATASET_H
#define SL_SIZED_DATASET_H

#include "offset_files.h"
#include "sized_columns.h"

typedef struct sl_sized_dataset {
    sl_dataset base;
    sl_offset_files files;
    sl_sized_columns columns;
    struct sl_sized_hashes *hashes; /* of each file */
    uint32_t hash_count, hash_capacity;
} sl_sized_dataset;

/* Hashes of a file, such as digest.h can make, "sha1=DIGITS xxh64=DIGITS"; copied. NULL: none. */
typedef struct sl_sized_hashes {
    char *data;   /* of a compressed one: of what comes out */
    char *packed; /* of a compressed one, as it is */
} sl_sized_hashes;

/* What an index says of a file. */
typedef struct sl_sized_file {
    sl_told_file told;
    sl_sized_hashes hashes;
} sl_sized_file;

/* Empty, for a format to add its files and columns. NULL: NOMEM. Close it by sl_dataset_close. */
sl_sized_dataset *sl_sized_dataset_new(const char *format, sluice_error *error);
/* Errors: NOMEM, CORRUPT (more samples than a file can have). */
sluice_status sl_sized_dataset_add(sl_sized_dataset *own, const sl_sized_file *file,
                                   sluice_error *error);
/*
 * Unpacks files if that is asked for, reads the tables of all, looks at a few samples if it has to,
 * and finds the fields. `path` is named in errors. Errors: those of these.
 */
sluice_status sl_sized_dataset_finish(sl_sized_dataset *own, const sluice_dataset_options *options,
                                      const char *path, sluice_error *error);

#endif
