/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_source: prevents a dataset from being written over itself.
 *
 * Purpose: called before anything is created or removed in a folder. Works for any paths and links.
 * Threads: pure except for the file system.
 */
#ifndef SL_OWN_SOURCE_H
#define SL_OWN_SOURCE_H

#include "dataset.h"

/*
 * Returns INVALID if the folder `path`, which need not exist, is the dataset's own, or inside it:
 * shards would be packed over themselves, and in an image folder it would become a class. `stage`:
 * of the error, and the operation on the dataset, "pack".
 */
sluice_status sl_refuse_own_source(const sl_dataset *dataset, const char *path, const char *stage,
                                   sluice_error *error);
/* Returns INVALID if a file of the dataset is below the folder `path`. */
sluice_status sl_refuse_source_within(const sl_dataset *dataset, const char *path,
                                      const char *stage, sluice_error *error);

#endif
