/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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

bool files_write(const char *path, const void *bytes, size_t size)
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
    bool done = write_all(fd, bytes, size);
    int first = errno;
    if (close(fd) != 0 && done) {
        done = false;
        first = errno;
    }
    if (done && rename(aside, path) != 0) {
        done = false;
        first = errno;
    }
    if (!done) {
        unlink(aside);
        errno = first;
    }
    return done;
}

bool files_make_folder(const char *path)
{
    struct stat status;
    if (mkdir(path, 0777) == 0) {
        return true;
    }
    if (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        return true;
    }
    return false;
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
