/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples: an unpacked WebDataset: files with the same base name form a sample.
 *
 * Purpose: the files from which `tar --sort=name` would make an archive are a dataset of the same
 * samples in the same order. sl_samples_open decides which folders these are. Threads: as for any
 * dataset.
 */
#ifndef SL_SAMPLES_H
#define SL_SAMPLES_H

#include "dataset.h"
#include "folder_list.h"

/*
 * Opens the folder as samples if it qualifies. At least half of its images must have another file
 * of the same base name, and the folders that contain them, if any, must not be classes. They are
 * not classes if they are named by numbers (00017), or by a prefix and consecutive numbers
 * (part-00017, but not class-00017), if there is only one, or if half of the images have a class
 * number (.cls). `list`: the images found. Without images, recordings and class numbers take their
 * place. END: does not qualify; nothing was opened. Errors: those of sl_sample_list_open.
 */
sluice_status sl_samples_open(sl_dataset **dataset, const char *root, const sl_folder_list *list,
                              sluice_error *error);

#endif
