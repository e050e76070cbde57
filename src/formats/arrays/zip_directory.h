/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip_directory: the members of a zip archive, and where their bytes are.
 *
 * Purpose: of PKWARE's APPNOTE 6.3 what numpy's archives need: the end record and that of zip64,
 * the central directory, local headers. Members may be stored or deflated; sizes and checksums are
 * those of the directory, so that data descriptors do not matter; local headers are compared. The
 * directory is right before the end record and counts from the file's first byte, as all tools
 * write it that do not write to a stream of something else. Names are compared, and never used as
 * paths. Threads: pure. No allocation. Refusals' offsets count from the bytes that are given.
 */
#ifndef SL_ZIP_DIRECTORY_H
#define SL_ZIP_DIRECTORY_H

#include "error.h"
#include "view.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_ZIP_END_BYTES 22U
/* The most that the end records can take: that of zip64 and its locator, the end, its comment. */
#define SL_ZIP_TAIL_BYTES  (56U + 20U + SL_ZIP_END_BYTES + 65535U)
#define SL_ZIP_LOCAL_BYTES 30U /* before the name */

/* Where the directory is. */
typedef struct sl_zip_end {
    uint64_t offset, bytes, members;
} sl_zip_end;

typedef enum sl_zip_method { SL_ZIP_STORED = 0, SL_ZIP_DEFLATED = 8 } sl_zip_method;

typedef struct sl_zip_member {
    sl_bytes name;       /* in the directory's bytes */
    const char *refused; /* literal, why its bytes cannot be had; NULL: they can */
    uint64_t header;     /* where its local header begins in the file */
    uint64_t data;       /* and its bytes: set by sl_zip_enter */
    uint64_t packed;     /* how many they are */
    uint64_t bytes;      /* that it has unpacked */
    uint32_t crc;        /* CRC-32 of those */
    uint16_t method;
} sl_zip_member;

/* Finds the directory by the last bytes of a file: all of it, or SL_ZIP_TAIL_BYTES; fewer will do
 * where the archive has no comment. */
sl_refusal sl_zip_find_end(sl_zip_end *end, sl_bytes tail, uint64_t file_bytes);

typedef struct sl_zip_walk {
    sl_bytes directory;
    size_t at;
    uint64_t left;  /* members */
    uint64_t limit; /* where the directory begins: members are before it */
} sl_zip_walk;

/* `directory`: end->bytes, which begin at end->offset. */
void sl_zip_begin(sl_zip_walk *walk, const sl_zip_end *end, sl_bytes directory);
/* The next member; `*found` false: there are no more, and all of the directory was read. */
sl_refusal sl_zip_next(sl_zip_walk *walk, sl_zip_member *member, bool *found);

/*
 * Takes the member's local header, which has to be its: of the same name, method, and where it has
 * them checksum and sizes. `local` are the file's bytes from member->header on, SL_ZIP_LOCAL_BYTES
 * and the name at least, and its extra fields if a size is in them. Then member->data is known, and
 * its bytes end before `limit`.
 */
sl_refusal sl_zip_enter(sl_zip_member *member, sl_bytes local, uint64_t limit);

/* What a local header says by itself, without the directory: name, method, and `data`, counting
 * from it. False: it is none, or does not end within `local`. */
bool sl_zip_local(sl_zip_member *member, sl_bytes local);

/* Whether bytes of two members, which were entered, are the same. */
static inline bool sl_zip_overlap(const sl_zip_member *a, const sl_zip_member *b)
{
    return a->header < b->data + b->packed && b->header < a->data + a->packed;
}

#endif
