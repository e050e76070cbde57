/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_shape: whether class folders are what they seem to be.
 *
 * Purpose: torchvision takes any sub-folder for a class. One for each split, or one around the real
 * ones, would be a dataset without meaning, and nobody would be told; so these are refused, with
 * the folder to open instead. Threads: pure.
 */
#ifndef SL_FOLDER_SHAPE_H
#define SL_FOLDER_SHAPE_H

#include "folder_list.h"

/*
 * Of a list with class folders. INVALID: those with pictures are several and all called as splits
 * are ("train", "seg_test", "fold1", "holdout" beside "train"), or two of them differ in the
 * split's word alone, whatever is beside them; all pictures are in one of them (the others being
 * empty, unless `allow_empty`) and below that in several; or as many pictures are beside the class
 * folders as in them. Else OK, or NOMEM.
 */
sluice_status sl_folder_shape_check(const sl_folder_list *list, const char *root, bool allow_empty,
                                    sluice_error *error);
/* Whether all class folders are called as kohya's trainers have them, "10_sks dog": each picture is
 * to be taken 10 times in an epoch. */
bool sl_folder_shape_has_repeats(const sl_folder_list *list);
/* A sentence about the list: what labels are, and what was left out. */
void sl_folder_shape_describe(const sl_folder_list *list, char *text, size_t bytes);

#endif
