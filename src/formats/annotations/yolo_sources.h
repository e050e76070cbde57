/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_sources: resolves the names in a YAML file or list, and chooses the split of a YAML file.
 *
 * Purpose: a split is a folder, a list, or several of these, given by paths relative to one of a
 * few folders. Threads: one owner.
 */
#ifndef SL_YOLO_SOURCES_H
#define SL_YOLO_SOURCES_H

#include "yolo_files.h"

/* Skips "./" at the beginning of a path. */
const char *sl_yolo_skip_dots(const char *path);
/* Writes a path relative to files->root as one that can be opened; false: too long. */
bool sl_yolo_full(const sl_yolo_files *files, const char *path, char full[SL_PATH_BYTES]);
/* Checks whether `list` may name a path, on a line; 0: no line. INVALID: it leads out. */
sluice_status sl_yolo_check_name(const sl_yolo_files *files, const char *name, const char *list,
                                 uint64_t line, sluice_error *error);
/*
 * Finds a folder or list that the YAML file `list` names; the result is relative to files->root.
 * Errors: INVALID (it does not exist, or leads out), IO.
 */
sluice_status sl_yolo_find_source(const sl_yolo_files *files, const char *list, const char *name,
                                  char found[SL_PATH_BYTES], sluice_error *error);
/*
 * Chooses a split of the YAML file: files->split, or else the only one; splits with the same images
 * count once. INVALID: there is none, or there are several.
 */
sluice_status sl_yolo_choose_split(const sl_yolo_files *files, const char *yaml, int *split,
                                   sluice_error *error);

#endif
