/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_links: the files that an archive's links stand for.
 *
 * Purpose: GNU tar writes the second name of a file as a hard link to the first one, and people put
 * symbolic links into archives; their contents are those of another member. A link is followed by
 * the rules of extracting: a hard link to the member of that name that stands before it, or else to
 * the last one; a symbolic link, from its own folder, to the last one; links to links as far as
 * they go. Links that leave the archive stand for nothing. Use: add each link of a first walk,
 * begin, meet each member of a second walk, settle; then `of` has the links in their order.
 * Threads: one owner. Memory: the names of links and of their targets. Ownership:
 * sl_tar_links_close.
 */
#ifndef SL_TAR_LINKS_H
#define SL_TAR_LINKS_H

#include "tar_walk.h"

/* What stands under a name. */
typedef struct sl_tar_target {
    enum {
        SL_TAR_TARGET_NONE,
        SL_TAR_TARGET_FILE,
        SL_TAR_TARGET_LINK /* number `data` of the archive's links */
    } kind;
    uint64_t data, bytes; /* as of an sl_tar_member */
} sl_tar_target;

typedef struct sl_tar_link {
    char *name; /* of the target, from the archive's root; owned; NULL: not in the archive */
    bool is_symbolic;
    sl_tar_target target; /* once settled: a file, or nothing */
} sl_tar_link;

/* A target's name, and what stands under it by now. */
typedef struct sl_tar_name {
    const char *name;
    sl_tar_target target;
} sl_tar_name;

typedef struct sl_tar_links {
    sl_tar_link *of;
    uint64_t count, capacity;
    sl_tar_name *names; /* sorted, each once */
    uint64_t name_count, met;
} sl_tar_links;

/* Whether a member is one. */
static inline bool sl_tar_is_link(const sl_tar_member *member)
{
    return member->kind == SL_TAR_LINK || member->kind == SL_TAR_SYMLINK;
}

/* Adds the member at hand, a link. False: no memory. */
bool sl_tar_links_add(sl_tar_links *links, const sl_tar_walk *walk);
/* All are added. False: no memory. */
bool sl_tar_links_begin(sl_tar_links *links);
/* Takes in the member at hand, whatever it is. */
void sl_tar_links_meet(sl_tar_links *links, const sl_tar_walk *walk);
/* All members were met. */
void sl_tar_links_settle(sl_tar_links *links);
/* May be zero-initialised. */
void sl_tar_links_close(sl_tar_links *links);

/* `to` becomes the path `name`, from `folder_bytes` of `folder` on, without "." and "..". False: it
 * leaves the archive, or is too long. */
bool sl_tar_path(char to[SL_TAR_NAME_MAX + 1], const char *folder, size_t folder_bytes,
                 const char *name);

#endif
