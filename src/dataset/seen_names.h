/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_names: counts names, and keeps the first of them in sorted order.
 *
 * Purpose: describes the contents of a folder in errors, independent of the listing's order and the
 * number of files. Threads: one owner. Memory: only its own.
 */
#ifndef SL_SEEN_NAMES_H
#define SL_SEEN_NAMES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_SEEN_NAMES_MAX = 6 };

/* Zeroed: empty. */
typedef struct sl_seen_names {
    uint64_t count;
    char names[SL_SEEN_NAMES_MAX][NAME_MAX + 1]; /* the kept names, sorted */
} sl_seen_names;

/* Adds a name; truncates one that is too long. */
void sl_seen_names_add(sl_seen_names *seen, const char *name);
/* Returns the number of kept names. */
uint32_t sl_seen_names_kept(const sl_seen_names *seen);
/* Writes "a.npy, b.npy and 7 more" into `bytes` of text, at least 32. */
void sl_seen_names_write(const sl_seen_names *seen, char *text, size_t bytes);

#endif
