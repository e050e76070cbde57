/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_store: indexes of files that have none, kept so that each is walked once.
 *
 * Purpose: NAME.sluice-index beside the file, if somebody put it there, or else a file in the
 * user's cache folder; written there when a file was walked. An index holds for a file of its kind,
 * size, time of modification and sample of bytes (file.h); one in the cache folder also for the
 * inode and its time of change, which say that nobody wrote to the file since, and only if nobody
 * but the user, or root, can write to the index. It has a checksum. One that does not fit, or that
 * cannot be read or written, is not an error: the file is walked.
 * Threads: any; several processes may write the same one (it is renamed into place).
 *
 * Layout, little-endian: "SLUICETI", u32 version (2), u32 names, u64 the file's bytes, i64 its
 * st_mtim (ns since 1970), u64 samples, u32 facts, u32 kind (sl_index_kind + 256 x sl_packing),
 * u64 inode, i64 st_ctim, u64 sample of bytes (sl_handle_sample); 32 bytes for each name; samples x
 * u64 offsets; samples x u32 bytes; u64 XXH3-64 of all before.
 */
#ifndef SL_INDEX_STORE_H
#define SL_INDEX_STORE_H

#include "file_index.h"
#include "store.h"

/* Where indexes are kept: $SLUICE_CACHE_DIR, $XDG_CACHE_HOME/sluice or ~/.cache/sluice. False, and
 * "" in `folder`, when none of them is set (or SLUICE_CACHE_DIR is empty): none are. */
bool sl_index_store_folder(char *folder, size_t bytes);

/* Makes a folder with all folders above it, for the user alone. False: it cannot be made. */
bool sl_index_store_make_folder(const char *folder);

/* The index of a file, if one is kept that fits. Blocks: reads the file's sample. */
bool sl_index_store_load(sl_file_index *index, sl_index_kind kind, const sl_open_file *file,
                         const char *folder);
/* Keeps it, if that can be done, for the user alone; index->file has its sample. */
void sl_index_store_keep(const sl_file_index *index, const char *path, const char *folder);

#endif
