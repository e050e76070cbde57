/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_look: surveys the contents of a folder in one listing.
 *
 * Purpose: finds which formats have files in the folder and what else is in it, to choose the
 * format, or to describe the contents in an error. Ignores hidden entries and folders like
 * __MACOSX. Threads: one owner. Memory: about 40 KiB, regardless of the folder's size.
 */
#ifndef SL_FOLDER_LOOK_H
#define SL_FOLDER_LOOK_H

#include "file_list.h"
#include "format_table.h"
#include "seen_names.h"

#include <stdbool.h>

/*
 * Number of texts to look into: if there are more, they are not lists but belong to single images.
 */
enum { SL_FOLDER_LISTS_MAX = 32 };

typedef struct sl_folder_look {
    /* files whose names fit the format (is_named, is_file); the last format: images */
    sl_seen_names of[SL_FORMATS];
    sl_seen_names files;       /* all files */
    sl_seen_names folders;     /* all folders that count */
    sl_seen_names annotations; /* folders whose name begins with "annotation" */
    uint64_t usual_folders;    /* folders named like a split, "images" and so on */
    uint64_t numbered_folders; /* folders whose name is a number */
    uint64_t numbered_files;   /* files named by a number that may have a note beside them */
    uint64_t numbered_notes;   /* files named by a number, like other tools' notes on folders */
    char lists[SL_FOLDER_LISTS_MAX][NAME_MAX + 1]; /* texts that may list images */
    bool only_tables; /* true if `lists` has tables only, because there were too many other texts */
    uint32_t list_count;    /* number of lists; one more than the maximum: too many */
    uint64_t class_numbers; /* files named *.cls, which samples stored in files have */
} sl_folder_look;

/* `look` is zeroed. Errors: IO. */
sluice_status sl_folder_look_at(sl_folder_look *look, const char *path, sluice_error *error);

/*
 * Adds the files of a folder that are of a format by their names and, for formats that need it, by
 * their contents. Looks into the first `most` files by name, and into all if one of those matches.
 * Errors: INVALID (a path is too long), IO, NOMEM.
 */
sluice_status sl_folder_list_files(sl_file_list *files, const char *folder, const sl_format *format,
                                   uint32_t most, sluice_error *error);

#endif
