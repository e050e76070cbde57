/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_store: keeps the indexes of files that have none, so that each file is walked once.
 *
 * Purpose: an index is NAME.sluice-index beside the file, if somebody put it there, or else a file
 * in the user's cache folder, written when a file was walked. It is valid for a file of its kind,
 * size, modification time and sample of bytes (file.h). One in the cache folder also requires the
 * inode and its change time, which show that nobody wrote to the file since, and that nobody but
 * the user, or root, can write to the index. It has a checksum. An index that does not match, or
 * cannot be read or written, is not an error: the file is walked. Threads: any; several processes
 * may write the same one (it is renamed into place).
 *
 * Layout, little-endian: "SLUICETI", u32 version (2), u32 names, u64 size of the file, i64 its
 * st_mtim (ns since 1970), u64 samples, u32 facts, u32 kind (sl_index_kind + 256 x sl_packing), u64
 * inode, i64 st_ctim, u64 sample of bytes (sl_handle_sample); 32 bytes for each name; samples x u64
 * offsets; samples x u32 bytes; u64 XXH3-64 of everything before.
 */
#ifndef SL_INDEX_STORE_H
#define SL_INDEX_STORE_H

#include "file_index.h"
#include "store.h"

/*
 * Writes the folder for indexes: $SLUICE_CACHE_DIR, $XDG_CACHE_HOME/sluice or ~/.cache/sluice.
 * False, and "" in `folder`, if none of them is set (or SLUICE_CACHE_DIR is empty): none are kept.
 */
bool sl_index_store_folder(char *folder, size_t bytes);

/* Creates a folder with all its parents, for the user only. False: it cannot be created. */
bool sl_index_store_make_folder(const char *folder);

/* Loads the kept index of a file, if it matches. Blocks: reads the file's sample. */
bool sl_index_store_load(sl_file_index *index, sl_index_kind kind, const sl_open_file *file,
                         const char *folder);
/* Keeps an index if possible, for the user only; index->file has the file's sample. */
void sl_index_store_keep(const sl_file_index *index, const char *path, const char *folder);

#endif
