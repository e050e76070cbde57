/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_look: the file that was looked at last, kept open while a dataset is opened.
 *
 * Purpose: several formats look at the beginning of the same file, and then one of them reads it.
 * Behind a network each open is a round trip. While a kept look is set, sl_store_look of this
 * thread keeps its file: another look at it copies the bytes, and the first sl_handle_open of it
 * takes the handle over, with the identity from its opening.
 *
 * Threads: the mutex guards all members, so that threads which read files for the opener may share
 * it. Memory: the caller's, 8 KiB; one descriptor.
 */
#ifndef SL_KEPT_LOOK_H
#define SL_KEPT_LOOK_H

#include "store.h"

#include <pthread.h>

enum { SL_KEPT_LOOK_BYTES = 4096 };

typedef struct sl_kept_look {
    pthread_mutex_t mutex;
    char path[SL_PATH_BYTES]; /* "": none */
    uint64_t file_bytes;
    size_t head_bytes; /* whole file, or SL_KEPT_LOOK_BYTES of it */
    uint8_t head[SL_KEPT_LOOK_BYTES];
    sl_open_file file; /* closed once a reader has taken it over */
} sl_kept_look;

void sl_kept_look_begin(sl_kept_look *kept);
/* Closes the file. No thread may have it set. */
void sl_kept_look_end(sl_kept_look *kept);

/* Sets it for this thread; NULL: none. Returns the one before. */
sl_kept_look *sl_store_keep_look(sl_kept_look *kept);
/* Returns the one set for this thread; NULL: none. */
sl_kept_look *sl_store_kept_look(void);

/* ---- for store.c; `kept` may be NULL ---- */

/* Copies the first bytes of the file, at most `most`, and returns their number. False: it is
 * another file, or more bytes are wanted than are kept. */
bool sl_kept_look_copy(sl_kept_look *kept, const char *path, void *head, size_t most,
                       size_t *bytes);
/* Keeps a file, with its first bytes (all, or at least `bytes`), instead of the one before. False:
 * it was not kept, and the caller must close it. */
bool sl_kept_look_put(sl_kept_look *kept, const char *path, const sl_open_file *file,
                      const void *head, size_t bytes);
/* Takes the open file. False: it is another one, or taken already. */
bool sl_kept_look_take(sl_kept_look *kept, const char *path, sl_open_file *file);

#endif
