/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpacked_store: compressed files, kept unpacked in a folder, so that each is unpacked once.
 *
 * Purpose: samples in any order of files that can only be read from front to back. What a file
 * holds is in FOLDER/NAME-P/K.unpacked: its name for people, P the checksum of its real path, K
 * that of what it is (size, inode, times of modification and of change, in ns) and of what its
 * index tells. A file of that name appears when it is whole, checked and on the storage
 * (unpacked_file.h); so what is there is right, and finding it takes no more than asking for its
 * facts. It counts if nobody but the user, or root, can write to it and its folder, and nobody did:
 * its time of modification is a whole second. When another one is made of the same path, those
 * before it are removed. Several files are unpacked at once, as many as there are processors, 16 at
 * most.
 *
 * Files are unpacked when the dataset is opened. Unpacking at the first read would add seconds to
 * reads that fetch times and gives up, would meet damage in the middle of training, and would save
 * nothing: the first batches of a full shuffle need all files.
 *
 * Several processes that want the same files share the work: each begins with another one, and
 * holds a lock (flock) on FOLDER/NAME-P/lock while it is at it. Who finds a file locked goes on
 * with the next, and waits in the end; as long as the lock's time of modification moves on. Locks
 * only save work: where there are none, or their holder hangs, two make the same file under names
 * of their own, and the last one's stays. What a process that was killed has left (*.part) is
 * removed by the next that has the lock.
 * Threads: any.
 */
#ifndef SL_UNPACKED_STORE_H
#define SL_UNPACKED_STORE_H

#include "file_list.h"
#include "unpacked_file.h"

/* How long a lock whose holder does nothing is respected. */
#define SL_UNPACKED_STALL_NS UINT64_C(60000000000)

typedef struct sl_unpacked_how {
    const char *folder;         /* made if it is not there, for the user alone */
    const sl_unpack_told *told; /* of each file of the list; NULL: nothing is, of any */
    uint64_t stall_ns;          /* 0: SL_UNPACKED_STALL_NS */
} sl_unpacked_how;

/*
 * Puts what they hold in the place of those files of the list that are compressed (packing): path
 * and packing are the unpacked one's then, file.bytes what is told of it, source what its path was,
 * and its name counts in fingerprints as it does unpacked. Blocks. Errors: those of
 * sl_unpacked_file_write, of one of the files that have one; IO with ENOSPC, before anything is
 * unpacked, where there is less space than all of them need. What was unpacked until then is kept.
 */
sluice_status sl_unpacked_store_take(sl_file_list *list, const sl_unpacked_how *how,
                                     sluice_error *error);

#endif
