/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz: numpy's .npz files (savez, savez_compressed) as datasets.
 *
 * Purpose: two ways to read them. As samples (npz_samples.c): each file is one, each array a field;
 * its bytes are the whole file, which is taken apart by its own directory, so that there is no
 * index, and a file that was changed shows itself. As rows (npz_rows.c): of one file whose arrays
 * are equally long, each row is a sample: that of the array with the largest rows is read where it
 * is, the others are kept in memory. npz.c decides. Threads: as any dataset.
 * Memory: of samples their paths; of rows the smaller arrays.
 */
#ifndef SL_NPZ_H
#define SL_NPZ_H

#include "dataset.h"
#include "file_set.h"
#include "npz_file.h"

/* A dataset of files, each a sample. `set` was listed; it is taken over, and is empty then. `kind`:
 * what they are, as a sentence. */
sluice_status sl_npz_open_samples(sl_dataset **dataset, sl_file_set *set, const char *kind,
                                  const sluice_dataset_options *options, sluice_error *error);

/* The arrays of a file as columns, by their rows or whole; the caller frees them (sl_free). NULL:
 * no memory. */
sl_source_column *sl_npz_columns(const sl_npz_file *file, bool of_rows);
/* Whether the arrays that the fields are of all have the same length, above 1. */
bool sl_npz_has_rows(const sl_npz_file *file, const sl_source_fields *fields);
/* A dataset of the rows of a file of which that is so. `fields` are of the columns by their rows.
 */
sluice_status sl_npz_open_rows(sl_dataset **dataset, const char *path, const sl_npz_file *file,
                               const sl_source_fields *fields, sluice_error *error);

#endif
