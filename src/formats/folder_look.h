/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_look: what is in a folder, by one listing of it.
 *
 * Purpose: which formats there are files of, and what else there is, to find out what the folder is
 * and to say it where it is nothing. What is hidden does not count, and neither do folders like
 * __MACOSX. Threads: one owner. Memory: its own (some 40 KiB), whatever the folder has.
 */
#ifndef SL_FOLDER_LOOK_H
#define SL_FOLDER_LOOK_H

#include "file_list.h"
#include "format_table.h"
#include "seen_names.h"

#include <stdbool.h>

/* Texts of a folder that are looked into: more of them are no lists, but belong to single images.
 */
enum { SL_FOLDER_LISTS_MAX = 32 };

typedef struct sl_folder_look {
    /* Files whose name is one of the format's (is_named, is_file); of the last one: pictures. */
    sl_seen_names of[SL_FORMATS];
    sl_seen_names files;       /* all of them */
    sl_seen_names folders;     /* all that count */
    sl_seen_names annotations; /* of them those whose name begins with "annotation" */
    uint64_t usual_folders;    /* of them those called as splits are, "images" and so on */
    uint64_t numbered_folders; /* of them those called by a number */
    uint64_t numbered_files;   /* files called by a number, that may have a note beside them */
    uint64_t numbered_notes;   /* files called by a number, as other tools' notes on folders are */
    char lists[SL_FOLDER_LISTS_MAX][NAME_MAX + 1]; /* texts that may list images */
    bool only_tables;                              /* of them: there were too many others */
    uint32_t list_count;    /* of them; one more than the most: there are too many */
    uint64_t class_numbers; /* files called *.cls, which samples have that are in files */
} sl_folder_look;

/* `look` is all zero. Errors: IO. */
sluice_status sl_folder_look_at(sl_folder_look *look, const char *path, sluice_error *error);

/*
 * Adds the files of a folder that are of a format by their names, and by what they hold where that
 * has to be asked: of the first `most`, in the order of names, and of all if one of these is.
 * Errors: INVALID (a path is too
 * long), IO, NOMEM.
 */
sluice_status sl_folder_list_files(sl_file_list *files, const char *folder, const sl_format *format,
                                   uint32_t most, sluice_error *error);

#endif
