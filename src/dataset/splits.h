/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splits: files of training and of testing are not to be one dataset by mistake.
 *
 * Purpose: a folder often has the files of all splits of a dataset, called train-00000-of-00010,
 * test-00000-of-00001, ..., and nobody means to train on all of them. Threads: pure.
 */
#ifndef SL_SPLITS_H
#define SL_SPLITS_H

#include "file_list.h"

/* INVALID, by name, where the names of the files begin with several splits'. `suffix` is that of
 * the files, for the error. */
sluice_status sl_splits_check(const sl_listed_file *files, uint32_t count, const char *suffix,
                              sluice_error *error);

#endif
