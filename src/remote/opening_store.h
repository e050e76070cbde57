/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening_store: what opening a dataset read of its objects, kept for the next opening.
 *
 * Purpose: formats whose files say at their end where their samples are (Parquet, Arrow, npz) read
 * some kilobytes of each file. These bytes are kept in a file per object in the folder of kept
 * indexes (index_store.h), by address, ETag and size, so that opening again takes no request for
 * them. Objects without an ETag are not kept, nor more than 1 MiB of one. A file that does not fit,
 * or that somebody else could write to, is ignored; what cannot be written is not kept.
 * Threads: any; several processes may write the same file (it is renamed into place).
 *
 * Layout, little-endian: "SLUICERO", u64 inode, u64 changed_ns, u64 bytes of the object (its
 * identity), u64 ranges; for each u64 offset, u64 length; the bytes of all; u64 XXH3-64 of all
 * before.
 */
#ifndef SL_OPENING_STORE_H
#define SL_OPENING_STORE_H

#include "object.h"

/* Fills empty windows with what was kept. */
void sl_opening_store_load(sl_object *object);
/* Keeps the bytes of windows that were asked for, if there are any that were not kept before. */
void sl_opening_store_keep(sl_object *object);

#endif
