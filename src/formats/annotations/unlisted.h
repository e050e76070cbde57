/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unlisted: files beside those that annotations list.
 *
 * Purpose: a picture in the folder of the pictures that no annotation names is not part of the
 * dataset, which is counted as left out. Folders are listed once each, whatever
 * paths they have; nothing is opened. formats/folder_unlisted.c differs: a list in a folder of
 * images is about the whole tree below it, while annotations may list few of the folders that
 * exist, and by links or absolute paths, so only folders with an image that is listed are searched.
 * Memory: 48 bytes a picture while it works. Threads: pure.
 */
#ifndef SL_UNLISTED_H
#define SL_UNLISTED_H

#include "listed.h"

/* Once all paths are put. A folder that cannot be listed has nothing. Errors: NOMEM. */
sluice_status sl_unlisted_count(sl_listed *own, sluice_error *error);

#endif
