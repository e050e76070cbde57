/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening_store: the bytes that opening a dataset read from its objects, kept for the next time.
 *
 * Purpose: formats with an index at the end of each file (Parquet, Arrow, npz) read some kilobytes
 * of each file. These bytes are kept in a file per object in the folder of kept indexes
 * (index_store.h), by address, ETag and size, so that opening again takes no request for them.
 * Objects without an ETag are not kept, nor more than 1 MiB of one object. A file that does not
 * fit, or that other users could write to, is ignored. A failed write is ignored, too. Threads:
 * any; several processes may write the same file (it is renamed into place).
 *
 * Layout, little-endian: "SLUICERO", u64 inode, u64 changed_ns, u64 bytes of the object (its
 * identity), u64 ranges; for each u64 offset, u64 length; the bytes of all; u64 XXH3-64 of all
 * before.
 */
#ifndef SL_OPENING_STORE_H
#define SL_OPENING_STORE_H

#include "object.h"

/* Fills empty windows with the kept bytes. */
void sl_opening_store_load(sl_object *object);
/* Writes the bytes that callers asked for, if some of them are new. */
void sl_opening_store_keep(sl_object *object);

#endif
