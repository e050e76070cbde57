/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip_directory: lists the members of a zip archive and the locations of their data.
 *
 * Purpose: implements what numpy's archives need of PKWARE's APPNOTE 6.3: the end record and its
 * zip64 variant, the central directory, and local headers. Members may be stored or deflated. Sizes
 * and checksums come from the directory, so data descriptors are not needed; local headers are
 * compared with it. The directory directly precedes the end record, and offsets count from the
 * file's first byte, as all tools write it unless they append to other data. Names are compared,
 * and never used as paths. Threads: pure. No allocation. Offsets in errors are relative to the
 * given bytes.
 */
#ifndef SL_ZIP_DIRECTORY_H
#define SL_ZIP_DIRECTORY_H

#include "error.h"
#include "view.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_ZIP_END_BYTES 22U
/*
 * Maximum size of the end records: the zip64 record and its locator, the end record, its comment.
 */
#define SL_ZIP_TAIL_BYTES  (56U + 20U + SL_ZIP_END_BYTES + 65535U)
#define SL_ZIP_LOCAL_BYTES 30U /* size before the name */

/* Location of the directory. */
typedef struct sl_zip_end {
    uint64_t offset, bytes, members;
} sl_zip_end;

typedef enum sl_zip_method { SL_ZIP_STORED = 0, SL_ZIP_DEFLATED = 8 } sl_zip_method;

typedef struct sl_zip_member {
    sl_bytes name;       /* name, pointing into the directory's bytes */
    const char *refused; /* string literal: why the member cannot be read; NULL: it can */
    uint64_t header;     /* offset of its local header in the file */
    uint64_t data;       /* offset of its data: set by sl_zip_enter */
    uint64_t packed;     /* stored size */
    uint64_t bytes;      /* unpacked size */
    uint32_t crc;        /* CRC-32 of the unpacked data */
    uint16_t method;
} sl_zip_member;

/*
 * Finds the directory by the last bytes of a file: all of it, or SL_ZIP_TAIL_BYTES; fewer are
 * enough if the archive has no comment.
 */
sl_refusal sl_zip_find_end(sl_zip_end *end, sl_bytes tail, uint64_t file_bytes);

typedef struct sl_zip_walk {
    sl_bytes directory;
    size_t at;
    uint64_t left;  /* members left */
    uint64_t limit; /* offset of the directory, which follows all members */
} sl_zip_walk;

/* Begins a walk. `directory`: end->bytes at end->offset. */
void sl_zip_begin(sl_zip_walk *walk, const sl_zip_end *end, sl_bytes directory);
/* Reads the next member. `*found` false: no more members, and the whole directory was read. */
sl_refusal sl_zip_next(sl_zip_walk *walk, sl_zip_member *member, bool *found);

/*
 * Reads the member's local header and checks that it matches: name, method and, if present,
 * checksum and sizes. `local`: the file's bytes from member->header on, with at least
 * SL_ZIP_LOCAL_BYTES, the name, and the extra fields if they hold a size. Sets member->data, and
 * checks that the member ends before `limit`.
 */
sl_refusal sl_zip_enter(sl_zip_member *member, sl_bytes local, uint64_t limit);

/*
 * Parses a local header without the directory: name, method, and `data` relative to it. False: not
 * a header, or it does not end within `local`.
 */
bool sl_zip_local(sl_zip_member *member, sl_bytes local);

/* Returns whether two entered members share bytes. */
static inline bool sl_zip_overlap(const sl_zip_member *a, const sl_zip_member *b)
{
    return a->header < b->data + b->packed && b->header < a->data + a->packed;
}

#endif
