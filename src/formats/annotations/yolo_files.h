/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_files: which pictures and label files of YOLO's kind a path means, and what is said of them.
 *
 * Purpose: a path is a folder with images/ and labels/, a folder of pictures below one called
 * images, beside which there is the same one below labels, a list of pictures (.txt), or a YAML
 * file that names one split of them; or a folder with a data.yaml that does. The label file of
 * a picture is called like it, with "/labels/" for the last "/images/" of its path, where there is
 * one. Memory: the paths of pictures, and 8 bytes each. Threads: one owner. Ownership:
 * sl_yolo_files_close.
 */
#ifndef SL_YOLO_FILES_H
#define SL_YOLO_FILES_H

#include "inode_set.h"
#include "look.h"
#include "omissions.h"
#include "store.h"
#include "yolo_yaml.h"

typedef struct sl_yolo_files {
    const char *path;             /* that was opened */
    const char *split;            /* to open, of several; NULL: nobody said */
    bool anywhere;                /* lists may name what is outside of their folder */
    char root[SL_PATH_BYTES];     /* what the paths of pictures are from */
    char pictures[SL_PATH_BYTES]; /* a folder of pictures, from there; "": lists name them */
    char labels[SL_PATH_BYTES];   /* the same of label files */
    sl_boundary *boundary;        /* of what a list names; NULL: anywhere */
    char *text;                   /* the paths */
    uint64_t used, capacity;
    uint64_t *files; /* where in `text` each begins, in the order of samples */
    uint64_t count, file_capacity;
    sl_yolo_yaml yaml;         /* what is said of classes, wherever it was found */
    sl_inode_set sources;      /* of the YAML: folders and lists that were read */
    bool has_list_of_classes;  /* a classes.txt says it */
    char stray[SL_PATH_BYTES]; /* the first label file that no picture is called like; "": none */
    sl_omissions omissions;    /* what was passed over in folders */
} sl_yolo_files;

/* Looks at names, and at the beginnings of a few files. */
bool sl_yolo_files_probe(sl_look *look);
/* `files` is all zero, except for `path`, `split` and `anywhere`. Errors: IO, INVALID (several
 * splits, nothing, what leads out of a list's folder), those of sl_yolo_yaml_read, CORRUPT (a
 * list), NOMEM.
 */
sluice_status sl_yolo_files_open(sl_yolo_files *files, sluice_error *error);
void sl_yolo_files_close(sl_yolo_files *files);

static inline const char *sl_yolo_files_picture(const sl_yolo_files *files, uint64_t number)
{
    return files->text + files->files[number];
}
/* Where the label file of a picture is, if there is one; false: its path is too long. */
bool sl_yolo_files_label(const sl_yolo_files *files, uint64_t number, char label[SL_PATH_BYTES]);

#endif
