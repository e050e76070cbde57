/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_paths: which files Arrow datasets consist of.
 *
 * Purpose: a path is a file; a folder that save_to_disk of Hugging Face's datasets made, whose
 * state.json names its files, and tables of row numbers if there are any; or a folder of files,
 * which have to be called alike but for their numbers, as that library's cache has all splits in
 * one. Threads: one finds them; then they are immutable. Ownership: sl_arrow_paths_close.
 */
#ifndef SL_ARROW_PATHS_H
#define SL_ARROW_PATHS_H

#include "file_list.h"

#include "look.h"
#include "omissions.h"

#include <stdbool.h>

/* The files of a path, numbers in the lists. */
typedef struct sl_arrow_part {
    uint32_t first, count;
    uint32_t first_table, table_count;
} sl_arrow_part;

/* How paths are understood. */
typedef struct sl_arrow_how {
    bool anywhere;           /* where the files of a state.json are; else in its folder */
    const char *split;       /* to open; NULL: there may be one alone */
    sl_omissions *omissions; /* where files that are left out are counted */
} sl_arrow_how;

typedef struct sl_arrow_paths {
    sl_file_list files;
    sl_file_list tables; /* of row numbers */
    sl_arrow_part *parts;
    size_t part_count;
    sl_arrow_how how;
    uint8_t *info; /* dataset_info.json of the first folder that has one; NULL: there is none */
    size_t info_bytes;
} sl_arrow_paths;

/* Whether a path looks like one. */
bool sl_arrow_probe(sl_look *look);
/* Errors: INVALID (a folder of splits of which none is chosen, or without files; a file elsewhere),
 * IO, CORRUPT, UNSUPPORTED, NOMEM. On failure they are closed. */
sluice_status sl_arrow_paths_find(sl_arrow_paths *paths, const char *const *given, size_t count,
                                  const sl_arrow_how *how, sluice_error *error);
/* Of all zero is fine. */
void sl_arrow_paths_close(sl_arrow_paths *paths);

#endif
