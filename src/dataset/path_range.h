/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_range: "train-{000000..000146}.tar" as the paths that are meant.
 *
 * Purpose: numbers between two dots, both ends included, with as many digits as the first one has
 * where it begins with a 0, as in shells; several of them in a path, the last one counting fastest.
 * A path of something that is there is itself, whatever its name. A store is told to expect the
 * names of a range (sl_store_expect), so the caller opens a scope around.
 * Threads: pure, except for the look at the file system. Ownership: sl_path_list_free.
 */
#ifndef SL_PATH_RANGE_H
#define SL_PATH_RANGE_H

#include <sluice/common.h>

#include <stddef.h>

#define SL_PATHS_MAX (1U << 24)

typedef struct sl_path_list {
    char **paths;
    size_t count, capacity;
} sl_path_list;

/* Adds what `path` means. Errors: INVALID (an end below its beginning, too many), NOMEM. */
sluice_status sl_path_range_add(sl_path_list *list, const char *path, sluice_error *error);
/* May be zero-initialised. */
void sl_path_list_free(sl_path_list *list);

#endif
