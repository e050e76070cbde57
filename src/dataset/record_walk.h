/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_walk: the index of a file of records, made by reading their heads one after another.
 *
 * Purpose: what TFRecord and RecordIO files have in common: a record's head says how long the
 * record is, so a file is walked by a few bytes of each. Where records are small all that is near
 * is read at once, where they are large the head alone. A format has one function, the step from a
 * record to the next, which also checks an index that another tool left. Threads: one owner.
 * Memory: the window; the index.
 */
#ifndef SL_RECORD_WALK_H
#define SL_RECORD_WALK_H

#include "file_index.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_RECORD_WINDOW_BYTES ((size_t)64 << 10)

/* A file that is walked. For steps, which read `file` only. */
typedef struct sl_record_walk {
    sl_handle handle; /* the caller's, which stays open */
    sl_file_identity file;
    uint64_t looked; /* where the last look was */
    uint64_t at;     /* of the bytes in `data` */
    size_t bytes;
    uint8_t data[SL_RECORD_WINDOW_BYTES];
} sl_record_walk;

/*
 * Goes on from `*at`, where a record begins (before the file's end), to where the next one does.
 * Errors, naming file and offset: those of look and skip, and CORRUPT or UNSUPPORTED.
 */
typedef sluice_status (*sl_record_step)(sl_record_walk *walk, uint64_t *at, sluice_error *error);

/* Walks a file, record by record, to its end. Blocks. Errors: those of the step; IO,
 * NOMEM; then the index is closed. */
sluice_status sl_record_walk_file(sl_file_index *index, sl_index_kind kind,
                                  const sl_open_file *file, sl_record_step step,
                                  sluice_error *error);
/* Whether `looks` records of an index that is not empty (at least 2; evenly spaced, the first and
 * the last among them) are records of the file. */
bool sl_record_walk_matches(const sl_file_index *index, const sl_open_file *file, uint32_t looks,
                            sl_record_step step);

/* ---- for steps ---- */

/* CORRUPT, at `at`. */
sluice_status sl_record_walk_refuse(const sl_record_walk *walk, uint64_t at, const char *why,
                                    sluice_error *error);
/* As sl_record_walk_look, of what may have to be read. */
sluice_status sl_record_walk_read(sl_record_walk *walk, uint64_t at, size_t bytes,
                                  const uint8_t **head, sluice_error *error);

/* `*head` is the `bytes` at `at`, until the next look. Errors: IO, CORRUPT (the file ends there, or
 * is shorter than when it was opened). */
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

/* Moves `*at` behind a frame of `frame` bytes, which were looked at, and `payload` bytes. CORRUPT:
 * the file ends before. */
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
