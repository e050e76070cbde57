/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unlisted: counts images beside those that annotations list.
 *
 * Purpose: an image that no annotation names is not part of the dataset, and is counted as left
 * out. Lists each folder once, regardless of how many paths lead to it; opens no file.
 * formats/folder_unlisted.c differs: a list in a folder of images describes the whole tree below
 * it. Annotations may list few of the existing folders, and by links or absolute paths, so only
 * folders with a listed image are searched. Memory: 48 bytes per image during the search. Threads:
 * pure.
 */
#ifndef SL_UNLISTED_H
#define SL_UNLISTED_H

#include "listed.h"

/* Counts, once all paths are known. Skips folders that cannot be listed. Errors: NOMEM. */
sluice_status sl_unlisted_count(sl_listed *own, sluice_error *error);

#endif
