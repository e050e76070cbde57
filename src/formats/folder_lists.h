/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_lists: finds lists of labels beside the images of a folder.
 *
 * Purpose: images with a list that describes them are labelled data, not a single class "images". A
 * readable list is opened; an unreadable one is an error that explains how to rewrite it. Class
 * folders take precedence: the list only causes a warning. Threads: the one that opens. Memory: the
 * beginnings of the lists; 8 bytes for each image that a list names.
 */
#ifndef SL_FOLDER_LISTS_H
#define SL_FOLDER_LISTS_H

#include "folder_look.h"

/*
 * Looks at the lists in `folder`, which was opened as `*dataset`: images alone. Replaces the
 * dataset by that of a list, or adds a warning. Errors: INVALID (an unreadable list, or several
 * lists), those of opening a list, NOMEM.
 */
sluice_status sl_folder_lists_apply(sl_dataset **dataset, const sl_folder_look *look,
                                    const char *folder, const sluice_dataset_options *options,
                                    sluice_error *error);

/*
 * Counts other lists that describe the images of a folder with annotations, and warns of them.
 * Skips `own`, which was read, and lists of its kind. Errors: NOMEM.
 */
sluice_status sl_folder_lists_beside(sl_dataset *dataset, const sl_folder_look *look,
                                     const char *folder, const char *own, sluice_error *error);

/* Adds to an error about the folder which of its lists can be opened instead. */
void sl_folder_lists_offer(const sl_folder_look *look, const char *folder, sluice_error *error);

/*
 * Counts the images in and below `folder` that `dataset`, opened from the list named `list`, lacks.
 * Errors: IO, NOMEM.
 */
sluice_status sl_folder_lists_count_unlisted(sl_dataset *dataset, const char *folder,
                                             const char *list, sluice_error *error);

#endif
