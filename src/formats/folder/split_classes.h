/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_classes: one numbering of the classes of all splits of a dataset.
 *
 * Purpose: a class of which one split has no pictures would give all that follow it other numbers
 * there than in the other splits, and nobody would be told. Threads: one owner.
 */
#ifndef SL_SPLIT_CLASSES_H
#define SL_SPLIT_CLASSES_H

#include "file_list.h"
#include "folder_list.h"

/*
 * Adds to the classes of `list` those of the splits that have a class in common with it, or with
 * another one that has, and numbers all of them again, in order; those that no split has come last.
 * A class folder without a picture or a folder in it counts with `allow_empty`. `added`: the
 * classes that the list did not have. Errors: IO, INVALID (a path is too long), NOMEM.
 */
sluice_status sl_split_classes_add(sl_folder_list *list, const sl_file_list *splits,
                                   bool allow_empty, sl_seen_names *added, sluice_error *error);

#endif
