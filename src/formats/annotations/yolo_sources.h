/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_sources: what the names in a YAML or a list mean, and which split of a YAML is opened.
 *
 * Purpose: a split is a folder, a list, or several of these, by paths that are relative to one of a
 * few folders. Threads: one owner.
 */
#ifndef SL_YOLO_SOURCES_H
#define SL_YOLO_SOURCES_H

#include "yolo_files.h"

/* A path without "./" before it. */
const char *sl_yolo_skip_dots(const char *path);
/* A path from files->root as one that can be opened; false: too long. */
bool sl_yolo_full(const sl_yolo_files *files, const char *path, char full[SL_PATH_BYTES]);
/* Whether `list` may name a path, on a line; 0: no line. INVALID: it leads out. */
sluice_status sl_yolo_check_name(const sl_yolo_files *files, const char *name, const char *list,
                                 uint64_t line, sluice_error *error);
/* Where a folder or list that the YAML `list` names is, from files->root. Errors: INVALID (it is
 * not there, or leads out), IO. */
sluice_status sl_yolo_find_source(const sl_yolo_files *files, const char *list, const char *name,
                                  char found[SL_PATH_BYTES], sluice_error *error);
/* Chooses a split of the YAML: files->split, or the only one, which others may name, too. INVALID:
 * there is none, or there are several. */
sluice_status sl_yolo_choose_split(const sl_yolo_files *files, const char *yaml, int *split,
                                   sluice_error *error);

#endif
