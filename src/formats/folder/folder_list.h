/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_list: the images of an image folder, as torchvision's ImageFolder finds them.
 *
 * Classes are the sub-directories of the root in code-point order, including symbolic links to
 * directories and empty ones (which folder.c rejects). Within a class, all directories are walked,
 * following links. They are ordered by their path strings ("a-b" before "a/b"), their files by
 * name. An image is a file with one of torchvision's extensions, compared without case. Differences
 * from torchvision: hidden and system files and folders (hidden.h) are neither classes nor images,
 * and nothing below such folders is examined; an entry that is neither a file nor a link (such as a
 * FIFO) is not an image; an unreadable directory is an error, not skipped; the root is not entered
 * again. A dangling link counts as an image, and is a bad sample when it is read.
 *
 * A directory that several links lead to counts once per path, also within a class, as in
 * torchvision. If links of a class form a cycle, each of its directories counts once: first those
 * of the class itself, by their own paths, then those behind links, by the path with the fewest
 * links, ties by order. Links without a cycle can also multiply directories without bound, so at
 * most 65536 directories may repeat within their classes, and at most 2^22 entries of directories
 * that were listed before.
 *
 * Memory: all names are in one arena; an image takes 16 bytes and its file name. Threads: built by
 * one, immutable afterwards.
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
    SL_FOLDER_OTHER_PICTURES, /* images with an extension that torchvision does not use */
    SL_FOLDER_BESIDE,         /* images of the root, beside class folders */
    SL_FOLDER_OTHERS,         /* files that are not images */
    SL_FOLDER_TEXTS,          /* files named like captions */
    SL_FOLDER_REASONS
} sl_folder_left_out;

/* A directory that was walked. */
typedef struct sl_folder_dir {
    uint64_t path; /* arena offset; relative to the root, "" for the root */
    uint64_t device, inode;
    uint64_t first, count; /* its images in the list, in the order found */
    uint32_t parent;       /* directory that contains it; UINT32_MAX: the root */
    uint32_t label;
    bool again; /* true if it was walked before, in its class or another one */
} sl_folder_dir;

/* Kind of an image's caption file: the image's name with another extension. */
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
    bool flat; /* true if no class folder has images: the images of the root form one class "." */
    sl_seen_names beside; /* images of the root beside class folders, which are not listed */
    uint64_t captions;    /* number of images with a caption */
    uint64_t others;      /* number of files seen that have an extension but are not images */
    uint64_t left_out[SL_FOLDER_REASONS];
    uint64_t example[SL_FOLDER_REASONS]; /* arena offset of the first one's path */
} sl_folder_list;

/* Returns whether a file is an image by its name. */
bool sl_folder_is_picture(const char *name);

/*
 * Lists the classes and images below `root`. END: there are no images; other files were counted.
 * Errors: IO, INVALID (links multiply their targets), NOMEM.
 */
sluice_status sl_folder_list_open(sl_folder_list *list, const char *root, sluice_error *error);
void sl_folder_list_close(sl_folder_list *list);

static inline const char *sl_folder_text(const sl_folder_list *list, uint64_t offset)
{
    return list->arena + offset;
}

/* Copies `length` bytes and a NUL to the arena, which may move. False: no memory. */
bool sl_folder_list_add_text(sl_folder_list *list, const char *text, size_t length,
                             uint64_t *offset);
/*
 * Adds the left-out entries, by reason; `captions`: captions of images were read, so they do not
 * count.
 */
void sl_folder_list_omit(const sl_folder_list *list, bool captions, sl_omissions *omissions);
/* Returns ".txt" or ".caption"; "": no caption. */
const char *sl_caption_extension(uint8_t caption);

/* Writes the path of an image below the root; INVALID if it does not fit. */
sluice_status sl_folder_key(const sl_folder_list *list, uint64_t index, char *key, size_t bytes);

#endif
