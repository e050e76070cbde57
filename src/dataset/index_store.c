/* SPDX-License-Identifier: Apache-2.0 */
#include "index_store.h"

#include "checksum.h"
#include "file.h"
#include "memory.h"
#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fits(int length, size_t bytes)
{
    return length >= 0 && (size_t)length < bytes;
}

bool sl_index_store_folder(char *folder, size_t bytes)
{
    const char *own = secure_getenv("SLUICE_CACHE_DIR");
    const char *cache = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    bool good = false;
    if (own != NULL) {
        good = own[0] != '\0' && fits(snprintf(folder, bytes, "%s", own), bytes);
    } else if (cache != NULL && cache[0] == '/') {
        good = fits(snprintf(folder, bytes, "%s/sluice", cache), bytes);
    } else if (home != NULL && home[0] == '/') {
        good = fits(snprintf(folder, bytes, "%s/.cache/sluice", home), bytes);
    }
    if (!good) {
        folder[0] = '\0';
    }
    return good;
}

/* In the cache folder: the file's name, for people, and its whole path's checksum. */
static bool name_in_folder(char *name, size_t bytes, const char *path, const char *folder)
{
    char real[SL_PATH_BYTES];
    if (folder[0] == '\0' || realpath(path, real) == NULL) {
        return false;
    }
    const char *slash = strrchr(real, '/');
    return fits(snprintf(name, bytes, "%s/%.100s-%016llx.sluice-index", folder,
                         slash != NULL ? slash + 1 : real,
                         (unsigned long long)sl_checksum(real, strlen(real))),
                bytes);
}

static bool load_from(sl_file_index *index, sl_index_kind kind, const char *path,
                      const struct stat *facts)
{
    size_t size;
    uint8_t *bytes;
    if (sl_file_read_whole((sl_file_name){"dataset", path}, UINT64_MAX, &bytes, &size, NULL) < 0) {
        return false;
    }
    bool good = sl_file_index_decode(index, bytes, size);
    if (good && (index->kind != kind || index->file_bytes != (uint64_t)facts->st_size ||
                 index->modified_ns != sl_file_modified_ns(facts))) {
        sl_file_index_close(index);
        good = false;
    }
    sl_free(bytes);
    return good;
}

bool sl_index_store_load(sl_file_index *index, sl_index_kind kind, const char *path,
                         const char *folder)
{
    char name[SL_PATH_BYTES];
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return false;
    }
    if (fits(snprintf(name, sizeof(name), "%s.sluice-index", path), sizeof(name)) &&
        load_from(index, kind, name, &facts)) {
        return true;
    }
    return name_in_folder(name, sizeof(name), path, folder) && load_from(index, kind, name, &facts);
}

/* With all folders above it. */
static bool make_folder(const char *folder)
{
    char path[SL_PATH_BYTES];
    if (!fits(snprintf(path, sizeof(path), "%s", folder), sizeof(path))) {
        return false;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            return false;
        }
        *slash = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

static bool write_new(const char *path, const uint8_t *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return false;
    }
    const bool written =
        sl_file_write(fd, (sl_file_name){"dataset", path}, bytes, size, 0, NULL) >= 0;
    return close(fd) == 0 && written;
}

void sl_index_store_keep(const sl_file_index *index, const char *path, const char *folder)
{
    static atomic_uint kept; /* threads may keep the same file's index at once */
    char name[SL_PATH_BYTES];
    char temporary[SL_PATH_BYTES];
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (!name_in_folder(name, sizeof(name), path, folder) ||
        !fits(snprintf(temporary, sizeof(temporary), "%s.%ld.%u", name, (long)getpid(),
                       atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed)),
              sizeof(temporary)) ||
        !make_folder(folder) || !sl_file_index_encode(index, &bytes, &size)) {
        return;
    }
    (void)unlink(temporary); /* of a process of that number that was killed */
    if (!write_new(temporary, bytes, size) || rename(temporary, name) != 0) {
        (void)unlink(temporary);
    }
    sl_free(bytes);
}
