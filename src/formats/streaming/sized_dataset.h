/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized_dataset: a dataset of files with a table of offsets, whose samples are columns behind their
 * sizes.
 *
 * Purpose: all of MDS and LitData but what their index.json looks like, which says which files and
 * columns there are. Memory: 4 bytes a sample. Threads: one opens it; then it is immutable.
 */
#ifndef SL_SIZED_DATASET_H
#define SL_SIZED_DATASET_H

#include "offset_files.h"
#include "sized_columns.h"

typedef struct sl_sized_dataset {
    sl_dataset base;
    sl_offset_files files;
    sl_sized_columns columns;
    char **hashes; /* of each file, as sl_sized_file has them; owned, NULL: none */
    uint32_t hash_count, hash_room;
} sl_sized_dataset;

/* What an index says of a file. */
typedef struct sl_sized_file {
    const char *path;
    uint64_t bytes, samples;
    /* its hashes, such as digest.h can make, "sha1=DIGITS xxh64=DIGITS"; copied. NULL: none */
    const char *hashes;
} sl_sized_file;

/* Empty, for a format to add its files and columns. NULL: NOMEM. Close it by sl_dataset_close. */
sl_sized_dataset *sl_sized_dataset_new(const char *format, sluice_error *error);
/* Errors: NOMEM, CORRUPT (more samples than a file can have). */
sluice_status sl_sized_dataset_add(sl_sized_dataset *own, const sl_sized_file *file,
                                   sluice_error *error);
/*
 * Reads the tables of all files, looks at a few samples if it has to, and finds the fields. `path`
 * is named in errors. Errors: those of these.
 */
sluice_status sl_sized_dataset_finish(sl_sized_dataset *own, const sluice_dataset_options *options,
                                      const char *path, sluice_error *error);

#endif
