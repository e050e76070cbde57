/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_scan: decides whether a text of any form names the images beside it.
 *
 * Purpose: label lists come as JSON, XML, or lines of all kinds. Lists that no reader accepts are
 * recognised by content: they contain names of existing images together with other words. Threads:
 * pure, except for reading the files. Memory: the beginning of the file.
 */
#ifndef SL_LIST_SCAN_H
#define SL_LIST_SCAN_H

#include "dataset.h"

enum { SL_LIST_FOLDERS_MAX = 40 };

/* The locations and number of the images. */
typedef struct sl_list_images {
    const char *root;
    const char *folders[SL_LIST_FOLDERS_MAX]; /* sub-folders that contain some of the images; "":
                                                 the folder itself */
    uint32_t folder_count;
    uint64_t count;
    const char *extension; /* extension of one of them, with its dot */
} sl_list_images;

/*
 * Returns whether a file may be a list rather than a program or document: a text, or labels by its
 * name.
 */
bool sl_list_is_named(const char *name);
/* Returns whether a file is named like a list of classes. */
bool sl_list_names_classes(const char *name);
/* Returns whether a file is named like labels or their splits. */
bool sl_list_says_labels(const char *name);
/* Returns the zero-terminated beginning of a text, which the caller frees; NULL: no memory. */
char *sl_list_text(const char *path, size_t *bytes, bool *is_cut);
/* Returns whether the name is a table's, which never belongs to a single image. */
bool sl_list_is_table(const char *name);
/*
 * Returns UNREADABLE if the file describes the images, NAMES if it only names them, or LINES,
 * CLOSED, NONE.
 */
sl_mentions sl_list_scan(const char *path, const sl_list_images *images);

#endif
