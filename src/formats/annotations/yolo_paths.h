/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_paths: recognises YOLO paths and their variant (yolo_files.h).
 *
 * Purpose: recognises them by names of folders and files, and by the beginnings of a few files;
 * YAML by its text, so that it works without libyaml. Threads: pure.
 */
#ifndef SL_YOLO_PATHS_H
#define SL_YOLO_PATHS_H

#include "yolo_files.h"

/* Returns whether a file is YAML by its name. */
bool sl_yolo_is_yaml_named(const char *name);
/* Finds a YAML file of a folder, usually data.yaml, that has YOLO's keys; writes its path. */
bool sl_yolo_find_yaml(const char *folder, const char *name, char path[SL_PATH_BYTES]);
/*
 * Finds it under any usual name: data.yaml, dataset.yaml, or the folder's name. Unless
 * `needs_split`, a file that only names classes is accepted.
 */
bool sl_yolo_find_own_yaml(const char *folder, bool needs_split, char path[SL_PATH_BYTES]);
/* Reads the first non-empty line of a list; false: it does not name an image. */
bool sl_yolo_first_picture(sl_look *look, char name[SL_PATH_BYTES]);
/* Returns whether an image that a list names, or its `label` file, exists. */
bool sl_yolo_list_has(const char *path, const char *name, bool label);
/* Writes the path of an image's label file. False: it is too long. */
bool sl_yolo_label_of(const char *picture, char label[SL_PATH_BYTES]);
/* Sets root, pictures and labels. `*deep`: both folders are in the given one. */
bool sl_yolo_find_folder(sl_yolo_files *files, const char *path, bool *deep);

#endif
