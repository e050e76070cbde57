/* SPDX-License-Identifier: Apache-2.0 */
#include "tfrecord_index.h"

#include "crc32c.h"
#include "file.h"
#include "little_endian.h"
#include "memory.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#define STAGE "dataset"
/* Read at once, as long as records are small. */
#define WINDOW_BYTES ((size_t)64 << 10)

/* ---- a record ---- */

bool sl_tfrecord_head(const uint8_t head[SL_TFRECORD_HEAD], uint64_t *length)
{
    *length = sl_load64(head);
    return sl_crc32c_mask(sl_crc32c(head, 8)) == sl_load32(head + 8);
}

sl_refusal sl_tfrecord_open(sl_bytes record, sl_bytes *bytes)
{
    uint64_t length;
    if (record.size < SL_TFRECORD_FRAME) {
        return sl_refuse("the record is cut short", 0);
    }
    if (!sl_tfrecord_head(record.data, &length)) {
        return sl_refuse("the checksum of the record's length is wrong", 0);
    }
    if (length != record.size - SL_TFRECORD_FRAME) {
        return sl_refuse("the record has another length: the file was changed", 0);
    }
    *bytes = (sl_bytes){record.data + SL_TFRECORD_HEAD, (size_t)length};
    if (sl_crc32c_mask(sl_crc32c(bytes->data, bytes->size)) !=
        sl_load32(bytes->data + bytes->size)) {
        return sl_refuse("the checksum of the record's bytes is wrong", SL_TFRECORD_HEAD);
    }
    return sl_accept();
}

/* ---- walking ---- */

typedef struct walker {
    sl_file_index *index;
    const char *path;
    int fd;
    uint64_t window_at; /* of the bytes in the window */
    size_t window_bytes;
    uint64_t last; /* bytes of the record before */
    uint8_t window[WINDOW_BYTES];
} walker;

static sluice_status fail(const walker *w, uint64_t offset, const char *text, sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, w->path, (int64_t)offset, "%s", text);
}

/* The head at `at`, which is in the file; NULL with an error. */
static const uint8_t *look(walker *w, uint64_t at, sluice_error *error)
{
    const uint64_t left = w->index->file_bytes - at;
    if (at >= w->window_at && at - w->window_at + SL_TFRECORD_HEAD <= w->window_bytes) {
        return w->window + (at - w->window_at);
    }
    /* A head alone where records are large, and what else is near where they are small. */
    size_t wanted = w->last > WINDOW_BYTES / 4 ? SL_TFRECORD_HEAD : WINDOW_BYTES;
    wanted = left < wanted ? (size_t)left : wanted;
    w->window_bytes = 0;
    if (sl_file_read(w->fd, (sl_file_name){STAGE, w->path}, w->window, wanted, at, error) < 0) {
        return NULL;
    }
    w->window_at = at;
    w->window_bytes = wanted;
    return w->window;
}

/* What begins with no head. */
static sluice_status refuse_file(const walker *w, const uint8_t *head, sluice_error *error)
{
    const bool gzip = head[0] == 0x1f && head[1] == 0x8b;
    const bool zlib = (head[0] & 0x8f) == 0x08 && (head[0] * 256 + head[1]) % 31 == 0;
    if (gzip || zlib) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, 0,
                             "it is compressed by %s, and can only be read from front to back: "
                             "unpack it first (%s)",
                             gzip ? "gzip" : "zlib", gzip ? "gunzip" : "zlib-flate -uncompress");
    }
    return fail(w, 0, "it does not begin with a TFRecord's length and its checksum", error);
}

static sluice_status walk_record(walker *w, uint64_t *at, sluice_error *error)
{
    const uint64_t left = w->index->file_bytes - *at;
    uint64_t length;
    if (left < SL_TFRECORD_FRAME) {
        return fail(w, *at, "the file is cut short", error);
    }
    const uint8_t *head = look(w, *at, error);
    if (head == NULL) {
        return error != NULL && error->status < 0 ? (sluice_status)error->status : SLUICE_IO;
    }
    if (!sl_tfrecord_head(head, &length)) {
        return *at == 0 ? refuse_file(w, head, error)
                        : fail(w, *at, "the checksum of a record's length is wrong", error);
    }
    if (length > left - SL_TFRECORD_FRAME) {
        return fail(w, *at, "the file is cut short: its last record is longer than what is left",
                    error);
    }
    w->last = SL_TFRECORD_FRAME + length;
    if (!sl_file_index_add(w->index, *at, w->last)) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, w->path, (int64_t)*at,
                             "no memory for the file's index");
    }
    *at += w->last;
    return SLUICE_OK;
}

static sluice_status walk_open(walker *w, sluice_error *error)
{
    struct stat facts;
    sluice_status status = SLUICE_OK;
    if (fstat(w->fd, &facts) == 0) {
        w->index->modified_ns = sl_file_modified_ns(&facts);
    }
    (void)posix_fadvise(w->fd, 0, 0, POSIX_FADV_RANDOM); /* payloads are not wanted */
    for (uint64_t at = 0; status == SLUICE_OK && at < w->index->file_bytes;) {
        status = walk_record(w, &at, error);
    }
    return status;
}

sluice_status sl_tfrecord_walk(sl_file_index *index, const char *path, sluice_error *error)
{
    *index = (sl_file_index){.kind = SL_INDEX_TFRECORD};
    walker *w = sl_malloc(sizeof(*w));
    if (w == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1,
                             "no memory to walk a TFRecord");
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
