/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeats: finds duplicates among many files.
 *
 * Purpose: a list may name one file any number of times, and so may links. Each file is read once,
 * so that opening takes time and memory for the bytes that exist, not for the bytes that are
 * claimed. Memory: 4 bytes per file, and 24 during the search. Threads: `path` is called from any;
 * then immutable. Ownership: sl_repeats_close.
 */
#ifndef SL_REPEATS_H
#define SL_REPEATS_H

#include "store.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_repeats {
    uint32_t *
        first; /* for each file, the number of the first file that is the same, or its own number */
    bool found; /* true if there are duplicates */
} sl_repeats;

/*
 * Finds duplicates. `path` writes the path of a file; false: it has none. `repeats` is zeroed.
 * Errors: NOMEM.
 */
sluice_status sl_repeats_find(sl_repeats *repeats, uint32_t count,
                              bool (*path)(const void *ctx, uint32_t number,
                                           char path[SL_PATH_BYTES]),
                              const void *ctx, sluice_error *error);
void sl_repeats_close(sl_repeats *repeats); /* `repeats` may be zeroed */

#endif
