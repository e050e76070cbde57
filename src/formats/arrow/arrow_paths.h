/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_paths: finds the files of Arrow datasets.
 *
 * Purpose: a path is a file; a folder written by save_to_disk of Hugging Face's datasets, whose
 * state.json names its files and any tables of row numbers; or a folder of files, which must have
 * the same base name apart from their numbers, since that library's cache keeps all splits in one
 * folder. Threads: one finds them; then they are immutable. Ownership: sl_arrow_paths_close.
 */
#ifndef SL_ARROW_PATHS_H
#define SL_ARROW_PATHS_H

#include "file_list.h"

#include "look.h"
#include "omissions.h"

#include <stdbool.h>

/* The files of a path, as numbers in the lists. */
typedef struct sl_arrow_part {
    uint32_t first, count;
    uint32_t first_table, table_count;
} sl_arrow_part;

/* How paths are interpreted. */
typedef struct sl_arrow_how {
    bool anywhere; /* true if the files of a state.json may be anywhere, not only in its folder */
    const char *split;       /* split to open; NULL: only one may exist */
    sl_omissions *omissions; /* counters of left-out files */
} sl_arrow_how;

typedef struct sl_arrow_paths {
    sl_file_list files;
    sl_file_list tables; /* tables of row numbers */
    sl_arrow_part *parts;
    size_t part_count;
    sl_arrow_how how;
    uint8_t *info; /* dataset_info.json of the first folder that has one; NULL: none */
    size_t info_bytes;
} sl_arrow_paths;

/* Returns whether a path looks like one of these. */
bool sl_arrow_probe(sl_look *look);
/*
 * Finds the files. Errors: INVALID (a folder of splits without a choice, or without files; a file
 * elsewhere), IO, CORRUPT, UNSUPPORTED, NOMEM. Closed on failure.
 */
sluice_status sl_arrow_paths_find(sl_arrow_paths *paths, const char *const *given, size_t count,
                                  const sl_arrow_how *how, sluice_error *error);
/* Releases `paths`, which may be zeroed. */
void sl_arrow_paths_close(sl_arrow_paths *paths);

#endif
