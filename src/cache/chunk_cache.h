/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_cache: pieces of remote objects, kept on a local disk.
 *
 * Purpose: an object is cut into chunks of 8 MiB (the last one is shorter). Each chunk is one file,
 * DIR/chunks-1/OBJECT-NUMBER: its bytes, then the address, the ETag and a footer with checksums
 * (chunk_file.h). OBJECT is a hash of address, ETag and size. The writer fills NAME.part and then
 * renames it, so a file with a final name is complete, unless the machine lost power: nothing is
 * synced. Such a torn file fails its checksum, since each process verifies a chunk at its first
 * use, unless it wrote the chunk itself. A damaged chunk is removed and counted.
 *
 * One folder serves all processes of a host. The writer of a chunk holds a lock on NAME.part, which
 * ends with the process; other processes wait for the chunk or read past it. DIR/chunks-1/ledger
 * counts the bytes kept (chunk_ledger.h). Readers hold descriptors, so an evicted chunk stays
 * readable until the last of them closes it.
 *
 * A full disk, a read-only folder, or a file system without locks turns keeping off, with a reason
 * in the stats; after a transient cause, such as a full disk, keeping is tried again after a
 * minute. A wiped folder is created again. Reading continues in all cases. A folder that other
 * users may write to is rejected, since its bytes would be trusted. Links in the folder are not
 * followed. Files with another name, version or kind are ignored and never removed.
 *
 * Threads: any. Lock: one mutex per cache for the table of open chunks, not held while files are
 * opened, read or written. Descriptors: at most a quarter of the limit, and at most 1024. A child
 * made by fork opens its own cache; closing its parent's does nothing there.
 */
#ifndef SL_CHUNK_CACHE_H
#define SL_CHUNK_CACHE_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_CHUNK_BYTES (UINT64_C(8) << 20)

typedef struct sl_chunk_cache sl_chunk_cache;
typedef struct sl_cached_object sl_cached_object;

/*
 * Opens the cache of a folder, which is created if it does not exist. Each folder has one counted
 * cache per process; the last caller's quota applies. `most_bytes` 0: nine tenths of the free space
 * and of what the cache already has. Also OK if the folder is not writable: the stats say why
 * nothing is kept. Errors: INVALID (no path, or too long), IO (the folder cannot be created, or
 * others may write to it), NOMEM, CANCELED.
 */
sluice_status sl_chunk_cache_open(sl_chunk_cache **cache, const char *folder, uint64_t most_bytes,
                                  sluice_error *error);
void sl_chunk_cache_close(sl_chunk_cache *cache); /* NULL is a no-op */

/*
 * Opens the identity of an object's chunks: address without secrets, ETag, size. Counted: one per
 * object and cache. NULL: no memory, or the address or ETag is too long.
 */
sl_cached_object *sl_cached_object_open(sl_chunk_cache *cache, const char *address,
                                        const char *etag, uint64_t bytes);
void sl_cached_object_close(sl_cached_object *object); /* NULL is a no-op */
/* Returns false in a child forked since then: its parent's locks are not its own. */
bool sl_cached_object_is_own(const sl_cached_object *object);
uint64_t sl_cached_object_chunks(const sl_cached_object *object);
const char *sl_cached_object_address(const sl_cached_object *object);

typedef enum sl_chunk_state { SL_CHUNK_ABSENT = 0, SL_CHUNK_COMING, SL_CHUNK_HERE } sl_chunk_state;

/*
 * Finds a chunk. HERE: `*use` has a descriptor with the chunk's bytes from offset 0 on, which stays
 * open until sl_chunk_done. COMING: some process is writing it. The first use opens and verifies
 * the file, which blocks on the disk. ABSENT also if all descriptors are in use.
 */
typedef struct sl_chunk_use {
    int fd;
    uint32_t entry;
    uint32_t bytes; /* size of the chunk; the file has further bytes */
} sl_chunk_use;
sl_chunk_state sl_chunk_find(sl_cached_object *object, uint64_t chunk, sl_chunk_use *use);
void sl_chunk_done(sl_cached_object *object, const sl_chunk_use *use);
/* Returns the state by the file's name alone, without opening a chunk. */
sl_chunk_state sl_chunk_look(sl_cached_object *object, uint64_t chunk);

/*
 * Begins to write a chunk. OK: the caller owns the part until sl_chunk_keep or sl_chunk_drop.
 * AGAIN: another writer has it. END: it exists already, there is no space, or keeping is off. IO:
 * the file cannot be created; keeping is off now.
 */
typedef struct sl_chunk_part sl_chunk_part;
sluice_status sl_chunk_begin(sl_cached_object *object, uint64_t chunk, sl_chunk_part **part,
                             sluice_error *error);
/*
 * Writes all bytes of the chunk; ends the part in any case. END: there is no space any more.
 * INVALID: `count` is not the chunk's size. IO: the disk is full or fails; keeping is off now.
 */
sluice_status sl_chunk_keep(sl_chunk_part *part, const void *bytes, size_t count,
                            sluice_error *error);
void sl_chunk_drop(sl_chunk_part *part);

/* Returns how many bytes may still be written. */
uint64_t sl_chunk_cache_space(sl_chunk_cache *cache);
/* Removes a chunk, for all processes. True if it existed. */
bool sl_chunk_remove(sl_cached_object *object, uint64_t chunk);
/*
 * Removes the least recently used chunks until `bytes` are free, except those of objects that this
 * process has open. Removes nothing while another process has a larger quota for the folder.
 * Returns how many bytes are free. Reads the whole folder now and then.
 */
uint64_t sl_chunk_cache_make_space(sl_chunk_cache *cache, uint64_t bytes);

typedef struct sl_chunk_cache_stats {
    uint64_t hits, hit_bytes, misses, miss_bytes; /* counted by sl_chunk_note */
    uint64_t waits;                           /* number of times sl_chunk_find returned COMING */
    uint64_t written_bytes, removed, damaged; /* by this process */
    uint64_t kept_bytes, most_bytes;
    char off[192]; /* why nothing is written; "": writing is on */
} sl_chunk_cache_stats;
void sl_chunk_cache_get_stats(sl_chunk_cache *cache, sl_chunk_cache_stats *stats);
/* Counts a read of `bytes`. */
void sl_chunk_note(sl_cached_object *object, uint64_t bytes, bool hit);

#endif
