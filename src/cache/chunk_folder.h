/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_folder: the folder of chunk files, opened so that nobody else can have put bytes there.
 *
 * Purpose: chunks are in DIR/chunks-1, a folder owned by the user or root that only they may write
 * to. DIR itself may be reached through a link; it must be the user's or root's, and not writable
 * by everybody, unless its sticky bit is set. Files are opened by their names in chunks-1, never
 * through links. If the folder was removed, sl_chunk_folder_again creates it again, under the same
 * descriptor number. Threads: any, except for open and close. Lock: none.
 */
#ifndef SL_CHUNK_FOLDER_H
#define SL_CHUNK_FOLDER_H

#include "chunk_file.h"

typedef struct sl_chunk_folder {
    char *path; /* DIR; owned */
    int fd;     /* of DIR/chunks-1; -1: none */
    int failed; /* errno of creating it on a disk that is full or read-only; 0: no failure */
} sl_chunk_folder;

/*
 * Opens the folder. `create`: creates DIR with all its parents, and chunks-1; OK with `failed` if
 * the disk is full or read-only. Otherwise OK with fd -1 if DIR has no chunks. Errors: INVALID, IO,
 * NOMEM.
 */
sluice_status sl_chunk_folder_open(sl_chunk_folder *folder, const char *path, bool create,
                                   sluice_error *error);
void sl_chunk_folder_close(sl_chunk_folder *folder);
/* Creates the folder again after it was removed. Returns 0, or -errno. */
int sl_chunk_folder_again(const sl_chunk_folder *folder);

typedef struct sl_chunk_found {
    const char *name;
    sl_chunk_key key;
    bool is_part;
    struct stat facts;
} sl_chunk_found;

/*
 * Calls `visit` for each regular file with a chunk's name. Returns false if the folder cannot be
 * read, or the thread is to stop (errno ECANCELED), or a visit returns false.
 */
bool sl_chunk_folder_scan(const sl_chunk_folder *folder,
                          bool (*visit)(void *ctx, const sl_chunk_found *found), void *ctx);

/*
 * Opens a chunk's file, or its part, to read. Returns -errno on failure; -EINVAL: not a regular
 * file.
 */
int sl_chunk_folder_read(const sl_chunk_folder *folder, const char *name, struct stat *facts);
/* Returns true if some process holds the lock of this part. */
bool sl_chunk_folder_is_coming(const sl_chunk_folder *folder, sl_chunk_key key);
/* Removes a part whose writer has died. */
void sl_chunk_folder_clear(const sl_chunk_folder *folder, const char *part);
/* Returns true if the name still belongs to the file with these facts. */
bool sl_chunk_folder_has(const sl_chunk_folder *folder, const char *name, const struct stat *facts);

/*
 * Locks one byte of an open file, while the description is open. `type` is F_WRLCK, F_RDLCK or
 * F_UNLCK. Returns 0, or -errno: EAGAIN if another one has it.
 */
int sl_chunk_lock(int fd, short type, off_t byte);

#endif
