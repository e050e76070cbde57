/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed_classes: numbers the classes of a dataset's splits together.
 *
 * Purpose: tables and annotations with text labels number those that occur. In a dataset opened as
 * one of several splits, a label must mean the same in each split. Threads: one owner, before the
 * dataset is shared.
 */
#ifndef SL_LISTED_CLASSES_H
#define SL_LISTED_CLASSES_H

#include "dataset.h"

/* Implements sl_format.number_over. */
sluice_status sl_listed_number_over(sl_dataset *dataset, sl_dataset *const *others, uint32_t count,
                                    sluice_error *error);

#endif
