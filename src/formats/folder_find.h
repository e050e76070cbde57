/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_find: which format a folder has, and the files that it is opened by.
 *
 * Purpose: the rule of what a folder is (docs/formats.md): what a format says of folders itself
 * comes first; then files that all are of one format; then COCO's annotations beside their
 * pictures; and what is left is a folder of pictures, or nothing. What could be two things is
 * refused, by the names of what is there.
 * Threads: one owner. Ownership: sl_found_close.
 */
#ifndef SL_FOLDER_FIND_H
#define SL_FOLDER_FIND_H

#include "folder_look.h"

typedef struct sl_found {
    const sl_format *format;
    sl_file_list files;   /* it is opened by; none: by the folder's own path */
    const char *split;    /* of several files, the one to open; NULL: nobody said */
    sl_omissions passed;  /* other files of that split */
    sl_folder_look *look; /* what is there; NULL: nobody had to look */
} sl_found;

/* Zeroed. Errors: INVALID (two formats, several files of which one has to be named), IO, NOMEM. */
sluice_status sl_folder_find(sl_found *found, const char *path, sluice_error *error);
/* May be zero-initialised. */
void sl_found_close(sl_found *found);

/* Once it turned out to have no pictures: what is there instead, and what can be opened in it.
 * INVALID. */
sluice_status sl_folder_refuse(const sl_found *found, const char *path, sluice_error *error);
/* Where a split is to be opened of a folder that has none itself: in its only folder, whose path is
 * written, if that is a dataset or has folders of splits. END: there is nothing of the kind.
 * Errors: INVALID, with the names, where there are several folders. */
sluice_status sl_folder_find_inner_split(const sl_found *found, const char *path,
                                         char inner[SL_PATH_BYTES], sluice_error *error);
/* Of what was opened as pictures without classes: INVALID where files of another format are beside
 * them. */
sluice_status sl_folder_check_plain(const sl_found *found, const char *path, sluice_error *error);

#endif
