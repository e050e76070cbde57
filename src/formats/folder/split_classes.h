/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_classes: numbers the classes of all splits of a dataset together.
 *
 * Purpose: a class without images in one split would otherwise silently shift the numbers of all
 * later classes in that split. Threads: one owner.
 */
#ifndef SL_SPLIT_CLASSES_H
#define SL_SPLIT_CLASSES_H

#include "file_list.h"
#include "folder_list.h"

/*
 * Adds to the classes of `list` those of all splits that share a class with it, or with another
 * such split. Numbers them all again, in order; those that no split has come last. With
 * `allow_empty`, a class folder counts even if it contains neither an image nor a folder. `added`:
 * classes that the list lacked. Errors: IO, INVALID (a path is too long), NOMEM.
 */
sluice_status sl_split_classes_add(sl_folder_list *list, const sl_file_list *splits,
                                   bool allow_empty, sl_seen_names *added, sluice_error *error);

#endif
