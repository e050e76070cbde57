/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordio_index: checks the frames of a record, walks those of a file, and imports MXNet's index.
 *
 * Pure except for the walk, which belongs to the opener.
 */
#include "recordio_index.h"

#include "file.h"
#include "index_text.h"
#include "little_endian.h"
#include "minmax.h"
#include "objects.h"
#include "record_walk.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { WHOLE, FIRST, MIDDLE, LAST };

/* ---- a part ---- */

typedef struct part {
    uint32_t bytes, padded;
    bool last; /* true if it is the record's last part */
} part;

/* Parses the head of a part, the first or a later one. Returns the error, or NULL. */
static const char *recordio_read_head(part *of, const uint8_t head[SL_RECORDIO_HEAD], bool first)
{
    const uint32_t kind = sl_load32(head + 4) >> 29;
    of->bytes = sl_load32(head + 4) & ((1U << 29) - 1);
    of->padded = (of->bytes + 3) / 4 * 4;
    of->last = kind == WHOLE || kind == LAST;
    if (sl_load32(head) != SL_RECORDIO_MAGIC) {
        return first ? "no record begins here: RecordIO's magic number is missing"
                     : "the next part of a record is missing: no magic number";
    }
    if (kind > LAST || first != (kind == WHOLE || kind == FIRST)) {
        return first ? "not the first part of a record"
                     : "a record continues with a part of the wrong kind";
    }
    if (!of->last && of->bytes != of->padded) {
        return "a record is split at an offset that is not a multiple of 4";
    }
    return NULL;
}

bool sl_recordio_begins(const uint8_t head[SL_RECORDIO_HEAD])
{
    part of;
    return recordio_read_head(&of, head, true) == NULL;
}

/* ---- a record ---- */

sl_refusal sl_recordio_open(sl_recordio *record, sl_bytes bytes)
{
    part of = {.last = false};
    size_t at = 0;
    *record = (sl_recordio){.split = false};
    while (!of.last) {
        if (bytes.size - at < SL_RECORDIO_HEAD) {
            return sl_refuse("the record is truncated", at);
        }
        const char *why = recordio_read_head(&of, bytes.data + at, at == 0);
        if (why != NULL) {
            return sl_refuse(why, at);
        }
        at += SL_RECORDIO_HEAD;
        if (of.padded > bytes.size - at) {
            return sl_refuse("the record is longer than the index says: the file was modified", at);
        }
        record->split = record->split || !of.last;
        /* every part but the last is followed by a head, which belongs to the last word */
        const sl_bytes data = {bytes.data + at, of.bytes + (of.last ? 0U : 4U)};
        if (record->split && sl_split_size(data) != data.size) {
            return sl_refuse("a record in parts is not split at each magic number", at);
        }
        record->size += of.bytes + (of.last ? 0U : 4U);
        at += of.padded;
    }
    if (at != bytes.size) {
        return sl_refuse("the record is shorter than the index says: the file was modified, or the "
                         "index beside it (.idx) leaves records out: rebuild or delete the index",
                         at);
    }
    if (record->size > SL_RECORDIO_BYTES_MAX) {
        return sl_refuse_unknown("the record has 2^29 bytes or more", 0);
    }
    record->stored =
        (sl_bytes){bytes.data + SL_RECORDIO_HEAD, at - (of.padded - of.bytes) - SL_RECORDIO_HEAD};
    return sl_accept();
}

size_t sl_recordio_peek(const sl_recordio *record, uint8_t *to, size_t bytes)
{
    const sl_bytes *stored = &record->stored;
    const size_t wanted = (size_t)sl_min_u64(record->size, bytes);
    size_t from = 0;
    for (size_t at = 0; at < wanted; at += 4) {
        const size_t size = sl_min_size(wanted - at, 4);
        memcpy(to + at, stored->data + from, size);
        from += record->split && stored->size - from >= SL_RECORDIO_HEAD &&
                        sl_load32(stored->data + from) == SL_RECORDIO_MAGIC
                    ? SL_RECORDIO_HEAD
                    : 4;
    }
    return wanted;
}

/* ---- walking ---- */

static sluice_status recordio_step(sl_record_walk *walk, uint64_t *at, sluice_error *error)
{
    const uint64_t begin = *at;
    part of = {.last = false};
    uint64_t size = 0;
    while (!of.last) {
        const uint8_t *head;
        sluice_status status = sl_record_walk_look(walk, *at, SL_RECORDIO_HEAD, &head, error);
        if (status < 0) {
            return status;
        }
        const char *why = recordio_read_head(&of, head, *at == begin);
        if (why != NULL) {
            return sl_record_walk_refuse(walk, *at, why, error);
        }
        status = sl_record_walk_skip(walk, at, SL_RECORDIO_HEAD, of.padded, error);
        if (status < 0) {
            return status;
        }
        size += of.bytes + (of.last ? 0U : 4U);
        if (size > SL_RECORDIO_BYTES_MAX) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, walk->handle.name.path,
                                 (int64_t)begin, "a record has 2^29 bytes or more");
        }
    }
    return SLUICE_OK;
}

sluice_status sl_recordio_walk(sl_file_index *index, const sl_open_file *file, sluice_error *error)
{
    return sl_record_walk_file(index, SL_INDEX_RECORDIO, file, recordio_step, error);
}

/* ---- MXNet's indexes ---- */

static bool read_line(sl_index_text *text, uint64_t *offset)
{
    while (text->at < text->end && *text->at != '\t' && *text->at != '\n') {
        text->at++;
    }
    if (text->at == text->end || *text->at != '\t') {
        return false;
    }
    text->at++;
    return sl_index_text_number(text, offset) && sl_index_text_end_line(text);
}

/* Sets the size: a record extends to the next one, the last to the end of the file. */
static bool set_size(sl_file_index *index, uint64_t end)
{
    if (index->samples == 0) {
        return end == 0;
    }
    const uint64_t last = index->samples - 1;
    const uint64_t begin = index->offsets[last];
    if (end <= begin || end - begin < SL_RECORDIO_HEAD || end - begin > INT32_MAX) {
        return false;
    }
    index->bytes[last] = (uint32_t)(end - begin);
    return true;
}

bool sl_recordio_idx_parse(sl_file_index *index, const char *text, size_t bytes,
                           uint64_t file_bytes)
{
    sl_index_text left = {text, text + bytes};
    bool good = true;
    *index = (sl_file_index){.kind = SL_INDEX_RECORDIO, .file.bytes = file_bytes};
    while (good && left.at < left.end) {
        uint64_t offset = 0;
        good = read_line(&left, &offset) && offset % 4 == 0 && set_size(index, offset) &&
               sl_file_index_add(index, offset, 0);
    }
    if (good && index->samples > 0 && set_size(index, file_bytes)) {
        return true;
    }
    sl_file_index_close(index);
    return false;
}

static bool recordio_idx_matches(const sl_file_index *index, const sl_open_file *file)
{
    return sl_record_walk_matches(index, file, 16, recordio_step);
}

bool sl_recordio_idx_load(sl_file_index *index, const sl_open_file *file)
{
    const char *path = file->handle.name.path;
    static const sl_index_text_kind kind = {sl_recordio_idx_parse, recordio_idx_matches};
    const size_t length = strlen(path);
    const bool named = sl_ends_with(path, ".rec");
    const size_t lengths[2] = {named ? length - 4 : length, length};
    for (size_t i = 0; i < 2; i++) {
        char name[SL_PATH_BYTES];
        const int bytes = snprintf(name, sizeof(name), "%.*s.idx", (int)lengths[i], path);
        if (bytes >= 0 && (size_t)bytes < sizeof(name) &&
            sl_index_text_load(index, file, name, &kind)) {
            return true;
        }
    }
    return false;
}
