/* SPDX-License-Identifier: Apache-2.0 */
/*
 * companions: files that are unreadable without another file beside them.
 *
 * Purpose: a shard without its index, or an index without its file, gets an error that names the
 * missing file, instead of "unknown format". Threads: pure, except for the lookups of files.
 */
#ifndef SL_COMPANIONS_H
#define SL_COMPANIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether the file `name` in a folder lacks a companion; `why` then says which one and what
 * to do. False for complete files and for files that no rule covers.
 */
bool sl_companion_is_missing(const char *folder, const char *name, char *why, size_t bytes);
/* Does the same for a path. */
bool sl_companion_of_path(const char *path, char *why, size_t bytes);

#endif
