/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_shape: checks that class folders are really classes.
 *
 * Purpose: torchvision takes any sub-folder as a class. One folder per split, or one around the
 * real classes, would silently be a meaningless dataset; so these are errors that name the folder
 * to open. Threads: pure.
 */
#ifndef SL_FOLDER_SHAPE_H
#define SL_FOLDER_SHAPE_H

#include "folder_list.h"

/*
 * Checks a list with class folders. INVALID if those with images are several and all named like
 * splits ("train", "seg_test", "fold1", "holdout" beside "train"); if two of them differ only in
 * the split's word, whatever is beside them; if all images are in one of them (the others being
 * empty, unless `allow_empty`) and there in several folders; or if at least as many images are
 * beside the class folders as in them. Otherwise OK, or NOMEM.
 */
sluice_status sl_folder_shape_check(const sl_folder_list *list, const char *root, bool allow_empty,
                                    sluice_error *error);
/*
 * Returns whether all class folders are named as for kohya's trainers, "10_sks dog": each image is
 * to be used 10 times per epoch.
 */
bool sl_folder_shape_has_repeats(const sl_folder_list *list);
/* Writes a sentence about the list: the source of labels, and the left-out images. */
void sl_folder_shape_describe(const sl_folder_list *list, char *text, size_t bytes);

#endif
