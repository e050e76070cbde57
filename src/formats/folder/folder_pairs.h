/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_pairs: class folders that are images and their label masks.
 *
 * Purpose: "train" beside "train_masks" looks like two classes, and training on them as classes
 * would go wrong silently. Two folders are a pair if the second has the first one's name and one of
 * four endings, every image of the first has a file of its base name in the second, and the first
 * such file holds class numbers: a gray or palette PNG, or a GIF. Owner: the opening thread. Reads
 * the header of one file, and only if the names match.
 */
#ifndef SL_FOLDER_PAIRS_H
#define SL_FOLDER_PAIRS_H

#include "folder_list.h"

/* Returns INVALID, and what to open instead, if two class folders are such a pair; else OK. */
sluice_status sl_folder_pairs_check(const sl_folder_list *list, const char *root,
                                    sluice_error *error);

#endif
