/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_list: lists the contents of a folder of chunks, for programs that manage it.
 *
 * Purpose: lists the objects, verifies all checksums, and removes chunks, without opening a
 * dataset, while other processes may use the folder. A folder without chunks is not an error.
 * Memory: 40 bytes per file. Observes the thread's stop. Threads: any.
 */
#ifndef SL_CHUNK_LIST_H
#define SL_CHUNK_LIST_H

#include <sluice/common.h>

#include <stdint.h>

typedef struct sl_chunk_listed {
    const char *address, *etag; /* valid during the call */
    uint64_t object_bytes;
    uint64_t chunks, bytes; /* chunks kept, without their tails */
    int64_t used_s;         /* latest use of a chunk, seconds since 1970 */
} sl_chunk_listed;

typedef sluice_status (*sl_chunk_list_visit)(void *ctx, const sl_chunk_listed *object,
                                             sluice_error *error);

/*
 * Visits each object with kept chunks, ordered by address and ETag. Skips unreadable and damaged
 * files. Errors: IO, INVALID, NOMEM, CANCELED, those of `visit`.
 */
sluice_status sl_chunk_list(const char *folder, sl_chunk_list_visit visit, void *ctx,
                            sluice_error *error);

typedef struct sl_chunk_work {
    uint64_t chunks, bytes;          /* valid or removed chunks */
    uint64_t damaged, damaged_bytes; /* removed */
} sl_chunk_work;
/* Called after each file; may be NULL. */
typedef struct sl_chunk_progress {
    void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
    void *ctx;
} sl_chunk_progress;

/*
 * Reads all chunks, and removes damaged ones. Errors as above; `work` also counts the chunks done
 * before an error.
 */
sluice_status sl_chunk_list_verify(const char *folder, const sl_chunk_progress *progress,
                                   sl_chunk_work *work, sluice_error *error);
/* Removes the chunks of addresses that begin with `prefix`; "" or NULL: all. */
sluice_status sl_chunk_list_empty(const char *folder, const char *prefix,
                                  const sl_chunk_progress *progress, sl_chunk_work *work,
                                  sluice_error *error);

/*
 * Finds another process that has the part of a chunk open, among those that this user may inspect.
 * 0: none.
 */
long sl_chunk_find_writer(const char *folder);

#endif
