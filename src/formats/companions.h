/* SPDX-License-Identifier: Apache-2.0 */
/*
 * companions: files that cannot be read without another file beside them.
 *
 * Purpose: a shard without its index, or an index without its file, is named as that, instead of
 * being a file of no known format. Threads: pure, except for the files that are looked for.
 */
#ifndef SL_COMPANIONS_H
#define SL_COMPANIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the file `name` of a folder needs one that is missing: `why` says which, and what to do.
 * False also for files that are complete, or that no rule knows. */
bool sl_companion_is_missing(const char *folder, const char *name, char *why, size_t bytes);
/* The same of a path. */
bool sl_companion_of_path(const char *path, char *why, size_t bytes);

#endif
