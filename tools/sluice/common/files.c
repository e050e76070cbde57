/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        size_t step = written > 0 ? (size_t)written : 0;
        bytes += step;
        size -= step;
    }
    return true;
}

/* Writes and closes a file. False with errno set. */
static bool write_and_close(int fd, const void *bytes, size_t size)
{
    const bool written = write_all(fd, bytes, size);
    const int first = errno;
    if (close(fd) == 0 || !written) {
        errno = first;
        return written;
    }
    return false;
}

/* Writes to an existing device or FIFO, or to the target of a dangling link. */
static bool write_through(const char *path, const void *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return fd >= 0 && write_and_close(fd, bytes, size);
}

static bool replace(const char *path, const void *bytes, size_t size)
{
    char aside[PATH_MAX];
    int length = snprintf(aside, sizeof aside, "%s.%ld.tmp", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof aside) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return false;
    }
    if (write_and_close(fd, bytes, size) && rename(aside, path) == 0) {
        return true;
    }
    const int first = errno;
    unlink(aside);
    errno = first;
    return false;
}

bool files_write(const char *path, const void *bytes, size_t size)
{
    char target[PATH_MAX];
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) {
        if (realpath(path, target) == NULL) {
            return write_through(path, bytes, size);
        }
        path = target;
    }
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return write_through(path, bytes, size);
    }
    return replace(path, bytes, size);
}

bool files_can_write(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        errno = EISDIR;
        return !S_ISDIR(status.st_mode) && access(path, W_OK) == 0;
    }
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return errno == EEXIST; /* a dangling link: writing will find out */
    }
    close(fd);
    unlink(path);
    return true;
}

bool files_make_folder(const char *path)
{
    struct stat status;
    char parent[PATH_MAX];
    for (const char *end = strchr(path, '/'); end != NULL; end = strchr(end + 1, '/')) {
        const int bytes = (int)(end - path);
        if (bytes > 0 && bytes < PATH_MAX) {
            (void)snprintf(parent, sizeof(parent), "%.*s", bytes, path);
            (void)mkdir(parent, 0777); /* if that fails, so does the last call, with the reason */
        }
    }
    return mkdir(path, 0777) == 0 ||
           (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

bool files_is_free(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno == ENOENT;
    }
    int entries = 0;
    /* One folder stream, one thread. */
    while (entries <= 2 && readdir(folder) != NULL) { // NOLINT(concurrency-mt-unsafe)
        entries++;                                    /* "." and ".." are two */
    }
    closedir(folder);
    errno = entries > 2 ? ENOTEMPTY : 0;
    return entries <= 2;
}

int64_t files_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (int64_t)status.st_size : -1;
}
