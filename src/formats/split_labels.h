/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_labels: numbers the text labels of a split over all splits of the dataset.
 *
 * Purpose: each split has a table or annotations of its own, whose labels are texts. They are
 * numbered over the texts of all splits, which are opened for that, so that a label means the same
 * in each. Threads: one owner.
 */
#ifndef SL_SPLIT_LABELS_H
#define SL_SPLIT_LABELS_H

#include "dataset.h"
#include "file_list.h"

/* `dataset` was opened at `path`, one of `splits`. A split that cannot be opened is not counted,
 * and a warning names it. Errors: IO, NOMEM. */
sluice_status sl_split_labels_number(sl_dataset *dataset, const char *path,
                                     const sl_file_list *splits,
                                     const sluice_dataset_options *options, sluice_error *error);

#endif
