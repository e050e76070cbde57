/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed_classes: one numbering of classes for the splits of a dataset.
 *
 * Purpose: tables and annotations whose labels are texts number the ones that occur. Opened as one
 * of several splits, a label is to mean the same in each of them. Threads: one owner, before the
 * dataset is anyone else's.
 */
#ifndef SL_LISTED_CLASSES_H
#define SL_LISTED_CLASSES_H

#include "dataset.h"

/* As sl_format.number_over has it. */
sluice_status sl_listed_number_over(sl_dataset *dataset, sl_dataset *const *others, uint32_t count,
                                    sluice_error *error);

#endif
