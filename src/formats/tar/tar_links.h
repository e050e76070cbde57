/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_links: resolves the links of an archive to files.
 *
 * Purpose: GNU tar writes the second name of a file as a hard link to the first one, and people put
 * symbolic links into archives; their contents are those of another member. Links are followed as
 * when extracting. A hard link refers to the preceding member of its target's name, or else to the
 * last one. A symbolic link is relative to its own folder and refers to the last such member. Links
 * to links are followed to their end. Links that leave the archive resolve to nothing. Use: add
 * each link in a first walk, begin, meet each member in a second walk, settle; then `of` has the
 * links in their order. Threads: one owner. Memory: the names of links and of their targets.
 * Ownership: sl_tar_links_close.
 */
#ifndef SL_TAR_LINKS_H
#define SL_TAR_LINKS_H

#include "tar_walk.h"

/* What a name resolves to. */
typedef struct sl_tar_target {
    enum {
        SL_TAR_TARGET_NONE,
        SL_TAR_TARGET_FILE,
        SL_TAR_TARGET_LINK /* link number `data` of the archive */
    } kind;
    uint64_t data, bytes; /* as in sl_tar_member */
} sl_tar_target;

typedef struct sl_tar_link {
    char *name; /* path of the target from the archive's root; owned; NULL: outside the archive */
    bool is_symbolic;
    sl_tar_target target; /* after settling: a file, or nothing */
} sl_tar_link;

/* A target's name, and what it resolves to so far. */
typedef struct sl_tar_name {
    const char *name;
    sl_tar_target target;
} sl_tar_name;

typedef struct sl_tar_links {
    sl_tar_link *of;
    uint64_t count, capacity;
    sl_tar_name *names; /* sorted, without duplicates */
    uint64_t name_count, met;
} sl_tar_links;

/* Returns whether a member is a link. */
static inline bool sl_tar_is_link(const sl_tar_member *member)
{
    return member->kind == SL_TAR_LINK || member->kind == SL_TAR_SYMLINK;
}

/* Adds the current member, a link. False: no memory. */
bool sl_tar_links_add(sl_tar_links *links, const sl_tar_walk *walk);
/* Ends the adding of links. False: no memory. */
bool sl_tar_links_begin(sl_tar_links *links);
/* Processes the current member, of any kind. */
void sl_tar_links_meet(sl_tar_links *links, const sl_tar_walk *walk);
/* Resolves the links after all members were met. */
void sl_tar_links_settle(sl_tar_links *links);
/* Releases `links`, which may be zero-initialised. */
void sl_tar_links_close(sl_tar_links *links);

/*
 * Writes the path `name`, relative to the first `folder_bytes` of `folder`, without "." and "..".
 * False: it leaves the archive, or is too long.
 */
bool sl_tar_path(char to[SL_TAR_NAME_MAX + 1], const char *folder, size_t folder_bytes,
                 const char *name);

#endif
