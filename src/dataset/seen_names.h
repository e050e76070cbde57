/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_names: how many names there were, and the first of them in their order.
 *
 * Purpose: what a folder holds, for the error that says why it was refused, whatever order it is
 * listed in and however many files there are. Threads: one owner. Memory: its own, no more.
 */
#ifndef SL_SEEN_NAMES_H
#define SL_SEEN_NAMES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_SEEN_NAMES_MAX = 6 };

/* Zeros: none was seen. */
typedef struct sl_seen_names {
    uint64_t count;
    char names[SL_SEEN_NAMES_MAX][NAME_MAX + 1]; /* as many of them as there can be, sorted */
} sl_seen_names;

/* A name that is longer than one can be is cut. */
void sl_seen_names_add(sl_seen_names *seen, const char *name);
/* How many names are kept. */
uint32_t sl_seen_names_kept(const sl_seen_names *seen);
/* "a.npy, b.npy and 7 more" into `bytes` of text, 32 or more. */
void sl_seen_names_write(const sl_seen_names *seen, char *text, size_t bytes);

#endif
