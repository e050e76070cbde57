/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_index.h"

#include "error.h"
#include "file.h"
#include "memory.h"
#include "tar_walk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define STAGE "dataset"
/* Read at once, as long as members are small: headers lie close to one another then. */
#define WINDOW_BYTES ((size_t)64 << 10)

typedef struct walker {
    sl_file_index *index;
    const char *path;
    int fd;
    uint64_t window_at; /* of the bytes in the window */
    size_t window_bytes;
    uint64_t members; /* met so far */
    sl_tar_walk walk;
    uint64_t begin, end; /* of the sample at hand; begin == end: there is none */
    size_t key_bytes;
    uint32_t pictures; /* of it */
    char key[SL_TAR_NAME_MAX + 1];
    uint8_t window[WINDOW_BYTES], extra[SL_TAR_EXTRA_MAX];
} walker;

static sluice_status fail(const walker *w, sluice_status status, uint64_t offset, const char *text,
                          sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, w->path, (int64_t)offset, "%s", text);
}

/* `bytes` at `at`, in the window or (NULL: with an error) read now. */
static const uint8_t *look(walker *w, uint64_t at, size_t bytes, sluice_error *error)
{
    const uint64_t size = w->index->file_bytes;
    if (at >= w->window_at && at - w->window_at + bytes <= w->window_bytes) {
        return w->window + (at - w->window_at);
    }
    if (at > size || bytes > size - at) {
        (void)fail(w, SLUICE_CORRUPT, at < size ? at : size, "the archive is cut short", error);
        return NULL;
    }
    const sl_file_name name = {STAGE, w->path};
    if (bytes > WINDOW_BYTES) {
        return sl_file_read(w->fd, name, w->extra, bytes, at, error) < 0 ? NULL : w->extra;
    }
    /* A header alone where members are large, and what else is near where they are small. */
    size_t wanted = w->members > 0 && at / w->members > WINDOW_BYTES / 4 ? 4096 : WINDOW_BYTES;
    wanted = wanted > bytes ? wanted : bytes;
    wanted = size - at < wanted ? (size_t)(size - at) : wanted;
    w->window_bytes = 0;
    if (sl_file_read(w->fd, name, w->window, wanted, at, error) < 0) {
        return NULL;
    }
    w->window_at = at;
    w->window_bytes = wanted;
    return w->window;
}

static sluice_status end_sample(walker *w, sluice_error *error)
{
    if (w->begin == w->end) {
        return SLUICE_OK;
    }
    w->index->facts |= w->pictures > 1 ? SL_TAR_TWO_PICTURES : 0;
    const bool added = sl_file_index_add(w->index, w->begin, w->end - w->begin);
    w->begin = w->end;
    return added ? SLUICE_OK
                 : fail(w, SLUICE_NOMEM, w->begin, "no memory for the archive's index", error);
}

static sluice_status add_part(walker *w, const sl_tar_part *part, sluice_error *error)
{
    const sl_tar_member *member = &w->walk.member;
    const bool same = w->begin != w->end && part->key_bytes == w->key_bytes &&
                      memcmp(w->walk.name, w->key, w->key_bytes) == 0;
    const sluice_status status = same ? SLUICE_OK : end_sample(w, error);
    if (status < 0) {
        return status;
    }
    if (!same) {
        w->begin = member->begin;
        w->pictures = 0;
        w->key_bytes = part->key_bytes;
        memcpy(w->key, w->walk.name, part->key_bytes);
    }
    w->end = member->data + member->bytes;
    w->pictures += sl_tar_is_picture(part->extension);
    if (sl_file_index_name(w->index, part->extension) != SL_FIELD_NONE) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, (int64_t)member->begin,
                         "the archive's members have more than %u extensions, the last of them "
                         "\"%s\": a key ends at the first dot of a file's name",
                         SL_INDEX_NAMES_MAX, part->extension);
}

static sluice_status add_member(walker *w, sluice_error *error)
{
    const sl_tar_member *member = &w->walk.member;
    sl_tar_part part;
    w->members++;
    if (member->data > w->index->file_bytes ||
        member->bytes > w->index->file_bytes - member->data) {
        return fail(w, SLUICE_CORRUPT, w->index->file_bytes, "the archive is cut short", error);
    }
    if (member->kind == SL_TAR_OTHER) {
        return SLUICE_OK;
    }
    switch (sl_tar_split(w->walk.name, &part)) {
    case SL_TAR_NAME_GOOD:
        return add_part(w, &part, error);
    case SL_TAR_NAME_LONG:
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, (int64_t)member->begin,
                             "the extension of \"%.256s\", which is all behind its name's first "
                             "dot, has more than %u bytes",
                             w->walk.name, SL_TAR_EXTENSION_BYTES - 1);
    case SL_TAR_NAME_NONE:
        break;
    }
    return SLUICE_OK;
}

/* Behind the mark there are zeros up to the end: else archives were joined, and the rest would be
 * lost without a word. */
static sluice_status check_end(walker *w, sluice_error *error)
{
    for (uint64_t at = w->walk.at; at < w->index->file_bytes;) {
        const uint64_t left = w->index->file_bytes - at;
        const size_t bytes = left < WINDOW_BYTES / 4 ? (size_t)left : WINDOW_BYTES / 4;
        const uint8_t *found = look(w, at, bytes, error);
        if (found == NULL) {
            return SLUICE_IO;
        }
        for (size_t i = 0; i < bytes; i++) {
            if (found[i] != 0) {
                return fail(w, SLUICE_CORRUPT, at + i,
                            "the archive goes on behind its end: were several joined?", error);
            }
        }
        at += bytes;
    }
    return SLUICE_OK;
}

static sluice_status walk_members(walker *w, sluice_error *error)
{
    sl_refusal why;
    for (;;) {
        if (w->walk.at == w->index->file_bytes && w->walk.at == w->walk.begin) {
            return fail(w, SLUICE_CORRUPT, w->walk.at,
                        "the archive has no mark at its end, so it may be cut short (where it is "
                        "known not to be, `truncate -s +1024 FILE` adds one)",
                        error);
        }
        const uint64_t at = w->walk.at;
        const uint8_t *bytes = look(w, at, w->walk.want, error);
        if (bytes == NULL) {
            return error != NULL && error->status < 0 ? (sluice_status)error->status : SLUICE_IO;
        }
        sluice_status status = SLUICE_OK;
        switch (sl_tar_next(&w->walk, bytes, &why)) {
        case SL_TAR_GO_ON:
            break;
        case SL_TAR_MEMBER:
            status = add_member(w, error);
            break;
        case SL_TAR_END:
            return check_end(w, error);
        case SL_TAR_REFUSED:
            status = fail(w, why.status, at + why.offset, why.text, error);
            break;
        }
        if (status < 0) {
            return status;
        }
    }
}

/* What is no tar, by its first bytes. */
static sluice_status check_begin(walker *w, sluice_error *error)
{
    static const struct {
        uint8_t bytes[4];
        size_t count;
        const char *text;
    } compressed[] = {
        {{0x1f, 0x8b}, 2, "it is compressed by gzip"},
        {{0x28, 0xb5, 0x2f, 0xfd}, 4, "it is compressed by zstd"},
        {{'B', 'Z', 'h'}, 3, "it is compressed by bzip2"},
        {{0xfd, '7', 'z', 'X'}, 4, "it is compressed by xz"},
    };
    if (w->index->file_bytes < SL_TAR_BLOCK) {
        return fail(w, SLUICE_CORRUPT, 0, "the file is too short for a tar archive", error);
    }
    const uint8_t *first = look(w, 0, SL_TAR_BLOCK, error);
    if (first == NULL) {
        return SLUICE_IO;
    }
    for (size_t i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++) {
        if (memcmp(first, compressed[i].bytes, compressed[i].count) == 0) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, 0,
                                 "%s, and can only be read from front to back: unpack it first",
                                 compressed[i].text);
        }
    }
    return SLUICE_OK;
}

static sluice_status walk_open(walker *w, sluice_error *error)
{
    struct stat facts;
    if (fstat(w->fd, &facts) == 0) {
        w->index->modified_ns = sl_file_modified_ns(&facts);
    }
    (void)posix_fadvise(w->fd, 0, 0, POSIX_FADV_RANDOM); /* payloads are not wanted */
    sluice_status status = check_begin(w, error);
    if (status == SLUICE_OK) {
        sl_tar_begin(&w->walk, 0);
        status = walk_members(w, error);
    }
    return status == SLUICE_OK ? end_sample(w, error) : status;
}

sluice_status sl_tar_index_walk(sl_file_index *index, const char *path, sluice_error *error)
{
    *index = (sl_file_index){.kind = SL_INDEX_TAR};
    walker *w = sl_malloc(sizeof(*w));
    if (w == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "no memory to walk a tar");
    }
    memset(w, 0, offsetof(walker, window));
    w->index = index;
    w->path = path;
    sluice_status status =
        sl_file_open((sl_file_name){STAGE, path}, &w->fd, &index->file_bytes, error);
    if (status == SLUICE_OK) {
        status = walk_open(w, error);
        sl_file_close(w->fd);
    }
    sl_free(w);
    if (status < 0) {
        sl_file_index_close(index);
    }
    return status;
}
