/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_cache: indexes of archives, kept so that each is walked once.
 *
 * Purpose: NAME.sluice-index beside the archive, if somebody put it there, or else a file in the
 * user's cache folder; written there when an archive was walked. An index holds for the archive's
 * size and time of change and has a checksum; one that does not fit, or that cannot be read or
 * written, is no error: the archive is walked.
 * Threads: any; several processes may write the same one (it is renamed into place).
 *
 * Layout, little-endian: "SLUICETI", u32 version (1), u32 extensions, u64 the archive's bytes, i64
 * its time of change (ns since 1970), u64 samples, u32 1 if a sample has two pictures, u32 0; 32
 * bytes for each extension; samples x u64 offsets; samples x u32 bytes; u64 XXH3-64 of all before.
 */
#ifndef SL_TAR_CACHE_H
#define SL_TAR_CACHE_H

#include "tar_index.h"

/* Where indexes are kept: $SLUICE_CACHE_DIR, $XDG_CACHE_HOME/sluice or ~/.cache/sluice. False, and
 * "" in `folder`, when none of them is set (or SLUICE_CACHE_DIR is empty): none are. */
bool sl_tar_cache_folder(char *folder, size_t bytes);

/* The index of the archive at `path`, if one is kept that fits. */
bool sl_tar_cache_load(sl_tar_index *index, const char *path, const char *folder);
/* Keeps it, if that can be done. */
void sl_tar_cache_store(const sl_tar_index *index, const char *path, const char *folder);

/* An index as bytes (malloc'd by sl_malloc), and back; false: no memory, or not sound. */
bool sl_tar_index_encode(const sl_tar_index *index, uint8_t **bytes, size_t *size);
bool sl_tar_index_decode(sl_tar_index *index, const uint8_t *bytes, size_t size);

#endif
