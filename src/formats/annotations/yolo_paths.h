/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_paths: whether a path is one of YOLO's kind (yolo_files.h), and of which.
 *
 * Purpose: known by names of folders and files, and by the beginnings of a few of them; a YAML by
 * its text, so that one is known without libyaml, too. Threads: pure.
 */
#ifndef SL_YOLO_PATHS_H
#define SL_YOLO_PATHS_H

#include "yolo_files.h"

/* By its name. */
bool sl_yolo_is_yaml_named(const char *name);
/* A YAML of a folder, data.yaml mostly, if it says what YOLO's do; its path. */
bool sl_yolo_find_yaml(const char *folder, const char *name, char path[SL_PATH_BYTES]);
/* The same, by each name that it may have: data.yaml, dataset.yaml, or that of the folder. Without
 * `needs_split` one that only names classes will do. */
bool sl_yolo_find_own_yaml(const char *folder, bool needs_split, char path[SL_PATH_BYTES]);
/* The first line of a list that is not empty; false: it names no picture. */
bool sl_yolo_first_picture(sl_look *look, char name[SL_PATH_BYTES]);
/* Whether a picture that a list names, or its `label` file, is there. */
bool sl_yolo_list_has(const char *path, const char *name, bool label);
/* The label file of a picture. False: its path is too long. */
bool sl_yolo_label_of(const char *picture, char label[SL_PATH_BYTES]);
/* Fills root, pictures and labels. `*deep`: both folders are in the one that was named. */
bool sl_yolo_find_folder(sl_yolo_files *files, const char *path, bool *deep);

#endif
