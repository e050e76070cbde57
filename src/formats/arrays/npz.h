/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz: numpy's .npz files (savez, savez_compressed) as datasets.
 *
 * Purpose: reads them in one of two ways, as npz.c decides. As samples (npz_samples.c): each file
 * is a sample and each array a field. The sample's bytes are the whole file, which is unpacked by
 * its own directory; no index is needed, and a modified file is detected. As rows (npz_rows.c): in
 * a single file whose arrays have equal length, each row is a sample. The array with the largest
 * rows is read in place; the others are kept in memory. Threads: as for any dataset. Memory: paths
 * for samples; the smaller arrays for rows.
 */
#ifndef SL_NPZ_H
#define SL_NPZ_H

#include "dataset.h"
#include "file_set.h"
#include "npz_file.h"

/*
 * Opens files as samples. Takes over `set`, which is listed, and leaves it empty. `kind`:
 * description of the dataset.
 */
sluice_status sl_npz_open_samples(sl_dataset **dataset, sl_file_set *set, const char *kind,
                                  const sluice_dataset_options *options, sluice_error *error);

/*
 * Returns the arrays of a file as columns, by rows or whole; the caller frees them (sl_free). NULL:
 * no memory.
 */
sl_source_column *sl_npz_columns(const sl_npz_file *file, bool of_rows);
/* Returns whether all arrays of the fields have the same length, above 1. */
bool sl_npz_has_rows(const sl_npz_file *file, const sl_source_fields *fields);
/* Opens the rows of a file with equal array lengths. `fields` are those of the columns by rows. */
sluice_status sl_npz_open_rows(sl_dataset **dataset, const char *path, const sl_npz_file *file,
                               const sl_source_fields *fields, sluice_error *error);

#endif
