/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_writer: searches /proc for the writer of a chunk, which its lock does not identify. */
#include "chunk_file.h"
#include "chunk_list.h"
#include "store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns whether a process has a part in the folder open. */
static bool has_part_open(const char *pid, const char *folder)
{
    char fds[64];
    char target[SL_PATH_BYTES];
    bool found = false;
    (void)snprintf(fds, sizeof(fds), "/proc/%.20s/fd", pid);
    DIR *dir = opendir(fds);
    const struct dirent *fd;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream */
    while (!found && dir != NULL && (fd = readdir(dir)) != NULL) {
        const ssize_t length = readlinkat(dirfd(dir), fd->d_name, target, sizeof(target) - 1);
        const size_t prefix = strlen(folder);
        const size_t suffix = sizeof(SL_CHUNK_PART) - 1;
        target[length > 0 ? length : 0] = '\0';
        found = length > (ssize_t)suffix && strncmp(target, folder, prefix) == 0 &&
                target[prefix] == '/' && strcmp(target + length - suffix, SL_CHUNK_PART) == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return found;
}

long sl_chunk_find_writer(const char *folder)
{
    char real[SL_PATH_BYTES];
    const bool exists = sl_store_real_path(folder, real) == 0;
    DIR *dir = opendir("/proc");
    long writer = 0;
    const struct dirent *entry;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream */
    while (writer == 0 && exists && dir != NULL && (entry = readdir(dir)) != NULL) {
        const long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != (long)getpid() && has_part_open(entry->d_name, real)) {
            writer = pid;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return writer;
}
