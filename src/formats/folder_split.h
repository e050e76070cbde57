/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_split: finds the sub-folder that the option `split` names.
 *
 * Purpose: a folder that contains train/, val/ and test/ holds several datasets, of any format, and
 * `split` selects one. Threads: one owner. Memory: none of its own.
 */
#ifndef SL_FOLDER_SPLIT_H
#define SL_FOLDER_SPLIT_H

#include "file_list.h"

/*
 * Writes the path of the sub-folder of `folder` that `wanted` names (splits.h). Descends one level
 * further if that folder contains only a folder of the same name (seg_train/seg_train). `splits`:
 * the paths of all split folders, found the same way. END: no sub-folder has the name of a split.
 * Errors: INVALID (none matches, or several do; the path is too long), IO, NOMEM.
 */
sluice_status sl_folder_split_find(const char *folder, const char *wanted, char path[SL_PATH_BYTES],
                                   sl_file_list *splits, sluice_error *error);

#endif
