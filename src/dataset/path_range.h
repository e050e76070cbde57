/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_range: expands "train-{000000..000146}.tar" to paths.
 *
 * Purpose: numbers between two dots, both ends included, with as many digits as the first one if it
 * begins with a 0, like in shells. A path may have several ranges; the last one varies fastest. A
 * path that exists is never expanded. The store expects the names of a range (sl_store_expect), so
 * the caller opens a scope around this. Threads: pure, except for file lookups. Ownership:
 * sl_path_list_free.
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

/*
 * Adds the paths of `path`. Errors: INVALID (the end is below the beginning, too many paths),
 * NOMEM.
 */
sluice_status sl_path_range_add(sl_path_list *list, const char *path, sluice_error *error);
/* Releases `list`, which may be zero-initialised. */
void sl_path_list_free(sl_path_list *list);

#endif
