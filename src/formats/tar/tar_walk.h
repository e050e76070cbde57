/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_walk: iterates over the members of a tar archive.
 *
 * Purpose: the only code that knows the archive's blocks: v7 and ustar headers (POSIX.1-1988), GNU
 * long names and base-256 numbers, and pax headers (POSIX.1-2001), as GNU tar, bsdtar and Python's
 * tarfile write them. It does no I/O: the caller passes `want` bytes at `at` to each step, from a
 * file or from memory. member_names.h interprets the names. A header is only trusted within its
 * checksum and bounds; no file is ever created from a member's name. Threads: one owner per walk.
 * Does not allocate.
 */
#ifndef SL_TAR_WALK_H
#define SL_TAR_WALK_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_TAR_BLOCK     512U
#define SL_TAR_NAME_MAX  4095U
#define SL_TAR_EXTRA_MAX (1U << 20) /* limit of one long name or pax header */

typedef enum sl_tar_kind {
    SL_TAR_FILE,    /* the payload is the contents */
    SL_TAR_SPARSE,  /* a file with holes, whose payload is not its contents */
    SL_TAR_LINK,    /* another name of the member `link` */
    SL_TAR_SYMLINK, /* a symbolic link; `link` is relative to the member's folder */
    SL_TAR_FOLDER,  /* a folder or the archive's label */
    SL_TAR_DEVICE,  /* a device or pipe */
    SL_TAR_OTHER    /* unknown type */
} sl_tar_kind;

typedef struct sl_tar_member {
    sl_tar_kind kind;
    uint64_t begin; /* offset of the first block, which may be that of the long name */
    uint64_t data;  /* offset of the payload */
    uint64_t bytes; /* size of the payload, without padding */
} sl_tar_member;

typedef struct sl_tar_walk {
    uint64_t at;   /* offset of the next bytes wanted */
    uint32_t want; /* number of bytes wanted: at most SL_TAR_EXTRA_MAX */
    /* The members below are internal. */
    uint64_t begin; /* offset of the current member */
    sl_tar_member member;
    uint64_t size;  /* size from a pax header */
    uint32_t extra; /* type of the header whose payload is wanted; 0: a header is wanted */
    bool has_size, has_name, has_link, is_sparse;
    char name[SL_TAR_NAME_MAX + 1]; /* name of the member that the last step reported */
    char link[SL_TAR_NAME_MAX + 1]; /* target of a link; "": none, or too long */
} sl_tar_walk;

typedef enum sl_tar_step {
    SL_TAR_GO_ON,  /* more bytes are wanted before a member is complete */
    SL_TAR_MEMBER, /* `walk->member` and `walk->name` describe a member */
    SL_TAR_END,    /* the end mark of the archive, at `walk->at` */
    SL_TAR_REFUSED /* invalid: `why` has the reason, with an offset relative to the given bytes */
} sl_tar_step;

/* Begins a walk at `at`, over an archive or over a part that begins with a member. */
void sl_tar_begin(sl_tar_walk *walk, uint64_t at);
/* Makes one step. `bytes`: the wanted bytes. */
sl_tar_step sl_tar_next(sl_tar_walk *walk, const uint8_t *bytes, sl_refusal *why);

/* Rounds up to whole blocks. */
static inline uint64_t sl_tar_padded(uint64_t bytes)
{
    return (bytes + SL_TAR_BLOCK - 1) / SL_TAR_BLOCK * SL_TAR_BLOCK;
}

/* Returns whether a block is a header, by its checksum. */
bool sl_tar_is_header(const uint8_t block[SL_TAR_BLOCK]);

#endif
