/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_walk: the members of a tar archive, from header to header.
 *
 * Purpose: the one place that knows the archive's blocks: v7 and ustar headers (POSIX.1-1988),
 * GNU's long names and base-256 numbers, pax headers (POSIX.1-2001), as GNU tar, bsdtar and
 * Python's tarfile write them. It reads nothing itself: `want` bytes at `at` are to be given to
 * each step, from a file or from memory. What a member is called matters to member_names.h. A
 * header is trusted by its checksum and bounds only; nothing is ever created by a member's name.
 * Threads: a walk belongs to whoever walks. No allocation.
 */
#ifndef SL_TAR_WALK_H
#define SL_TAR_WALK_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_TAR_BLOCK     512U
#define SL_TAR_NAME_MAX  4095U
#define SL_TAR_EXTRA_MAX (1U << 20) /* of one long name or pax header */

typedef enum sl_tar_kind {
    SL_TAR_FILE,    /* its payload is its contents */
    SL_TAR_SPARSE,  /* a file with holes, whose payload is not its contents */
    SL_TAR_LINK,    /* another name of the member `link` */
    SL_TAR_SYMLINK, /* a symbolic link: `link` counts from the member's folder */
    SL_TAR_FOLDER,  /* or the archive's label */
    SL_TAR_DEVICE,  /* or a pipe */
    SL_TAR_OTHER    /* of a type that is not known */
} sl_tar_kind;

typedef struct sl_tar_member {
    sl_tar_kind kind;
    uint64_t begin; /* of its first block, which may be that of its long name */
    uint64_t data;  /* of its payload */
    uint64_t bytes; /* of it, without the padding */
} sl_tar_member;

typedef struct sl_tar_walk {
    uint64_t at;   /* where the next bytes are wanted */
    uint32_t want; /* how many: at most SL_TAR_EXTRA_MAX */
    /* The rest is the walk's own. */
    uint64_t begin; /* of the member at hand */
    sl_tar_member member;
    uint64_t size;  /* that a pax header says */
    uint32_t extra; /* kind of the header whose payload is wanted; 0: a header is */
    bool has_size, has_name, has_link, is_sparse;
    char name[SL_TAR_NAME_MAX + 1]; /* of the member that the last step gave */
    char link[SL_TAR_NAME_MAX + 1]; /* of a link: what it names; "": too long, or nothing */
} sl_tar_walk;

typedef enum sl_tar_step {
    SL_TAR_GO_ON,  /* more is wanted before a member is known */
    SL_TAR_MEMBER, /* `walk->member` and `walk->name` are one */
    SL_TAR_END,    /* the mark at the archive's end, at `walk->at` */
    SL_TAR_REFUSED /* `why` says it; its offset counts from the bytes given */
} sl_tar_step;

/* Of an archive, or of a part that begins with a member, at `at`. */
void sl_tar_begin(sl_tar_walk *walk, uint64_t at);
/* `bytes`: those wanted. */
sl_tar_step sl_tar_next(sl_tar_walk *walk, const uint8_t *bytes, sl_refusal *why);

/* The bytes of whole blocks that so many take. */
static inline uint64_t sl_tar_padded(uint64_t bytes)
{
    return (bytes + SL_TAR_BLOCK - 1) / SL_TAR_BLOCK * SL_TAR_BLOCK;
}

/* Whether a block is a header, by its checksum. */
bool sl_tar_is_header(const uint8_t block[SL_TAR_BLOCK]);

#endif
