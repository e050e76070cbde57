/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_labels: numbers text labels over all splits of a dataset.
 *
 * Purpose: each split has its own table or annotations with text labels. Opening all splits and
 * numbering their texts together gives a label the same number in every split. Threads: one owner.
 */
#ifndef SL_SPLIT_LABELS_H
#define SL_SPLIT_LABELS_H

#include "dataset.h"
#include "file_list.h"

/*
 * Numbers the labels of `dataset`, which was opened at `path`, one of `splits`. Skips a split that
 * cannot be opened and adds a warning that names it. Errors: IO, NOMEM.
 */
sluice_status sl_split_labels_number(sl_dataset *dataset, const char *path,
                                     const sl_file_list *splits,
                                     const sluice_dataset_options *options, sluice_error *error);

#endif
