/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_split: the sub-folder that the option `split` asks for.
 *
 * Purpose: a folder with train/, val/ and test/ in it is several datasets, of any format, and
 * `split` names one. Threads: one owner. Memory: none of its own.
 */
#ifndef SL_FOLDER_SPLIT_H
#define SL_FOLDER_SPLIT_H

#include "file_list.h"

/*
 * Writes the path of the sub-folder of `folder` that `wanted` names (splits.h), and of the folder
 * within it where it holds nothing but one of its own name (seg_train/seg_train). END: no
 * sub-folder has the name of a split. `splits`: the paths, likewise, of all that have. Errors:
 * INVALID (none is meant, or several; the path is too long), IO, NOMEM.
 */
sluice_status sl_folder_split_find(const char *folder, const char *wanted, char path[SL_PATH_BYTES],
                                   sl_file_list *splits, sluice_error *error);

#endif
