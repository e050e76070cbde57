/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_rig: a cache of chunks in a temporary folder, and objects whose bytes are derived from
 * their names, so that every read can be checked. Tests use test_folder_make. Threads: any.
 */
#ifndef SL_CHUNK_RIG_H
#define SL_CHUNK_RIG_H

#include "chunk_cache.h"
#include "test_folder.h"

#include <stdbool.h>

enum { CHUNK_RIG_SMALL = 100000 };

/* The folder of the cache. */
const char *chunk_rig_folder(void);
/* Opens a cache in that folder. */
sl_chunk_cache *chunk_rig_open(uint64_t most_bytes);
/* Returns an object "s3://b/NUMBER" of this size. */
sl_cached_object *chunk_rig_object(sl_chunk_cache *cache, unsigned number, uint64_t bytes);
/* Returns the bytes of a chunk of such an object; the caller frees them. */
uint8_t *chunk_rig_bytes(unsigned number, uint64_t chunk, size_t count);
/* Writes a chunk; returns the status of begin, or of keep. */
sluice_status chunk_rig_keep(sl_cached_object *object, unsigned number, uint64_t chunk);
/* Finds a chunk, and asserts that it has the right bytes if it is HERE. */
sl_chunk_state chunk_rig_check(sl_cached_object *object, unsigned number, uint64_t chunk);
/* Writes and closes the small objects 0 to count - 1. */
void chunk_rig_fill(sl_chunk_cache *cache, unsigned count);
/* Returns the path of a chunk's file, or of its part file. Valid for the next three calls. */
const char *chunk_rig_file(const sl_cached_object *object, uint64_t chunk, const char *suffix);
/* Returns the number of chunk files in the folder, or of part files for SL_CHUNK_PART. */
unsigned chunk_rig_count(const char *suffix);

#endif
