/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_find: determines the format of a folder, and the files to open it by.
 *
 * Purpose: implements the rules for folders (docs/formats.md). Formats that claim a folder come
 * first, then files that are all of one format, then COCO annotations beside their images; anything
 * else is a folder of images, or nothing. An ambiguous folder is rejected, and the error names the
 * conflicting files. Threads: one owner. Ownership: sl_found_close.
 */
#ifndef SL_FOLDER_FIND_H
#define SL_FOLDER_FIND_H

#include "folder_look.h"

typedef struct sl_found {
    const sl_format *format;
    sl_file_list files;   /* files to open; none: open the folder itself */
    const char *split;    /* split to open if there are several files; NULL: not given */
    sl_omissions passed;  /* other files of that split */
    sl_folder_look *look; /* contents of the folder; NULL: it was not listed */
} sl_found;

/*
 * `found` is zeroed. Errors: INVALID (two formats; several files, so that the caller must name
 * one), IO, NOMEM.
 */
sluice_status sl_folder_find(sl_found *found, const char *path, sluice_error *error);
/* Releases `found`, which may be zero-initialised. */
void sl_found_close(sl_found *found);

/* Rejects a folder without images: reports its contents and what can be opened in it. INVALID. */
sluice_status sl_folder_refuse(const sl_found *found, const char *path, sluice_error *error);
/*
 * Finds where to open a split of a folder that has no splits itself: its only sub-folder, if that
 * is a dataset or contains split folders. Writes that path. END: none qualifies. Errors: INVALID if
 * several sub-folders qualify; the text names them.
 */
sluice_status sl_folder_find_inner_split(const sl_found *found, const char *path,
                                         char inner[SL_PATH_BYTES], sluice_error *error);
/*
 * Checks a folder that was opened as images without classes. INVALID if files of another format are
 * beside the images.
 */
sluice_status sl_folder_check_plain(const sl_found *found, const char *path, sluice_error *error);

#endif
