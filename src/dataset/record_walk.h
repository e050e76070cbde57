/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_walk: heads of a file's records, read one after the other.
 *
 * Purpose: walking a file takes a few bytes of each record. Where records are small all that is
 * near is read at once, where they are large the head alone. Threads: one owner. No allocation.
 */
#ifndef SL_RECORD_WALK_H
#define SL_RECORD_WALK_H

#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_HEAD_WINDOW_BYTES ((size_t)64 << 10)

typedef struct sl_head_window {
    sl_handle handle; /* names the opener's path */
    sl_file_identity file;
    uint64_t last; /* bytes of the record before: whoever walks sets it */
    uint64_t at;   /* of the bytes in `data` */
    size_t bytes;
    uint8_t data[SL_HEAD_WINDOW_BYTES];
} sl_head_window;

/* Errors: IO. Whatever comes of it, sl_head_window_close is fine. */
sluice_status sl_head_window_open(sl_head_window *window, const char *path, sluice_error *error);
void sl_head_window_close(sl_head_window *window);
/* The `bytes` at `at`, all of which are in the file; NULL with an error: IO, or CORRUPT when the
 * file is shorter now. */
const uint8_t *sl_head_window_look(sl_head_window *window, uint64_t at, size_t bytes,
                                   sluice_error *error);

#endif
