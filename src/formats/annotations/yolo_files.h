/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_files: finds the images and label files of a YOLO path, and its classes.
 *
 * Purpose: a path is one of: a folder with images/ and labels/; a folder of images below one named
 * images, beside which the same folder exists below labels; a list of images (.txt); a YAML file
 * that names one split of these; or a folder with such a data.yaml. The label file of an image has
 * the same base name, with "/labels/" in place of the last "/images/" of its path, if any. Memory:
 * the paths of images, and 8 bytes each. Threads: one owner. Ownership: sl_yolo_files_close.
 */
#ifndef SL_YOLO_FILES_H
#define SL_YOLO_FILES_H

#include "inode_set.h"
#include "look.h"
#include "omissions.h"
#include "store.h"
#include "yolo_yaml.h"

typedef struct sl_yolo_files {
    const char *path;             /* the opened path */
    const char *split;            /* split to open; NULL: not given */
    bool anywhere;                /* true if lists may name files outside their folder */
    char root[SL_PATH_BYTES];     /* root that image paths are relative to */
    char pictures[SL_PATH_BYTES]; /* folder of images, relative to `root`; "": lists name the images
                                   */
    char labels[SL_PATH_BYTES];   /* folder of label files, likewise */
    sl_boundary *boundary;        /* boundary of files that a list names; NULL: anywhere */
    char *text;                   /* the paths */
    uint64_t used, capacity;
    uint64_t *files; /* offsets of the paths in `text`, in sample order */
    uint64_t count, file_capacity;
    sl_yolo_yaml yaml;         /* classes and rules, from any source */
    sl_inode_set sources;      /* folders and lists of the YAML file that were read */
    bool has_list_of_classes;  /* true if the classes come from a classes.txt */
    char stray[SL_PATH_BYTES]; /* first label file without an image of that name; "": none */
    sl_omissions omissions;    /* files skipped in folders */
} sl_yolo_files;

/* Looks at names and at the beginnings of a few files. */
bool sl_yolo_files_probe(sl_look *look);
/*
 * `files` is zeroed, except for `path`, `split` and `anywhere`. Errors: IO, INVALID (several
 * splits, no images, a path that leads out of a list's folder), those of sl_yolo_yaml_read, CORRUPT
 * (a list), NOMEM.
 */
sluice_status sl_yolo_files_open(sl_yolo_files *files, sluice_error *error);
void sl_yolo_files_close(sl_yolo_files *files);

static inline const char *sl_yolo_files_picture(const sl_yolo_files *files, uint64_t number)
{
    return files->text + files->files[number];
}
/* Writes the path of an image's label file, which need not exist; false: its path is too long. */
bool sl_yolo_files_label(const sl_yolo_files *files, uint64_t number, char label[SL_PATH_BYTES]);

#endif
