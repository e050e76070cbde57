/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_folder: opens, checks and lists the folder of chunk files. */
#include "chunk_folder.h"

#include "error.h"
#include "file.h"
#include "memory.h"
#include "stop.h"
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAGE  "cache"
#define CHUNKS "chunks-1"

enum { STOP_EVERY = 256 };

/* ---- opening ---- */

static bool is_own(const struct stat *facts)
{
    return facts->st_uid == geteuid() || facts->st_uid == 0;
}

/* Returns why the folder's bytes cannot be trusted; NULL: they can. */
static const char *distrust_outer(const struct stat *facts)
{
    if (!is_own(facts)) {
        return "the cache folder belongs to another user: choose one of your own";
    }
    const bool others_write = (facts->st_mode & S_IWOTH) != 0 && (facts->st_mode & S_ISVTX) == 0;
    return others_write ? "every user may write to the cache folder: run `chmod o-w` on it, or "
                          "choose another one"
                        : NULL;
}

static const char *distrust_inner(const struct stat *facts)
{
    if (!is_own(facts)) {
        return "the folder of chunks belongs to another user: choose another cache folder";
    }
    return (facts->st_mode & (S_IWGRP | S_IWOTH)) != 0
               ? "other users may write to the folder of chunks: remove it, or choose another "
                 "cache folder"
               : NULL;
}

static int chunk_make_folders(const char *folder)
{
    char path[SL_PATH_BYTES];
    const int length = snprintf(path, sizeof(path), "%s", folder);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return -ENAMETOOLONG;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* the last attempt reports the error */
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

static bool is_unwritable(int failed)
{
    return failed == -EROFS || failed == -ENOSPC || failed == -EDQUOT;
}

/*
 * Opens chunks-1 in the folder open as `outer`. Returns the descriptor, or -errno, with the reason
 * if the folder cannot be trusted.
 */
static int open_chunks(int outer, bool create, const char **distrust)
{
    struct stat facts;
    if (create && mkdirat(outer, CHUNKS, 0700) != 0 && errno != EEXIST) {
        const int failed = -errno;
        if (!is_unwritable(failed) && failed != -EACCES && failed != -EPERM) {
            return failed;
        }
        /* chunks kept earlier can still be read */
        if (fstatat(outer, CHUNKS, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
            return failed;
        }
    }
    const int fd = openat(outer, CHUNKS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    *distrust = fstat(fd, &facts) == 0 ? distrust_inner(&facts) : "cannot examine the folder";
    if (*distrust != NULL) {
        (void)close(fd);
        return -EPERM;
    }
    return fd;
}

static int open_cache_folder(const char *path, bool create, const char **distrust)
{
    struct stat facts;
    const int made = create ? chunk_make_folders(path) : 0;
    const int outer = made < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (outer < 0) {
        return made < 0 ? made : -errno;
    }
    *distrust =
        fstat(outer, &facts) == 0 ? distrust_outer(&facts) : "cannot examine the cache folder";
    if (*distrust != NULL) {
        (void)close(outer);
        return -EPERM;
    }
    return outer;
}

sluice_status sl_chunk_folder_open(sl_chunk_folder *folder, const char *path, bool create,
                                   sluice_error *error)
{
    *folder = (sl_chunk_folder){.fd = -1};
    if (path == NULL || path[0] == '\0' || strlen(path) >= SL_PATH_BYTES - sizeof(CHUNKS)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the path of the cache folder is empty or too long");
    }
    folder->path = sl_strdup(path);
    if (folder->path == NULL) {
        return sl_no_memory(error, STAGE, "opening the cache folder");
    }
    const char *distrust = NULL;
    const int outer = open_cache_folder(path, create, &distrust);
    int inner = outer;
    if (outer >= 0) {
        inner = open_chunks(outer, create, &distrust);
        (void)close(outer);
    }
    if (inner >= 0) {
        folder->fd = inner;
        return SLUICE_OK;
    }
    if (distrust == NULL && create && is_unwritable(inner)) {
        folder->failed = -inner;
        return SLUICE_OK;
    }
    if (distrust == NULL && !create && outer >= 0 && inner == -ENOENT) {
        return SLUICE_OK;
    }
    sl_chunk_folder_close(folder);
    return distrust != NULL
               ? sl_error_file(error, SLUICE_IO, STAGE, 0, path, -1, "%s", distrust)
               : sl_error_file(error, SLUICE_IO, STAGE, -inner, path, -1,
                               "cannot %s the cache folder", create ? "create" : "open");
}

void sl_chunk_folder_close(sl_chunk_folder *folder)
{
    sl_file_close(folder->fd);
    sl_free(folder->path);
    *folder = (sl_chunk_folder){.fd = -1};
}

int sl_chunk_folder_again(const sl_chunk_folder *folder)
{
    const char *distrust = NULL;
    const int outer = open_cache_folder(folder->path, true, &distrust);
    if (outer < 0) {
        return outer;
    }
    const int inner = open_chunks(outer, true, &distrust);
    (void)close(outer);
    if (inner < 0) {
        return inner;
    }
    /* other threads keep opening files in it */
    const int failed = dup3(inner, folder->fd, O_CLOEXEC) < 0 ? -errno : 0;
    (void)close(inner);
    return failed;
}

/* ---- listing ---- */

static bool scan_entry(const sl_chunk_folder *folder, const char *name,
                       bool (*visit)(void *ctx, const sl_chunk_found *found), void *ctx)
{
    sl_chunk_found found = {.name = name};
    return !sl_chunk_read_name(name, &found.key, &found.is_part) ||
           fstatat(folder->fd, name, &found.facts, AT_SYMLINK_NOFOLLOW) != 0 ||
           !S_ISREG(found.facts.st_mode) || visit(ctx, &found);
}

bool sl_chunk_folder_scan(const sl_chunk_folder *folder,
                          bool (*visit)(void *ctx, const sl_chunk_found *found), void *ctx)
{
    if (folder->fd < 0) {
        return true;
    }
    const int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *open = fd >= 0 ? fdopendir(fd) : NULL;
    if (open == NULL) {
        sl_file_close(fd);
        return false;
    }
    bool good = true;
    const struct dirent *entry = NULL;
    for (uint64_t i = 0; good; i++) {
        errno = 0;
        entry = readdir(open); // NOLINT(concurrency-mt-unsafe)
        if (entry == NULL) {
            good = errno == 0;
            break;
        }
        good = scan_entry(folder, entry->d_name, visit, ctx);
        if (good && i % STOP_EVERY == 0 && sl_stop_requested()) {
            errno = ECANCELED;
            good = false;
        }
    }
    const int failed = errno;
    (void)closedir(open);
    errno = failed;
    return good;
}

/* ---- files ---- */

int sl_chunk_folder_read(const sl_chunk_folder *folder, const char *name, struct stat *facts)
{
    const int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, facts) != 0 || !S_ISREG(facts->st_mode)) {
        (void)close(fd);
        return -EINVAL;
    }
    return fd;
}

int sl_chunk_lock(int fd, short type, off_t byte)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
        return 0;
    }
    return errno == EACCES ? -EAGAIN : -errno;
}

bool sl_chunk_folder_is_coming(const sl_chunk_folder *folder, sl_chunk_key key)
{
    struct stat facts;
    char name[SL_CHUNK_NAME_BYTES];
    sl_chunk_name(key, SL_CHUNK_PART, name);
    const int fd = sl_chunk_folder_read(folder, name, &facts);
    if (fd < 0) {
        return false;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    const bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    (void)close(fd);
    return held;
}

bool sl_chunk_folder_has(const sl_chunk_folder *folder, const char *name, const struct stat *facts)
{
    struct stat found;
    return fstatat(folder->fd, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           found.st_ino == facts->st_ino && found.st_dev == facts->st_dev;
}

void sl_chunk_folder_clear(const sl_chunk_folder *folder, const char *part)
{
    struct stat facts;
    const int fd = openat(folder->fd, part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    /* its writer renames it, or begins it, only while it holds the lock */
    if (sl_chunk_lock(fd, F_WRLCK, 0) == 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
        sl_chunk_folder_has(folder, part, &facts)) {
        (void)unlinkat(folder->fd, part, 0);
    }
    (void)close(fd);
}
