/* SPDX-License-Identifier: Apache-2.0 */
#include "tfrecord_index.h"

#include "crc32c.h"
#include "index_text.h"
#include "little_endian.h"
#include "record_walk.h"

#include <stdio.h>
#include <string.h>

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
        return sl_refuse("the record is truncated", 0);
    }
    if (!sl_tfrecord_head(record.data, &length)) {
        return sl_refuse("the checksum of the record's length is wrong", 0);
    }
    if (length != record.size - SL_TFRECORD_FRAME) {
        return sl_refuse("the record's length differs from the index: the file was modified", 0);
    }
    *bytes = (sl_bytes){record.data + SL_TFRECORD_HEAD, (size_t)length};
    if (sl_crc32c_mask(sl_crc32c(bytes->data, bytes->size)) !=
        sl_load32(bytes->data + bytes->size)) {
        return sl_refuse("the checksum of the record's bytes is wrong", SL_TFRECORD_HEAD);
    }
    return sl_accept();
}

/* ---- walking ---- */

/* Rejects a file that does not begin with a record's head. */
static sluice_status tfrecord_refuse_file(const sl_record_walk *walk, const uint8_t *head,
                                          sluice_error *error)
{
    const bool gzip = head[0] == 0x1f && head[1] == 0x8b;
    const bool zlib = (head[0] & 0x8f) == 0x08 && (head[0] * 256 + head[1]) % 31 == 0;
    if (gzip || zlib) {
        return sl_error_file(
            error, SLUICE_UNSUPPORTED, STAGE, 0, walk->handle.name.path, 0,
            "it is compressed by %s, and can only be read front to back: unpack it first (%s)",
            gzip ? "gzip" : "zlib", gzip ? "gunzip" : "zlib-flate -uncompress");
    }
    return sl_record_walk_refuse(
        walk, 0, "it does not begin with a TFRecord's length and its checksum", error);
}

static sluice_status tfrecord_step(sl_record_walk *walk, uint64_t *at, sluice_error *error)
{
    const uint8_t *head;
    uint64_t length;
    const sluice_status status = sl_record_walk_look(walk, *at, SL_TFRECORD_FRAME, &head, error);
    if (status < 0) {
        return status;
    }
    if (!sl_tfrecord_head(head, &length)) {
        return *at == 0 ? tfrecord_refuse_file(walk, head, error)
                        : sl_record_walk_refuse(
                              walk, *at, "the checksum of a record's length is wrong", error);
    }
    return sl_record_walk_skip(walk, at, SL_TFRECORD_FRAME, length, error);
}

sluice_status sl_tfrecord_walk(sl_file_index *index, const sl_open_file *file, sluice_error *error)
{
    return sl_record_walk_file(index, SL_INDEX_TFRECORD, file, tfrecord_step, error);
}

/* ---- indexes that DALI's tfrecord2idx wrote ---- */

/* Parses the text; records must be contiguous up to the end of the file. */
bool sl_tfrecord_idx_parse(sl_file_index *index, const char *text, size_t bytes,
                           uint64_t file_bytes)
{
    sl_index_text left = {text, text + bytes};
    uint64_t end = 0;
    bool good = true;
    *index = (sl_file_index){.kind = SL_INDEX_TFRECORD, .file.bytes = file_bytes};
    while (good && left.at < left.end) {
        uint64_t offset;
        uint64_t size;
        good = sl_index_text_number(&left, &offset) && sl_index_text_number(&left, &size) &&
               sl_index_text_end_line(&left) && offset == end && size >= SL_TFRECORD_FRAME &&
               size <= file_bytes - offset && sl_file_index_add(index, offset, size);
        end = good ? offset + size : end;
    }
    if (good && end == file_bytes && index->samples > 0) {
        return true;
    }
    sl_file_index_close(index);
    return false;
}

static bool tfrecord_idx_matches(const sl_file_index *index, const sl_open_file *file)
{
    return sl_record_walk_matches(index, file, 3, tfrecord_step);
}

bool sl_tfrecord_idx_load(sl_file_index *index, const sl_open_file *file)
{
    const char *path = file->handle.name.path;
    static const sl_index_text_kind kind = {sl_tfrecord_idx_parse, tfrecord_idx_matches};
    static const char *const folders[] = {"", "idx/", "idx_files/"};
    const char *base = sl_path_name(path);
    const char *dot = strrchr(base, '.');
    const int folder_bytes = (int)(base - path);
    const int whole = (int)strlen(base);
    const int lengths[2] = {whole, dot != NULL && dot > base ? (int)(dot - base) : whole};
    for (size_t i = 0; i < 6; i++) {
        char name[SL_PATH_BYTES];
        const int length = snprintf(name, sizeof(name), "%.*s%s%.*s.idx", folder_bytes, path,
                                    folders[i / 2], lengths[i % 2], base);
        if (length > 0 && (size_t)length < sizeof(name) &&
            sl_index_text_load(index, file, name, &kind)) {
            return true;
        }
    }
    return false;
}
