/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_scan: whether a text of any form names the images that are beside it.
 *
 * Purpose: lists of labels come as JSON, XML, or lines of all kinds. Those that no reader takes are
 * recognised by their content: words in them are names of images that exist, and something else is
 * said of these. Threads: pure, apart from the files. Memory: the beginning of the file.
 */
#ifndef SL_LIST_SCAN_H
#define SL_LIST_SCAN_H

#include "dataset.h"

enum { SL_LIST_FOLDERS_MAX = 40 };

/* Where images are, and how many. */
typedef struct sl_list_images {
    const char *root;
    const char *folders[SL_LIST_FOLDERS_MAX]; /* below it that some are in; "": itself */
    uint32_t folder_count;
    uint64_t count;
    const char *extension; /* of one of them, with its dot */
} sl_list_images;

/* Whether a file of that name may be a list, and not a program or a document: a text, or labels by
 * its name. */
bool sl_list_is_named(const char *name);
/* Whether a file is called as those are that name classes. */
bool sl_list_names_classes(const char *name);
/* Whether a file is called as labels or their splits are. */
bool sl_list_says_labels(const char *name);
/* The beginning of a text, with a zero behind it, which the caller frees; NULL: no memory. */
char *sl_list_text(const char *path, size_t *bytes, bool *is_cut);
/* Whether it is a table by its name, as no text of a single image is. */
bool sl_list_is_table(const char *name);
/* UNREADABLE: it says something of the images; NAMES: it names them only; LINES, CLOSED; NONE. */
sl_mentions sl_list_scan(const char *path, const sl_list_images *images);

#endif
