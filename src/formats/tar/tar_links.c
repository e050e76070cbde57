/* SPDX-License-Identifier: Apache-2.0 */
/* tar_links: follows the links of a tar archive, by sorted names. One owner thread. */
#include "tar_links.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* Links to links, at most: as in Linux. */
enum { CHAIN_MAX = 40 };

/* ---- paths ---- */

/* Appends the components of `path` to `to`, whose first `*used` bytes are in use. */
static bool add_components(char *to, size_t *used, const char *path, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const char *slash = memchr(path + at, '/', bytes - at);
        const size_t length = slash != NULL ? (size_t)(slash - path) - at : bytes - at;
        const char *component = path + at;
        at += length + 1;
        if (length == 0 || (length == 1 && component[0] == '.')) {
            continue;
        }
        if (length == 2 && memcmp(component, "..", 2) == 0) {
            if (*used == 0) {
                return false;
            }
            while (*used > 0 && to[--*used] != '/') {
            }
            continue;
        }
        const size_t dash = *used > 0 ? 1 : 0;
        if (*used + dash + length > SL_TAR_NAME_MAX) {
            return false;
        }
        to[*used] = '/';
        memcpy(to + *used + dash, component, length);
        *used += dash + length;
    }
    return true;
}

bool sl_tar_path(char to[SL_TAR_NAME_MAX + 1], const char *folder, size_t folder_bytes,
                 const char *name)
{
    size_t used = 0;
    const bool good = add_components(to, &used, folder, folder_bytes) &&
                      add_components(to, &used, name, strlen(name));
    to[good ? used : 0] = '\0';
    return good;
}

/* ---- links ---- */

bool sl_tar_links_add(sl_tar_links *links, const sl_tar_walk *walk)
{
    char path[SL_TAR_NAME_MAX + 1];
    const bool is_symbolic = walk->member.kind == SL_TAR_SYMLINK;
    const char *slash = strrchr(walk->name, '/');
    const size_t folder = is_symbolic && slash != NULL ? (size_t)(slash - walk->name) : 0;
    char own[SL_TAR_NAME_MAX + 1];
    const bool is_outside =
        walk->link[0] == '\0' || (is_symbolic && walk->link[0] == '/') ||
        !sl_tar_path(path, walk->name, folder, walk->link) ||
        (sl_tar_path(own, "", 0, walk->name) && strcmp(own, path) == 0); /* of itself */
    if (!sl_grow(&links->of, &links->capacity, links->count + 1, sizeof(*links->of)) ||
        links->of == NULL) {
        return false;
    }
    sl_tar_link *link = &links->of[links->count];
    *link = (sl_tar_link){.is_symbolic = is_symbolic};
    if (!is_outside) {
        const size_t bytes = strlen(path) + 1;
        link->name = sl_malloc(bytes);
        if (link->name == NULL) {
            return false;
        }
        memcpy(link->name, path, bytes);
    }
    links->count++;
    return true;
}

static int tar_links_compare(const void *a, const void *b)
{
    return strcmp(((const sl_tar_name *)a)->name, ((const sl_tar_name *)b)->name);
}

bool sl_tar_links_begin(sl_tar_links *links)
{
    links->names = sl_calloc(links->count + 1, sizeof(*links->names));
    if (links->names == NULL) {
        return false;
    }
    uint64_t count = 0;
    for (uint64_t i = 0; i < links->count; i++) {
        if (links->of[i].name != NULL) {
            links->names[count++].name = links->of[i].name;
        }
    }
    qsort(links->names, count, sizeof(*links->names), tar_links_compare);
    for (uint64_t i = 0; i < count; i++) {
        if (i == 0 || tar_links_compare(&links->names[i], &links->names[i - 1]) != 0) {
            links->names[links->name_count++] = links->names[i];
        }
    }
    return true;
}

static sl_tar_name *tar_links_find(const sl_tar_links *links, const char *name)
{
    const sl_tar_name wanted = {.name = name};
    return name == NULL ? NULL
                        : bsearch(&wanted, links->names, links->name_count, sizeof(*links->names),
                                  tar_links_compare);
}

static sl_tar_target target_of(const sl_tar_links *links, const char *name)
{
    const sl_tar_name *found = tar_links_find(links, name);
    return found != NULL ? found->target : (sl_tar_target){.kind = SL_TAR_TARGET_NONE};
}

void sl_tar_links_meet(sl_tar_links *links, const sl_tar_walk *walk)
{
    char path[SL_TAR_NAME_MAX + 1];
    const sl_tar_member *member = &walk->member;
    sl_tar_target own = {.data = member->data, .bytes = member->bytes};
    if (sl_tar_is_link(member)) {
        own = (sl_tar_target){.kind = SL_TAR_TARGET_LINK, .data = links->met++};
        sl_tar_link *link = &links->of[own.data];
        if (!link->is_symbolic) {
            link->target = target_of(links, link->name);
        }
    } else if (member->kind == SL_TAR_FILE) {
        own.kind = SL_TAR_TARGET_FILE;
    }
    sl_tar_name *found = sl_tar_path(path, "", 0, walk->name) ? tar_links_find(links, path) : NULL;
    if (found != NULL) {
        found->target = own;
    }
}

/* What a link leads to next. */
static sl_tar_target tar_links_next(const sl_tar_links *links, const sl_tar_link *link)
{
    return link->target.kind != SL_TAR_TARGET_NONE ? link->target : target_of(links, link->name);
}

void sl_tar_links_settle(sl_tar_links *links)
{
    for (uint64_t i = 0; i < links->count; i++) {
        sl_tar_target target = tar_links_next(links, &links->of[i]);
        for (int n = 0; n < CHAIN_MAX && target.kind == SL_TAR_TARGET_LINK; n++) {
            target = tar_links_next(links, &links->of[target.data]);
        }
        links->of[i].target = target.kind == SL_TAR_TARGET_FILE
                                  ? target
                                  : (sl_tar_target){.kind = SL_TAR_TARGET_NONE};
    }
}

void sl_tar_links_close(sl_tar_links *links)
{
    for (uint64_t i = 0; i < links->count; i++) {
        sl_free(links->of[i].name);
    }
    sl_free(links->of);
    sl_free(links->names);
    *links = (sl_tar_links){.count = 0};
}
