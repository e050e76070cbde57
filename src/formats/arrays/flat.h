/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat: files that consist only of adjacent tensors: numpy's tofile, CIFAR's batches, files of
 * tokens.
 *
 * Purpose: makes a dataset of one field from such files, or from a part of each. The files do not
 * describe themselves, so they are never probed: the caller describes the record (formats with
 * headers build on this: npy.c). A part must be a whole number of records. With one dimension, the
 * last record of a file may be shorter; the field's length then varies. Threads: as for any
 * dataset.
 */
#ifndef SL_FLAT_H
#define SL_FLAT_H

#include "dataset.h"
#include "zip_directory.h"

/* The part of a file that contains records. */
typedef struct sl_flat_part {
    const char *path;
    sl_file_identity file;
    uint64_t begin, bytes; /* extent in the file */
    /*
     * the stored member of a zip archive that contains the records and whose checksum covers them;
     * NULL: none
     */
    const sl_zip_member *member;
} sl_flat_part;

/* Name and description of the dataset. */
typedef struct sl_flat_kind {
    const char *format, *kind;
} sl_flat_kind;

/*
 * Opens parts of files, not all empty; copies its arguments. Errors: as sl_flat_open.
 */
sluice_status sl_flat_open_parts(sl_dataset **dataset, const sl_flat_part *parts, size_t count,
                                 const sl_field *field, const sl_flat_kind *kind,
                                 sluice_error *error);

/*
 * Opens whole files. `field` is a tensor with its shape; copied. Errors: INVALID (the shape; a file
 * that is not a whole number of records), IO, NOMEM.
 */
sluice_status sl_flat_open(sl_dataset **dataset, const char *const *paths, size_t count,
                           const sl_field *field, sluice_error *error);

#endif
