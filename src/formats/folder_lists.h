/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_lists: lists of labels beside the images of a folder.
 *
 * Purpose: images beside a list that says more of them are labelled data, and not one class
 * "images". A list that a reader takes is opened; one that none takes is refused, with what to
 * write. Class folders stay what they are, with a warning. Threads: the one that opens. Memory: the
 * beginnings of the lists; 8 bytes for each image that a list names.
 */
#ifndef SL_FOLDER_LISTS_H
#define SL_FOLDER_LISTS_H

#include "folder_look.h"

/*
 * Looks at the lists in `folder`, of which `*dataset` is what it was opened as: images alone. It is
 * replaced by the list's dataset, or has a warning more. INVALID: a list that cannot be read, or
 * several. Errors: those of opening a list, and NOMEM.
 */
sluice_status sl_folder_lists_apply(sl_dataset **dataset, const sl_folder_look *look,
                                    const char *folder, const sluice_dataset_options *options,
                                    sluice_error *error);

/* Of a folder with annotations: counts, and warns of, the lists in it that say something of the
 * images, too, but for `own`, which was read, and its like. Errors: NOMEM. */
sluice_status sl_folder_lists_beside(sl_dataset *dataset, const sl_folder_look *look,
                                     const char *folder, const char *own, sluice_error *error);

/* Adds to an error about the folder which lists in it can be opened instead. */
void sl_folder_lists_offer(const sl_folder_look *look, const char *folder, sluice_error *error);

/* Counts the images in and below `folder` that the dataset of a list in it does not have. `list` is
 * the list's name. Errors: IO, NOMEM. */
sluice_status sl_folder_lists_count_unlisted(sl_dataset *dataset, const char *folder,
                                             const char *list, sluice_error *error);

#endif
