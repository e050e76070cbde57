/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_rig: a cache of chunks in a temporary folder, and objects whose bytes follow from their
 * name, so that every read can be compared. Tests use test_folder_make. Threads: any.
 */
#ifndef SL_CHUNK_RIG_H
#define SL_CHUNK_RIG_H

#include "chunk_cache.h"
#include "test_folder.h"

#include <stdbool.h>

enum { CHUNK_RIG_SMALL = 100000 };

/* The folder of the cache. */
const char *chunk_rig_folder(void);
/* A cache in it, opened. */
sl_chunk_cache *chunk_rig_open(uint64_t most_bytes);
/* An object "s3://b/NUMBER" of so many bytes. */
sl_cached_object *chunk_rig_object(sl_chunk_cache *cache, unsigned number, uint64_t bytes);
/* The bytes of a chunk of such an object; the caller frees them. */
uint8_t *chunk_rig_bytes(unsigned number, uint64_t chunk, size_t count);
/* Writes a chunk: the status of begin, or of keep. */
sluice_status chunk_rig_keep(sl_cached_object *object, unsigned number, uint64_t chunk);
/* Finds a chunk, and asserts that it has the right bytes if it is HERE. */
sl_chunk_state chunk_rig_check(sl_cached_object *object, unsigned number, uint64_t chunk);
/* Writes, and closes again, small objects 0 to count - 1. */
void chunk_rig_fill(sl_chunk_cache *cache, unsigned count);
/* The path of the file of a chunk, or of its part. Valid until the next call but three. */
const char *chunk_rig_file(const sl_cached_object *object, uint64_t chunk, const char *suffix);
/* How many files of chunks the folder has, or with SL_CHUNK_PART parts. */
unsigned chunk_rig_count(const char *suffix);

#endif
