/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples: an unpacked WebDataset: files of one name are a sample.
 *
 * Purpose: what `tar --sort=name` would make an archive of is a dataset of the same samples, in
 * that order, without one. Which folders are that is the rule of sl_samples_open. Threads: as every
 * dataset's.
 */
#ifndef SL_SAMPLES_H
#define SL_SAMPLES_H

#include "dataset.h"
#include "folder_list.h"

/*
 * Opens the folder as samples, if it is: at least half of its pictures have another file of their
 * name beside them, and what folders they are in, if any, are not classes: they are called by
 * numbers (00017), or alike and numbered one after the other (part-00017, but not class-00017),
 * there is just one, or half of the pictures have a class number (.cls). `list`: what
 * was found of pictures. Where there are none, recordings and class numbers take their place.
 * END: it is none, and nothing was opened. Errors: as those of sl_sample_list_open.
 */
sluice_status sl_samples_open(sl_dataset **dataset, const char *root, const sl_folder_list *list,
                              sluice_error *error);

#endif
