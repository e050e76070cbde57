/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_folders: what is in the folders of pictures and labels besides what is read.
 *
 * Purpose: label files that belong to no picture are counted, and a folder of one split is found in
 * that of all pictures. Threads: one owner.
 */
#ifndef SL_YOLO_FOLDERS_H
#define SL_YOLO_FOLDERS_H

#include "name_tree.h"
#include "yolo_files.h"

/* Whether the labels of pictures in a folder are beside them, or in folders there: it is the folder
 * of labels, too. */
bool sl_yolo_are_beside(const char *folder);
/* Counts label files of the folder beside `folder`, one of pictures, that belong to no image of any
 * kind; a classes.txt is noted. Errors: IO, NOMEM. */
sluice_status sl_yolo_count_labels(sl_yolo_files *files, const char *folder, bool deep,
                                   const sl_name_tree *pictures, sluice_error *error);
/* The folder of the split files->split in files->pictures, of which `tree` has the names. INVALID:
 * there is none. */
sluice_status sl_yolo_find_inner_split(const sl_yolo_files *files, const sl_name_tree *tree,
                                       char path[SL_PATH_BYTES], sluice_error *error);

#endif
