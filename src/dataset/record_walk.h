/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_walk: builds the index of a file of records by reading their heads one after another.
 *
 * Purpose: the common part of TFRecord and RecordIO: a record's head contains its length, so a walk
 * reads a few bytes of each record. If records are small, the data around a head is read with it;
 * if they are large, only the head. A format provides one function, the step from a record to the
 * next, which also checks an index that another tool left. Threads: one owner. Memory: the window;
 * the index.
 */
#ifndef SL_RECORD_WALK_H
#define SL_RECORD_WALK_H

#include "file_index.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_RECORD_WINDOW_BYTES ((size_t)64 << 10)

/* A file that is being walked. Steps only read `file`. */
typedef struct sl_record_walk {
    sl_handle handle; /* the caller's, which stays open */
    sl_file_identity file;
    uint64_t looked; /* end of the last look */
    uint64_t at;     /* file offset of `data` */
    size_t bytes;
    uint8_t data[SL_RECORD_WINDOW_BYTES];
} sl_record_walk;

/*
 * Steps from `*at`, where a record begins (before the file's end), to the beginning of the next
 * record. Errors, with file and offset: those of look and skip, and CORRUPT or UNSUPPORTED.
 */
typedef sluice_status (*sl_record_step)(sl_record_walk *walk, uint64_t *at, sluice_error *error);

/*
 * Walks a file, record by record, to its end. Blocks. Errors: those of the step; IO, NOMEM. Closes
 * the index on error.
 */
sluice_status sl_record_walk_file(sl_file_index *index, sl_index_kind kind,
                                  const sl_open_file *file, sl_record_step step,
                                  sluice_error *error);
/*
 * Returns whether `looks` records of a non-empty index (at least 2, evenly spaced, including the
 * first and the last) are records of the file.
 */
bool sl_record_walk_matches(const sl_file_index *index, const sl_open_file *file, uint32_t looks,
                            sl_record_step step);

/* ---- for steps ---- */

/* Fails with CORRUPT at `at`. */
sluice_status sl_record_walk_refuse(const sl_record_walk *walk, uint64_t at, const char *why,
                                    sluice_error *error);
/* Does the same as sl_record_walk_look for bytes that may have to be read. */
sluice_status sl_record_walk_read(sl_record_walk *walk, uint64_t at, size_t bytes,
                                  const uint8_t **head, sluice_error *error);

/*
 * Sets `*head` to the `bytes` at `at`, valid until the next look. Errors: IO, CORRUPT (the file
 * ends there, or was shortened since it was opened).
 */
static inline sluice_status sl_record_walk_look(sl_record_walk *walk, uint64_t at, size_t bytes,
                                                const uint8_t **head, sluice_error *error)
{
    if (at < walk->at || at - walk->at + bytes > walk->bytes) {
        return sl_record_walk_read(walk, at, bytes, head, error);
    }
    walk->looked = at;
    *head = walk->data + (at - walk->at);
    return SLUICE_OK;
}

/*
 * Moves `*at` past a frame of `frame` bytes, which were looked at, and `payload` bytes. CORRUPT:
 * the file ends before that.
 */
static inline sluice_status sl_record_walk_skip(const sl_record_walk *walk, uint64_t *at,
                                                uint32_t frame, uint64_t payload,
                                                sluice_error *error)
{
    if (payload > walk->file.bytes - *at - frame) {
        return sl_record_walk_refuse(
            walk, *at, "the file is truncated: its last record is longer than the rest of the file",
            error);
    }
    *at += frame + payload;
    return SLUICE_OK;
}

#endif
