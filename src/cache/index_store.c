/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_store: finds, checks and writes kept indexes. Any thread.
 *
 * An index that does not match its file exactly is ignored, and a failure to write one is not an
 * error.
 */
#include "index_store.h"

#include "checksum.h"
#include "memory.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool index_store_fits(int length, size_t bytes)
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
        good = own[0] != '\0' && index_store_fits(snprintf(folder, bytes, "%s", own), bytes);
    } else if (cache != NULL && cache[0] == '/') {
        good = index_store_fits(snprintf(folder, bytes, "%s/sluice", cache), bytes);
    } else if (home != NULL && home[0] == '/') {
        good = index_store_fits(snprintf(folder, bytes, "%s/.cache/sluice", home), bytes);
    }
    if (!good) {
        folder[0] = '\0';
    }
    return good;
}

/*
 * Writes the name in the cache folder: the file's name, for users, and the checksum of its whole
 * path.
 */
static bool name_in_folder(char *name, size_t bytes, const char *path, const char *folder)
{
    char real[SL_PATH_BYTES];
    if (folder[0] == '\0' || sl_store_real_path(path, real) != 0) {
        return false;
    }
    return index_store_fits(snprintf(name, bytes, "%s/%.100s-%016llx.sluice-index", folder,
                                     sl_path_name(real),
                                     (unsigned long long)sl_checksum(real, strlen(real))),
                            bytes);
}

/* Returns whether nobody else could have written the open file. */
static bool is_private(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (facts.st_uid == geteuid() || facts.st_uid == 0);
}

/* The location of an index, and the file it belongs to. */
typedef struct kept {
    const char *name;
    bool in_folder;
} kept;

/*
 * Limits of an index: bytes per byte of its file, which may be compressed, and an additional
 * constant.
 */
enum { INDEX_A_BYTE = 64, INDEX_BESIDES = 64 << 20 };

static bool index_store_is_possible(uint64_t bytes, uint64_t file_bytes)
{
    return bytes <= INDEX_BESIDES || (bytes - INDEX_BESIDES) / INDEX_A_BYTE <= file_bytes;
}

/* Reads an index. Checks the size against its head first, so that a sparse file costs nothing. */
static bool index_store_read_index(const kept *at, uint64_t file_bytes, uint8_t **bytes,
                                   size_t *size)
{
    sl_handle file;
    uint8_t head[SL_FILE_INDEX_HEAD];
    sl_file_identity found = {0};
    const sl_file_name name = {"dataset", at->name};
    *bytes = NULL;
    if (sl_handle_open(&file, name, &found, NULL) < 0) {
        return false;
    }
    *size = (size_t)found.bytes;
    const bool wanted = (!at->in_folder || is_private(file.fd)) &&
                        sl_handle_read(&file, head, sizeof(head), 0, NULL) == SLUICE_OK &&
                        sl_file_index_bytes(head) == found.bytes &&
                        index_store_is_possible(found.bytes, file_bytes);
    *bytes = wanted ? sl_malloc(*size) : NULL;
    const bool good = *bytes != NULL && sl_handle_read(&file, *bytes, *size, 0, NULL) == SLUICE_OK;
    sl_handle_close(&file);
    return good;
}

static bool index_store_is_of(const sl_file_index *index, sl_index_kind kind, const kept *at,
                              const sl_file_identity *file)
{
    const sl_file_identity *was = &index->file;
    const bool untouched = was->inode == file->inode && was->changed_ns == file->changed_ns;
    return index->kind == kind && was->bytes == file->bytes &&
           was->modified_ns == file->modified_ns && was->sample == file->sample &&
           (untouched || !at->in_folder);
}

static bool load_from(sl_file_index *index, sl_index_kind kind, const kept *at,
                      const sl_file_identity *file)
{
    size_t size = 0;
    uint8_t *bytes = NULL;
    bool good = index_store_read_index(at, file->bytes, &bytes, &size) &&
                sl_file_index_decode(index, bytes, size);
    sl_free(bytes);
    if (good && !index_store_is_of(index, kind, at, file)) {
        sl_file_index_close(index);
        good = false;
    }
    if (good) {
        index->file = *file;
    }
    return good;
}

bool sl_index_store_load(sl_file_index *index, sl_index_kind kind, const sl_open_file *file,
                         const char *folder)
{
    const char *path = file->handle.name.path;
    char beside[SL_PATH_BYTES];
    char cached[SL_PATH_BYTES];
    sl_store_facts facts;
    sl_file_identity own = file->identity;
    const kept places[] = {{beside, false}, {cached, true}};
    const bool named[] = {
        index_store_fits(snprintf(beside, sizeof(beside), "%s.sluice-index", path), sizeof(beside)),
        name_in_folder(cached, sizeof(cached), path, folder)};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (named[i] && sl_store_stat(places[i].name, &facts) == 0 &&
            (own.sample != 0 || sl_handle_sample(&file->handle, &own, NULL) == SLUICE_OK) &&
            load_from(index, kind, &places[i], &own)) {
            return true;
        }
    }
    return false;
}

bool sl_index_store_make_folder(const char *folder)
{
    char path[SL_PATH_BYTES];
    if (!index_store_fits(snprintf(path, sizeof(path), "%s", folder), sizeof(path))) {
        return false;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            return false;
        }
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool write_new(const char *path, const uint8_t *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    const bool written =
        sl_file_write(fd, (sl_file_name){"dataset", path}, bytes, size, 0, NULL) >= 0;
    return close(fd) == 0 && written;
}

void sl_index_store_keep(const sl_file_index *index, const char *path, const char *folder)
{
    /*
     * distinguishes threads that keep the same file's index at once; relaxed: only uniqueness
     * matters
     */
    static atomic_uint count;
    char name[SL_PATH_BYTES];
    char temporary[SL_PATH_BYTES];
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (!name_in_folder(name, sizeof(name), path, folder) ||
        !index_store_fits(snprintf(temporary, sizeof(temporary), "%s.%ld.%u", name, (long)getpid(),
                                   atomic_fetch_add_explicit(&count, 1, memory_order_relaxed)),
                          sizeof(temporary)) ||
        !sl_index_store_make_folder(folder) || !sl_file_index_encode(index, &bytes, &size)) {
        return;
    }
    (void)unlink(temporary); /* left by a killed process with that number */
    if (!write_new(temporary, bytes, size) || rename(temporary, name) != 0) {
        (void)unlink(temporary);
    }
    sl_free(bytes);
}
