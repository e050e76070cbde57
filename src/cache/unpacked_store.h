/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpacked_store: keeps the contents of compressed files in a folder, so that each is unpacked
 * once.
 *
 * Purpose: gives access in any order to samples of files that can only be read front to back. A
 * file's contents are in FOLDER/NAME-P/K.unpacked: its name for users, P the checksum of its real
 * path, K that of its identity (size, inode, modification and change times in ns) and of its
 * index's data about it. A file gets that name when it is complete, checked and on the storage
 * (unpacked_file.h). So an existing file is valid, and finding it only needs its metadata. It
 * counts if nobody but the user, or root, can write to it and its folder, and nobody did: its
 * modification time is a whole second. When another file is made for the same path, older ones are
 * removed. Several files are unpacked at once, one per CPU, at most 16.
 *
 * Files are unpacked when the dataset is opened. Unpacking at the first read would add seconds to
 * reads that fetch times and gives up, would meet damage in the middle of training, and would save
 * nothing: the first batches of a full shuffle need all files.
 *
 * Several processes that want the same files share the work: each begins with a different one, and
 * holds a lock (flock) on FOLDER/NAME-P/lock while unpacking it. A process that finds a file locked
 * continues with the next, and waits for it at the end, as long as the lock's modification time
 * advances. Locks only save work: without them, or if their holder hangs, two processes make the
 * same file under separate names, and the last one remains. Leftovers of a killed process (*.part)
 * are removed by the next holder of the lock. Threads: any.
 */
#ifndef SL_UNPACKED_STORE_H
#define SL_UNPACKED_STORE_H

#include "file_list.h"
#include "unpacked_file.h"

/* How long a lock is respected while its holder makes no progress. */
#define SL_UNPACKED_STALL_NS UINT64_C(60000000000)

typedef struct sl_unpacked_how {
    const char *folder;         /* created if missing, for the user only */
    const sl_unpack_told *told; /* one per file of the list; NULL: no index data */
    uint64_t stall_ns;          /* 0: SL_UNPACKED_STALL_NS */
} sl_unpacked_how;

/*
 * Replaces the compressed files of the list (packing) by their unpacked contents: path and packing
 * become those of the unpacked file, file.bytes the size from the index, source the original path;
 * in fingerprints its name counts like an unpacked file's. Blocks. Errors: those of
 * sl_unpacked_file_write, for one of the failing files; IO with ENOSPC, before anything is
 * unpacked, if there is less space than all files need. Files unpacked before an error are kept.
 */
sluice_status sl_unpacked_store_take(sl_file_list *list, const sl_unpacked_how *how,
                                     sluice_error *error);

#endif
