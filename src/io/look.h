/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look: the kind and the beginning of the entry at a path, read once.
 *
 * Purpose: each format is asked whether a path is one of its datasets, and most answer by the kind
 * of the entry, its name and its first bytes. The opener gives one look to all of them, so the
 * number of formats costs no requests. The first question reads the path: one open for a file,
 * which also reads its first bytes, and nothing for a path that is known to be a folder.
 *
 * Threads: one owner. Memory: 4 KiB in the caller's struct, which borrows the path. The file is
 * closed before the first answer, unless the opener has it kept for the format that reads it.
 */
#ifndef SL_LOOK_H
#define SL_LOOK_H

#include "store.h"
#include "view.h"

#define SL_LOOK_BYTES 4096U

/* All members except `path` are private: use the functions. */
typedef struct sl_look {
    const char *path;
    sl_open_file *keeps; /* receives the open file; NULL: it is closed */
    bool taken;
    sl_entry_kind kind;
    int sys_errno;                   /* reason the kind is unknown */
    uint64_t bytes;                  /* size of the file */
    size_t head_bytes;               /* bytes in `head`; 0 if it is not a file or cannot be read */
    uint8_t head[SL_LOOK_BYTES + 1]; /* the first bytes, followed by a NUL */
} sl_look;

/* Begins a look at a path. Reads nothing yet. */
void sl_look_begin(sl_look *look, const char *path);
/* Makes the look leave a file open in `*file`, which must be closed before and is then the caller's
 * to close. Call it before the first question. */
void sl_look_keep_open(sl_look *look, sl_open_file *file);
/* The same as sl_look_begin for a path that is known to be a folder, which is never read. */
void sl_look_begin_folder(sl_look *look, const char *path);

/* Returns the kind of the entry. SL_ENTRY_UNKNOWN: it is missing, or the store does not answer; see
 * the errno. A failure is noted as a doubt (sl_store_note_doubts). */
sl_entry_kind sl_look_kind(sl_look *look);
int sl_look_errno(sl_look *look);
/* Returns the size of a file; otherwise 0. */
uint64_t sl_look_bytes(sl_look *look);
/* Returns the first bytes of a file, at most `most` of SL_LOOK_BYTES. Empty if they cannot be
 * read. */
sl_bytes sl_look_head(sl_look *look, size_t most);
/* Returns the first SL_LOOK_BYTES of a file as a string, which ends early at a NUL in the file. */
const char *sl_look_text(sl_look *look);

static inline bool sl_look_is_file(sl_look *look)
{
    return sl_look_kind(look) == SL_ENTRY_FILE;
}

static inline bool sl_look_is_folder(sl_look *look)
{
    return sl_look_kind(look) == SL_ENTRY_FOLDER;
}

#endif
