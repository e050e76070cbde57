/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_ledger: how many bytes a folder of chunks has, counted by all its processes together.
 *
 * Purpose: DIR/chunks-1/ledger has 64 bytes: magic, bytes kept, the largest quota of the processes
 * that have the folder open, whether any has, the folder's time of modification when the last one
 * closed it, and a checksum. A process changes it under a lock of its first byte, and holds a
 * shared lock of the second byte while it has the folder open: so the first process to open the
 * folder knows that it is alone. If the ledger was not closed, a process was killed; if the time
 * differs, somebody changed the folder: files are counted then, and parts without a writer removed.
 * The same holds for a ledger that is missing or damaged. A writer counts a chunk before it renames
 * it; so one that is killed leaves the count too high rather than too low.
 * The locks belong to an open file description (F_OFD_SETLK): they end with the process. A process
 * that is stopped while it holds the first lock makes others keep nothing, after a second.
 * Threads: any. Lock: one mutex, held during the above.
 */
#ifndef SL_CHUNK_LEDGER_H
#define SL_CHUNK_LEDGER_H

#include "chunk_folder.h"

#include <pthread.h>

typedef struct sl_chunk_ledger {
    const sl_chunk_folder *folder;
    int fd; /* -1: there is none, and nothing can be kept */
    pthread_mutex_t mutex;
    bool attached;          /* by sl_chunk_ledger_attach */
    _Atomic uint64_t quota; /* bytes; relaxed: a number alone */
} sl_chunk_ledger;

/* Opens the ledger, and counts where that is necessary. `most_bytes` 0: nine tenths of what is free
 * and kept, or what another process has. 0, or -errno: the ledger can be read at most.
 * sl_chunk_ledger_close in any case. */
int sl_chunk_ledger_open(sl_chunk_ledger *ledger, const sl_chunk_folder *folder,
                         uint64_t most_bytes);
/* For a program that lists chunks or removes them (`changes`): it does not count as one that has
 * the folder open. */
void sl_chunk_ledger_attach(sl_chunk_ledger *ledger, const sl_chunk_folder *folder, bool changes);
void sl_chunk_ledger_close(sl_chunk_ledger *ledger);
int sl_chunk_ledger_set_quota(sl_chunk_ledger *ledger, uint64_t most_bytes);

/* Has `name` give a file its name, under the lock, and counts it: whoever counts the files of the
 * folder sees both or neither. 0; -ENOSPC: it exceeds the quota; -EAGAIN: others held the lock for
 * too long; what `name` returned; -errno. */
int sl_chunk_ledger_add(sl_chunk_ledger *ledger, uint64_t cost, int (*name)(void *ctx), void *ctx);
/* Removes a chunk's file, and its cost from the count; false: there is none. */
bool sl_chunk_ledger_remove(sl_chunk_ledger *ledger, const char *name);

/* Counts the files again. Reads the folder under the lock. */
void sl_chunk_ledger_recount(sl_chunk_ledger *ledger);

typedef struct sl_chunk_count {
    uint64_t kept, largest; /* bytes; the largest quota of those that have the folder open */
} sl_chunk_count;
/* Without a lock. False: it cannot be read. */
bool sl_chunk_ledger_read(const sl_chunk_ledger *ledger, sl_chunk_count *count);

#endif
