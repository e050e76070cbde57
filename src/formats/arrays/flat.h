/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat: files that are nothing but tensors, back to back: numpy's tofile, CIFAR's batches, files of
 * tokens.
 *
 * Purpose: a dataset of one field over them, or over a part of each. Nothing in such a file says
 * what it is, so it is never probed for: the caller says what a record is (formats whose
 * headers do say it stand on this: npy.c). A part must be a whole number of records; of one
 * dimension the last record of a file may be shorter, and then the field's length varies. Threads:
 * as any dataset.
 */
#ifndef SL_FLAT_H
#define SL_FLAT_H

#include "dataset.h"
#include "zip_directory.h"

/* What of a file holds records. */
typedef struct sl_flat_part {
    const char *path;
    sl_file_identity file;
    uint64_t begin, bytes; /* in it */
    /* the stored member of a zip archive that they are in, whose checksum covers them; NULL:
     * nothing does */
    const sl_zip_member *member;
} sl_flat_part;

/* What the dataset is called, and described as. */
typedef struct sl_flat_kind {
    const char *format, *kind;
} sl_flat_kind;

/* Over parts of files, of which at least one is not empty; all copied. Errors: as sl_flat_open. */
sluice_status sl_flat_open_parts(sl_dataset **dataset, const sl_flat_part *parts, size_t count,
                                 const sl_field *field, const sl_flat_kind *kind,
                                 sluice_error *error);

/* `field` is a tensor whose shape is given; copied. Errors: INVALID (the shape, a file that is no
 * whole number of records), IO, NOMEM. */
sluice_status sl_flat_open(sl_dataset **dataset, const char *const *paths, size_t count,
                           const sl_field *field, sluice_error *error);

#endif
