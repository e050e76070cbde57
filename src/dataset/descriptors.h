/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors: a bounded set of open files, least recently used closed first.
 *
 * Purpose: reads of index blocks and samples from any number of files and threads, also where
 * RLIMIT_NOFILE is tiny.
 * Threads: pin and unpin from any thread. Lock: its own mutex; a file is opened under it.
 * Invariants: a pinned descriptor is never closed; open files <= capacity; when no descriptor can
 * be had although others are pinned here, pin waits for one of them.
 */
#ifndef SL_DESCRIPTORS_H
#define SL_DESCRIPTORS_H

#include <sluice/common.h>

#include <pthread.h>

typedef struct sl_descriptor {
    uint32_t file; /* number */
    uint32_t pins;
    int fd;        /* -1: free entry */
    uint64_t used; /* for LRU */
} sl_descriptor;

typedef struct sl_descriptors {
    pthread_mutex_t mutex;
    pthread_cond_t unpinned;
    sl_descriptor *entries;
    int32_t *entry_of; /* by file number; -1: not open */
    uint32_t capacity, files;
    uint64_t clock;
} sl_descriptors;

/* For files numbered 0 .. files-1. A zeroed object may be closed. Errors: NOMEM. */
sluice_status sl_descriptors_open(sl_descriptors *descriptors, uint32_t files, sluice_error *error);
/* Nothing may be pinned. */
void sl_descriptors_close(sl_descriptors *descriptors);
/*
 * The descriptor of file `file` at `path`, which must have `bytes` bytes when it is opened (CORRUPT
 * otherwise). Errors: IO, CORRUPT.
 */
sluice_status sl_descriptors_pin(sl_descriptors *descriptors, uint32_t file, const char *path,
                                 uint64_t bytes, int *fd, sluice_error *error);
void sl_descriptors_unpin(sl_descriptors *descriptors, uint32_t file);

#endif
