/* SPDX-License-Identifier: Apache-2.0 */
#include "tfrecord_index.h"

#include "crc32c.h"
#include "little_endian.h"
#include "memory.h"
#include "record_walk.h"

#define STAGE "dataset"

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
    sl_head_window window;
} walker;

static sluice_status fail(const walker *w, uint64_t offset, const char *text, sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, w->window.handle.name.path,
                         (int64_t)offset, "%s", text);
}

/* What begins with no head. */
static sluice_status refuse_file(const walker *w, const uint8_t *head, sluice_error *error)
{
    const bool gzip = head[0] == 0x1f && head[1] == 0x8b;
    const bool zlib = (head[0] & 0x8f) == 0x08 && (head[0] * 256 + head[1]) % 31 == 0;
    if (gzip || zlib) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->window.handle.name.path, 0,
                             "it is compressed by %s, and can only be read from front to back: "
                             "unpack it first (%s)",
                             gzip ? "gzip" : "zlib", gzip ? "gunzip" : "zlib-flate -uncompress");
    }
    return fail(w, 0, "it does not begin with a TFRecord's length and its checksum", error);
}

static sluice_status walk_record(walker *w, uint64_t *at, sluice_error *error)
{
    const uint64_t left = w->index->file.bytes - *at;
    uint64_t length;
    if (left < SL_TFRECORD_FRAME) {
        return fail(w, *at, "the file is cut short", error);
    }
    const uint8_t *head = sl_head_window_look(&w->window, *at, SL_TFRECORD_HEAD, error);
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
    w->window.last = SL_TFRECORD_FRAME + length;
    if (!sl_file_index_add(w->index, *at, w->window.last)) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, w->window.handle.name.path,
                             (int64_t)*at, "no memory for the file's index");
    }
    *at += w->window.last;
    return SLUICE_OK;
}

sluice_status sl_tfrecord_walk(sl_file_index *index, const char *path, sluice_error *error)
{
    *index = (sl_file_index){.kind = SL_INDEX_TFRECORD};
    walker *w = sl_malloc(sizeof(*w));
    if (w == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1,
                             "no memory to walk a TFRecord");
    }
    w->index = index;
    sluice_status status = sl_head_window_open(&w->window, path, error);
    index->file = w->window.file;
    for (uint64_t at = 0; status == SLUICE_OK && at < index->file.bytes;) {
        status = walk_record(w, &at, error);
    }
    sl_head_window_close(&w->window);
    sl_free(w);
    if (status < 0) {
        sl_file_index_close(index);
    }
    return status;
}
