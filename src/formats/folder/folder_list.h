/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_list: the pictures of an image folder, as torchvision's ImageFolder finds them.
 *
 * Classes are the sub-directories of the root (symbolic links to directories too, and empty ones,
 * which folder.c refuses), in code-point order. Inside a class all directories
 * are walked, links followed; they are taken in the order of their path strings ("a-b" before
 * "a/b"), their files by name. A picture is a file with one of torchvision's extensions, compared
 * without case.
 * Apart from torchvision: hidden and system files and folders (hidden.h) are neither classes nor
 * pictures, and nothing below such folders is looked at; what is neither a file nor a link (a FIFO
 * ...) is not a picture; a directory that cannot be read is an error, not skipped; the root is not
 * entered again. A link that leads nowhere is a picture, which turns out bad when it is read.
 *
 * A directory that several links lead to counts as often, also within a class, as with torchvision.
 * Only where links of a class lead in a circle, so that there would be no end, each of its
 * directories counts once: what is in the class as such, under its own path, then what links lead
 * to, under the path with the fewest links, of these the first in order. Links without a circle can
 * multiply what they lead to beyond all measure, too: 65536 directories that are repeated in their
 * classes are the most, and 2^22 entries of directories that were listed before.
 *
 * Memory: all names are in one arena; a picture costs 16 bytes and its file name.
 * Threads: built by one, immutable afterwards.
 */
#ifndef SL_FOLDER_LIST_H
#define SL_FOLDER_LIST_H

#include "omissions.h"
#include "seen_names.h"

#include <sluice/common.h>

#include <stdbool.h>

/* Why an entry is not in the list. */
typedef enum sl_folder_left_out {
    SL_FOLDER_HIDDEN_FILES,
    SL_FOLDER_HIDDEN_FOLDERS,
    SL_FOLDER_OTHER_PICTURES, /* of an extension that torchvision does not take */
    SL_FOLDER_BESIDE,         /* pictures of the root, beside class folders */
    SL_FOLDER_OTHERS,         /* files that are not pictures */
    SL_FOLDER_TEXTS,          /* of them, those that are called as captions are */
    SL_FOLDER_REASONS
} sl_folder_left_out;

/* A directory that was walked. */
typedef struct sl_folder_dir {
    uint64_t path; /* arena offset; relative to the root, "" for the root itself */
    uint64_t device, inode;
    uint64_t first, count; /* its pictures in the list, as found */
    uint32_t parent;       /* the directory it was found in; UINT32_MAX: the root */
    uint32_t label;
    bool again; /* was walked before, in its class or another one */
} sl_folder_dir;

/* The file of a picture's caption: as the picture, with another extension. */
typedef enum sl_caption {
    SL_CAPTION_NONE,
    SL_CAPTION_TXT,    /* .txt */
    SL_CAPTION_CAPTION /* .caption */
} sl_caption;

typedef struct sl_folder_file {
    uint64_t name; /* arena offset */
    uint32_t dir;
    uint8_t caption; /* an sl_caption */
} sl_folder_file;

typedef struct sl_folder_list {
    char *arena;
    uint64_t arena_used, arena_capacity;
    sl_folder_dir *dirs;
    sl_folder_file *files;
    uint64_t *classes; /* arena offsets of the class names */
    uint32_t dir_count, dir_capacity, class_count, class_capacity;
    uint64_t file_count, file_capacity;
    uint64_t root_device, root_inode;
    bool flat;            /* there are no class folders with pictures: those of the root itself, as
                             one class "." */
    sl_seen_names beside; /* pictures of the root, beside class folders, which are not listed */
    uint64_t captions;    /* pictures that have one */
    uint64_t others;      /* files with an extension that are no pictures, met on the way */
    uint64_t left_out[SL_FOLDER_REASONS];
    uint64_t example[SL_FOLDER_REASONS]; /* arena offset of the first one's path */
} sl_folder_list;

/* Whether a file of that name is a picture. */
bool sl_folder_is_picture(const char *name);

/* Lists the classes and pictures below `root`. END: there is no picture; what else was met is
 * counted. Errors: IO, INVALID (links
 * multiply what they lead to), NOMEM. */
sluice_status sl_folder_list_open(sl_folder_list *list, const char *root, sluice_error *error);
void sl_folder_list_close(sl_folder_list *list);

static inline const char *sl_folder_text(const sl_folder_list *list, uint64_t offset)
{
    return list->arena + offset;
}

/* Copies `length` bytes and a NUL to the arena, which may move. False: there is no memory. */
bool sl_folder_list_add_text(sl_folder_list *list, const char *text, size_t length,
                             uint64_t *offset);
/* Adds what was left out, by reason; `captions`: those of pictures were not. */
void sl_folder_list_omit(const sl_folder_list *list, bool captions, sl_omissions *omissions);
/* ".txt", ".caption"; "": none. */
const char *sl_caption_extension(uint8_t caption);

/* Path of a picture below the root: INVALID when it does not fit. */
sluice_status sl_folder_key(const sl_folder_list *list, uint64_t index, char *key, size_t bytes);

#endif
