/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_cache.h"

#include "checksum.h"
#include "file.h"
#include "little_endian.h"
#include "memory.h"
#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "SLUICETI";

enum { VERSION = 1, HEAD_BYTES = 48, SUM_BYTES = 8, SAMPLE_BYTES = 12 };

/* ---- bytes ---- */

bool sl_tar_index_encode(const sl_tar_index *index, uint8_t **bytes, size_t *size)
{
    const size_t names = (size_t)index->extension_count * SL_TAR_EXTENSION_BYTES;
    *size = HEAD_BYTES + names + index->samples * SAMPLE_BYTES + SUM_BYTES;
    uint8_t *at = sl_malloc(*size);
    *bytes = at;
    if (at == NULL) {
        return false;
    }
    memcpy(at, magic, sizeof(magic));
    sl_store32(at + 8, VERSION);
    sl_store32(at + 12, index->extension_count);
    sl_store64(at + 16, index->file_bytes);
    sl_store64(at + 24, (uint64_t)index->modified_ns);
    sl_store64(at + 32, index->samples);
    sl_store32(at + 40, index->has_two_pictures);
    sl_store32(at + 44, 0);
    at += HEAD_BYTES;
    memset(at, 0, names);
    for (uint32_t i = 0; i < index->extension_count; i++) {
        char *name = (char *)at + (size_t)i * SL_TAR_EXTENSION_BYTES;
        memcpy(name, index->extensions[i], strlen(index->extensions[i]));
    }
    at += names;
    for (uint64_t i = 0; i < index->samples; i++, at += 8) {
        sl_store64(at, index->offsets[i]);
    }
    for (uint64_t i = 0; i < index->samples; i++, at += 4) {
        sl_store32(at, index->bytes[i]);
    }
    sl_store64(at, sl_checksum(*bytes, *size - SUM_BYTES));
    return true;
}

static bool decode_extensions(sl_tar_index *index, const uint8_t *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *name = (const char *)names + (size_t)i * SL_TAR_EXTENSION_BYTES;
        const bool ends = memchr(name, '\0', SL_TAR_EXTENSION_BYTES) != NULL;
        if (!ends || name[0] == '\0' || sl_tar_index_extension(index, name) != i) {
            return false;
        }
    }
    return true;
}

/* Samples lie behind one another, in the archive. */
static bool decode_samples(sl_tar_index *index, const uint8_t *at, uint64_t samples)
{
    const uint8_t *sizes = at + samples * 8;
    uint64_t end = 0;
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t offset = sl_load64(at + i * 8);
        const uint32_t bytes = sl_load32(sizes + i * 4);
        if (offset < end || offset > index->file_bytes || bytes > index->file_bytes - offset ||
            bytes == 0 || !sl_tar_index_add(index, offset, bytes)) {
            return false;
        }
        end = offset + bytes;
    }
    return true;
}

bool sl_tar_index_decode(sl_tar_index *index, const uint8_t *bytes, size_t size)
{
    memset(index, 0, sizeof(*index));
    if (size < HEAD_BYTES + SUM_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0 ||
        sl_load32(bytes + 8) != VERSION || sl_load32(bytes + 44) != 0 ||
        sl_load32(bytes + 40) > 1) {
        return false;
    }
    const uint32_t extensions = sl_load32(bytes + 12);
    const uint64_t samples = sl_load64(bytes + 32);
    if (extensions > SL_TAR_EXTENSIONS_MAX) {
        return false;
    }
    const size_t names = (size_t)extensions * SL_TAR_EXTENSION_BYTES;
    const size_t rest = size - HEAD_BYTES - SUM_BYTES;
    if (rest < names || (rest - names) % SAMPLE_BYTES != 0 ||
        (rest - names) / SAMPLE_BYTES != samples ||
        sl_load64(bytes + size - SUM_BYTES) != sl_checksum(bytes, size - SUM_BYTES)) {
        return false;
    }
    index->file_bytes = sl_load64(bytes + 16);
    index->modified_ns = (int64_t)sl_load64(bytes + 24);
    index->has_two_pictures = sl_load32(bytes + 40) == 1;
    if (decode_extensions(index, bytes + HEAD_BYTES, extensions) &&
        decode_samples(index, bytes + HEAD_BYTES + names, samples)) {
        return true;
    }
    sl_tar_index_close(index);
    return false;
}

/* ---- files ---- */

static bool fits(int length, size_t bytes)
{
    return length >= 0 && (size_t)length < bytes;
}

bool sl_tar_cache_folder(char *folder, size_t bytes)
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

/* In the cache folder: the archive's name, for people, and its whole path's checksum. */
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

static uint8_t *read_whole(const char *path, size_t *size)
{
    int fd;
    uint64_t bytes;
    const sl_file_name name = {"dataset", path};
    if (sl_file_open(name, &fd, &bytes, NULL) < 0) {
        return NULL;
    }
    uint8_t *read = sl_malloc(bytes > 0 ? bytes : 1);
    if (read != NULL && sl_file_read(fd, name, read, bytes, 0, NULL) < 0) {
        sl_free(read);
        read = NULL;
    }
    sl_file_close(fd);
    *size = bytes;
    return read;
}

static bool load_from(sl_tar_index *index, const char *path, const struct stat *archive)
{
    size_t size = 0;
    uint8_t *bytes = read_whole(path, &size);
    if (bytes == NULL) {
        return false;
    }
    const int64_t modified =
        (int64_t)archive->st_mtim.tv_sec * 1000000000 + archive->st_mtim.tv_nsec;
    bool good = sl_tar_index_decode(index, bytes, size);
    if (good &&
        (index->file_bytes != (uint64_t)archive->st_size || index->modified_ns != modified)) {
        sl_tar_index_close(index);
        good = false;
    }
    sl_free(bytes);
    return good;
}

bool sl_tar_cache_load(sl_tar_index *index, const char *path, const char *folder)
{
    char name[SL_PATH_BYTES];
    struct stat archive;
    if (stat(path, &archive) != 0) {
        return false;
    }
    if (fits(snprintf(name, sizeof(name), "%s.sluice-index", path), sizeof(name)) &&
        load_from(index, name, &archive)) {
        return true;
    }
    return name_in_folder(name, sizeof(name), path, folder) && load_from(index, name, &archive);
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

void sl_tar_cache_store(const sl_tar_index *index, const char *path, const char *folder)
{
    char name[SL_PATH_BYTES];
    char temporary[SL_PATH_BYTES];
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (!name_in_folder(name, sizeof(name), path, folder) ||
        !fits(snprintf(temporary, sizeof(temporary), "%s.%ld", name, (long)getpid()),
              sizeof(temporary)) ||
        !make_folder(folder) || !sl_tar_index_encode(index, &bytes, &size)) {
        return;
    }
    (void)unlink(temporary); /* of a process of that number that was killed */
    if (!write_new(temporary, bytes, size) || rename(temporary, name) != 0) {
        (void)unlink(temporary);
    }
    sl_free(bytes);
}
