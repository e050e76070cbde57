/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_wds2idx.h"

#include "file.h"
#include "memory.h"
#include "objects.h"
#include "tar_walk.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Between two samples, where other files may lie: more than that would be read with each. */
#define GAP_MAX ((uint64_t)64 << 10)

/* ---- the text ---- */

typedef struct reader {
    const char *at, *end;
} reader;

/* The next word of the line; 0 at its end. */
static size_t next_word(reader *r, const char **word)
{
    while (r->at < r->end && *r->at == ' ') {
        r->at++;
    }
    *word = r->at;
    while (r->at < r->end && *r->at != ' ' && *r->at != '\n') {
        r->at++;
    }
    return (size_t)(r->at - *word);
}

static bool next_number(reader *r, uint64_t *number)
{
    const char *word;
    const size_t bytes = next_word(r, &word);
    *number = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (word[i] < '0' || word[i] > '9' || *number > (uint64_t)INT64_MAX / 10 - 1) {
            return false;
        }
        *number = *number * 10 + (uint64_t)(word[i] - '0');
    }
    return bytes > 0;
}

static bool end_line(reader *r)
{
    while (r->at < r->end && *r->at == ' ') {
        r->at++;
    }
    if (r->at < r->end && *r->at == '\n') {
        r->at++;
        return true;
    }
    return r->at == r->end;
}

/* The extension as a word of the index; it is in small letters already, or is made so. */
static bool add_extension(sl_tar_index *index, const char *word, size_t bytes, uint32_t *pictures)
{
    char name[SL_TAR_EXTENSION_BYTES + 2];
    sl_tar_part part;
    const int length = snprintf(name, sizeof(name), "x.%.*s", (int)bytes, word);
    if (bytes == 0 || bytes >= SL_TAR_EXTENSION_BYTES || length < 0 ||
        sl_tar_split(name, &part) != SL_TAR_NAME_GOOD) {
        return false;
    }
    *pictures += sl_tar_is_picture(part.extension);
    return sl_tar_index_extension(index, part.extension) != SL_FIELD_NONE;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + SL_TAR_BLOCK - 1) / SL_TAR_BLOCK * SL_TAR_BLOCK;
}

/* A line: `*end` is where the sample before ends, padded, and then where this one does. */
static bool read_sample(sl_tar_index *index, reader *r, uint64_t *end)
{
    uint32_t files = 0;
    uint32_t pictures = 0;
    uint64_t last = *end;
    for (;;) {
        const char *word;
        uint64_t offset;
        uint64_t size;
        reader ahead = *r;
        const size_t bytes = next_word(&ahead, &word);
        if (bytes == 0) {
            break;
        }
        *r = ahead;
        if (!add_extension(index, word, bytes, &pictures) || !next_number(r, &offset) ||
            !next_number(r, &size) || next_word(r, &word) == 0) {
            return false;
        }
        /* Headers lie between. */
        if (offset < padded(last) + SL_TAR_BLOCK || offset > index->file_bytes ||
            size > index->file_bytes - offset || offset - padded(last) > GAP_MAX) {
            return false;
        }
        last = offset + size;
        files++;
    }
    const bool added = files > 0 && sl_tar_index_add(index, *end, last - *end);
    index->has_two_pictures = index->has_two_pictures || pictures > 1;
    *end = padded(last);
    return added && end_line(r);
}

bool sl_tar_wds2idx_parse(sl_tar_index *index, const char *text, size_t bytes, uint64_t file_bytes)
{
    const char *word;
    uint64_t samples;
    uint64_t end = 0;
    reader r = {text, text + bytes};
    memset(index, 0, sizeof(*index));
    index->file_bytes = file_bytes;
    const size_t version = next_word(&r, &word);
    /* Before 1.2 there are no names. */
    bool good =
        version == 4 && memcmp(word, "v1.2", 4) == 0 && next_number(&r, &samples) && end_line(&r);
    while (good && r.at < r.end) {
        good = read_sample(index, &r, &end);
    }
    if (good && index->samples == samples && samples > 0) {
        return true;
    }
    sl_tar_index_close(index);
    return false;
}

/* ---- the files ---- */

static bool is_older(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec < b->st_mtim.tv_sec ||
           (a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec < b->st_mtim.tv_nsec);
}

/* NAME.idx; false: it is not called NAME.tar. */
static bool name_index(char *name, size_t bytes, const char *path)
{
    const size_t length = strlen(path);
    if (length < 5 || length >= bytes || strcmp(path + length - 4, ".tar") != 0) {
        return false;
    }
    (void)snprintf(name, bytes, "%.*s.idx", (int)(length - 4), path);
    return true;
}

/* Whether there are headers where some of the samples begin. */
static bool fits_archive(const sl_tar_index *index, const char *path)
{
    int fd;
    const sl_file_name name = {"dataset", path};
    if (sl_file_open(name, &fd, NULL, NULL) < 0) {
        return false;
    }
    bool good = true;
    for (uint64_t i = 0; good && i < 3; i++) {
        uint8_t block[SL_TAR_BLOCK];
        const uint64_t sample = (index->samples - 1) * i / 2;
        good = sl_file_read(fd, name, block, sizeof(block), index->offsets[sample], NULL) >= 0 &&
               sl_tar_is_header(block);
    }
    sl_file_close(fd);
    return good;
}

static bool read_and_parse(sl_tar_index *index, const char *name, uint64_t file_bytes)
{
    int fd;
    uint64_t bytes;
    const sl_file_name file = {"dataset", name};
    if (sl_file_open(file, &fd, &bytes, NULL) < 0) {
        return false;
    }
    char *text = sl_malloc(bytes > 0 ? bytes : 1);
    const bool good = text != NULL && sl_file_read(fd, file, text, bytes, 0, NULL) >= 0 &&
                      sl_tar_wds2idx_parse(index, text, bytes, file_bytes);
    sl_file_close(fd);
    sl_free(text);
    return good;
}

bool sl_tar_wds2idx_load(sl_tar_index *index, const char *path)
{
    char name[SL_PATH_BYTES];
    struct stat archive;
    struct stat own;
    if (!name_index(name, sizeof(name), path) || stat(path, &archive) != 0 ||
        stat(name, &own) != 0 || is_older(&own, &archive) ||
        !read_and_parse(index, name, (uint64_t)archive.st_size)) {
        return false;
    }
    index->modified_ns = (int64_t)archive.st_mtim.tv_sec * 1000000000 + archive.st_mtim.tv_nsec;
    if (fits_archive(index, path)) {
        return true;
    }
    sl_tar_index_close(index);
    return false;
}
