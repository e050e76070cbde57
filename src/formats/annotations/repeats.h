/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeats: which of many files are the same file.
 *
 * Purpose: a list may name one file any number of times, and so may links. Each file is read once,
 * so that opening a dataset takes time and memory for the bytes that exist, not for the bytes that
 * are claimed. Memory: 4 bytes a file, and 24 while they are found. Threads: `path` is called from
 * any; then immutable. Ownership: sl_repeats_close.
 */
#ifndef SL_REPEATS_H
#define SL_REPEATS_H

#include "store.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_repeats {
    uint32_t *first; /* of each file, the number of the first that is the same; its own: none is */
    bool found;      /* any is the same as another */
} sl_repeats;

/* `path` writes the path of a file; false: it has none. `repeats` is all zero. Errors: NOMEM. */
sluice_status sl_repeats_find(sl_repeats *repeats, uint32_t count,
                              bool (*path)(const void *ctx, uint32_t number,
                                           char path[SL_PATH_BYTES]),
                              const void *ctx, sluice_error *error);
void sl_repeats_close(sl_repeats *repeats); /* all zero is fine */

#endif
