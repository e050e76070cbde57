/* SPDX-License-Identifier: Apache-2.0 */
/* The store of local files. Each address that no other store takes is a path; a handle is a
 * descriptor. */
#include "retry.h"
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static sl_entry_kind kind_of_mode(mode_t mode)
{
    return S_ISREG(mode)   ? SL_ENTRY_FILE
           : S_ISDIR(mode) ? SL_ENTRY_FOLDER
           : S_ISLNK(mode) ? SL_ENTRY_LINK
                           : SL_ENTRY_OTHER;
}

static void take_facts(sl_store_facts *facts, const struct stat *found)
{
    *facts = (sl_store_facts){.kind = kind_of_mode(found->st_mode),
                              .identity = sl_file_identity_of(found),
                              .device = found->st_dev};
}

static int local_stat(const char *path, sl_store_facts *facts)
{
    struct stat found;
    if (stat(path, &found) != 0) {
        return -errno;
    }
    take_facts(facts, &found);
    return 0;
}

/* Most file systems report the type in d_type; on others each entry is queried. */
static sl_entry_kind store_local_kind_of(int folder, const struct dirent *entry)
{
    struct stat found;
    switch (entry->d_type) {
    case DT_REG:
        return SL_ENTRY_FILE;
    case DT_DIR:
        return SL_ENTRY_FOLDER;
    case DT_LNK:
        return SL_ENTRY_LINK;
    case DT_UNKNOWN:
        return fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0
                   ? kind_of_mode(found.st_mode)
                   : SL_ENTRY_UNKNOWN;
    default:
        return SL_ENTRY_OTHER;
    }
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int local_list(const char *path, sl_listing *listing)
{
    DIR *folder;
    uint32_t interrupted = 0;
    do {
        folder = opendir(path);
    } while (folder == NULL && sl_retry_interrupted(&interrupted, errno));
    if (folder == NULL) {
        return -errno;
    }
    bool more = true;
    int failed = 0;
    while (more) {
        errno = 0;
        const struct dirent *entry = readdir(folder); // NOLINT(concurrency-mt-unsafe): our own
        failed = entry == NULL ? errno : 0;
        more = entry != NULL &&
               (is_dots(entry->d_name) ||
                sl_listing_show(listing, entry->d_name, store_local_kind_of(dirfd(folder), entry)));
    }
    (void)closedir(folder);
    return -failed;
}

static int local_facts(const sl_handle *handle, sl_store_facts *facts)
{
    struct stat found;
    if (fstat(handle->fd, &found) != 0) {
        return -errno;
    }
    take_facts(facts, &found);
    return 0;
}

static int local_open(const char *path, const sl_open_how *how, sl_handle *handle,
                      sl_store_facts *facts)
{
    /* O_NONBLOCK: opening a FIFO must not wait for a writer; it has no effect on regular files. */
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (how->direct ? O_DIRECT : 0);
    handle->fd = sl_boundary_open_file(how->boundary, path, flags);
    if (handle->fd < 0) {
        return handle->fd;
    }
    const int failed = local_facts(handle, facts);
    if (failed < 0) {
        (void)close(handle->fd);
    }
    return failed;
}

static ssize_t local_read_at(const sl_handle *handle, void *to, size_t bytes, uint64_t offset)
{
    const ssize_t got = pread(handle->fd, to, bytes, (off_t)offset);
    return got < 0 ? -errno : got;
}

static void local_close(sl_handle *handle)
{
    (void)close(handle->fd);
}

static int local_real_path(const char *path, char *real)
{
    return realpath(path, real) != NULL ? 0 : -errno;
}

const sl_store sl_store_local = {.scheme = "",
                                 .has_links = true,
                                 .stat = local_stat,
                                 .list = local_list,
                                 .open = local_open,
                                 .facts = local_facts,
                                 .read_at = local_read_at,
                                 .close = local_close,
                                 .real_path = local_real_path};
