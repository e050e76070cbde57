/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_folders: examines the folders of images and labels for other files.
 *
 * Purpose: counts label files that belong to no image, and finds the folder of one split within
 * that of all images. Threads: one owner.
 */
#ifndef SL_YOLO_FOLDERS_H
#define SL_YOLO_FOLDERS_H

#include "name_tree.h"
#include "yolo_files.h"

/*
 * Returns whether the labels are beside the images or in folders below: the folder is then also the
 * folder of labels.
 */
bool sl_yolo_are_beside(const char *folder);
/*
 * Counts label files without any image, in the label folder of the image folder `folder`; notes a
 * classes.txt. Errors: IO, NOMEM.
 */
sluice_status sl_yolo_count_labels(sl_yolo_files *files, const char *folder, bool deep,
                                   const sl_name_tree *pictures, sluice_error *error);
/*
 * Finds the folder of the split files->split in files->pictures; `tree`: its names. INVALID: not
 * found.
 */
sluice_status sl_yolo_find_inner_split(const sl_yolo_files *files, const sl_name_tree *tree,
                                       char path[SL_PATH_BYTES], sluice_error *error);

#endif
