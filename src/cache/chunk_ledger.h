/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_ledger: counts the bytes in a folder of chunks, shared by all processes that use it.
 *
 * Purpose: DIR/chunks-1/ledger has 64 bytes: magic, bytes kept, the largest quota of the processes
 * that have the folder open, whether any has, the folder's modification time when the last one
 * closed it, and a checksum. A process changes it under a lock of its first byte, and holds a
 * shared lock of the second byte while it has the folder open, so the first process to open the
 * folder knows that it is alone. If the ledger was not closed, a process was killed; if the time
 * differs, somebody changed the folder. In both cases, and if the ledger is missing or damaged,
 * files are counted, and parts without a writer removed. A writer counts a chunk before it renames
 * it, so a killed writer leaves the count too high rather than too low. The locks belong to an open
 * file description (F_OFD_SETLK) and end with the process. If a process is stopped while it holds
 * the first lock, others keep nothing after waiting a second. Threads: any. Lock: one mutex, held
 * during the above.
 */
#ifndef SL_CHUNK_LEDGER_H
#define SL_CHUNK_LEDGER_H

#include "chunk_folder.h"

#include <pthread.h>

typedef struct sl_chunk_ledger {
    const sl_chunk_folder *folder;
    int fd; /* -1: none, so nothing can be kept */
    pthread_mutex_t mutex;
    bool attached;          /* true if opened by sl_chunk_ledger_attach */
    _Atomic uint64_t quota; /* bytes; relaxed: an independent number */
} sl_chunk_ledger;

/*
 * Opens the ledger, and counts if necessary. `most_bytes` 0: nine tenths of the free and kept
 * bytes, or the quota of another process. Returns 0, or -errno: at most reading is possible. Call
 * sl_chunk_ledger_close in any case.
 */
int sl_chunk_ledger_open(sl_chunk_ledger *ledger, const sl_chunk_folder *folder,
                         uint64_t most_bytes);
/*
 * Opens the ledger for a program that lists chunks or removes them (`changes`), without counting as
 * one that has the folder open.
 */
void sl_chunk_ledger_attach(sl_chunk_ledger *ledger, const sl_chunk_folder *folder, bool changes);
void sl_chunk_ledger_close(sl_chunk_ledger *ledger);
int sl_chunk_ledger_set_quota(sl_chunk_ledger *ledger, uint64_t most_bytes);

/*
 * Calls `name` to rename a file, under the lock, and counts it, so that a count of the folder's
 * files sees both or neither. Returns 0; -ENOSPC: it exceeds the quota; -EAGAIN: others held the
 * lock for too long; the result of `name`; -errno.
 */
int sl_chunk_ledger_add(sl_chunk_ledger *ledger, uint64_t cost, int (*name)(void *ctx), void *ctx);
/* Removes a chunk's file, and its cost from the count; false: no such file. */
bool sl_chunk_ledger_remove(sl_chunk_ledger *ledger, const char *name);

/* Counts the files again. Reads the folder under the lock. */
void sl_chunk_ledger_recount(sl_chunk_ledger *ledger);

typedef struct sl_chunk_count {
    uint64_t kept, largest; /* bytes; the largest quota of processes that have the folder open */
} sl_chunk_count;
/* Reads the count without a lock. False: it cannot be read. */
bool sl_chunk_ledger_read(const sl_chunk_ledger *ledger, sl_chunk_count *count);

#endif
