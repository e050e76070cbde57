/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_source: a dataset is never written over itself.
 *
 * Purpose: asked before anything is made, or removed, in a folder. Paths and links do not matter.
 * Threads: pure but for the file system.
 */
#ifndef SL_OWN_SOURCE_H
#define SL_OWN_SOURCE_H

#include "dataset.h"

/*
 * INVALID: the folder `path`, which need not be there, is the dataset's own, or in it: shards would
 * be packed over themselves, and of an image folder it would become a class. `stage`: of the error,
 * and what is to happen to the dataset, "pack".
 */
sluice_status sl_refuse_own_source(const sl_dataset *dataset, const char *path, const char *stage,
                                   sluice_error *error);
/* INVALID: a file of the dataset is below the folder `path`. */
sluice_status sl_refuse_source_within(const sl_dataset *dataset, const char *path,
                                      const char *stage, sluice_error *error);

#endif
