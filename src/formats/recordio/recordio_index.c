/* SPDX-License-Identifier: Apache-2.0 */
#include "recordio_index.h"

#include "file.h"
#include "index_text.h"
#include "little_endian.h"
#include "memory.h"
#include "objects.h"
#include "record_walk.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { WHOLE, FIRST, MIDDLE, LAST };

/* ---- a part ---- */

typedef struct part {
    uint32_t bytes, padded;
    bool last; /* of its record */
} part;

/* NULL, or why that is no head of a record's part: of the first one, or another. */
static const char *read_head(part *of, const uint8_t head[SL_RECORDIO_HEAD], bool first)
{
    const uint32_t kind = sl_load32(head + 4) >> 29;
    of->bytes = sl_load32(head + 4) & ((1U << 29) - 1);
    of->padded = (of->bytes + 3) / 4 * 4;
    of->last = kind == WHOLE || kind == LAST;
    if (sl_load32(head) != SL_RECORDIO_MAGIC) {
        return first ? "no record begins here: RecordIO's magic number is missing"
                     : "a record's next part is missing: there is no magic number";
    }
    if (kind > LAST || first != (kind == WHOLE || kind == FIRST)) {
        return first ? "no record begins with a part of this kind"
                     : "a record goes on with a part of another kind";
    }
    if (!of->last && of->bytes != of->padded) {
        return "a record is split where it cannot be: not at a multiple of 4";
    }
    return NULL;
}

bool sl_recordio_begins(const uint8_t head[SL_RECORDIO_HEAD])
{
    part of;
    return read_head(&of, head, true) == NULL;
}

/* ---- a record ---- */

sl_refusal sl_recordio_open(sl_recordio *record, sl_bytes bytes)
{
    part of = {.last = false};
    size_t at = 0;
    *record = (sl_recordio){.split = false};
    while (!of.last) {
        if (bytes.size - at < SL_RECORDIO_HEAD) {
            return sl_refuse("the record is cut short", at);
        }
        const char *why = read_head(&of, bytes.data + at, at == 0);
        if (why != NULL) {
            return sl_refuse(why, at);
        }
        at += SL_RECORDIO_HEAD;
        if (of.padded > bytes.size - at) {
            return sl_refuse("the record is longer than its place: the file was changed", at);
        }
        record->split = record->split || !of.last;
        /* Behind all parts but the last there is a head, which a last word goes on with. */
        const sl_bytes data = {bytes.data + at, of.bytes + (of.last ? 0U : 4U)};
        if (record->split && sl_split_size(data) != data.size) {
            return sl_refuse("a record has parts, and was not split at each magic number", at);
        }
        record->size += of.bytes + (of.last ? 0U : 4U);
        at += of.padded;
    }
    if (at != bytes.size) {
        return sl_refuse(
            "the record ends before its place does: the file was changed, or the index "
            "beside it (.idx) leaves records out: make that anew, or delete it",
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
    const size_t wanted = record->size < bytes ? (size_t)record->size : bytes;
    size_t from = 0;
    for (size_t at = 0; at < wanted; at += 4) {
        const size_t size = wanted - at < 4 ? wanted - at : 4;
        memcpy(to + at, stored->data + from, size);
        from += record->split && stored->size - from >= SL_RECORDIO_HEAD &&
                        sl_load32(stored->data + from) == SL_RECORDIO_MAGIC
                    ? SL_RECORDIO_HEAD
                    : 4;
    }
    return wanted;
}

/* ---- walking ---- */

static sluice_status fail(const sl_head_window *window, uint64_t offset, const char *text,
                          sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, window->handle.name.path, (int64_t)offset,
                         "%s", text);
}

/* A part, which is in the file. */
static sluice_status walk_part(sl_head_window *window, uint64_t at, bool first, part *of,
                               sluice_error *error)
{
    const uint64_t left = window->file.bytes - at;
    if (left < SL_RECORDIO_HEAD) {
        return fail(window, at, "the file is cut short", error);
    }
    const uint8_t *head = sl_head_window_look(window, at, SL_RECORDIO_HEAD, error);
    if (head == NULL) {
        return error != NULL && error->status < 0 ? (sluice_status)error->status : SLUICE_IO;
    }
    const char *why = read_head(of, head, first);
    if (why != NULL) {
        return fail(window, at, why, error);
    }
    return of->padded <= left - SL_RECORDIO_HEAD
               ? SLUICE_OK
               : fail(window, at,
                      "the file is cut short: its last record is longer than what is left", error);
}

/* `*at`: where the record begins, then where the next one does. */
static sluice_status walk_record(sl_head_window *window, uint64_t *at, sluice_error *error)
{
    const uint64_t begin = *at;
    part of = {.last = false};
    uint64_t size = 0;
    while (!of.last) {
        const sluice_status status = walk_part(window, *at, *at == begin, &of, error);
        if (status < 0) {
            return status;
        }
        *at += SL_RECORDIO_HEAD + of.padded;
        size += of.bytes + (of.last ? 0U : 4U);
        window->last = SL_RECORDIO_HEAD + of.padded;
        if (size > SL_RECORDIO_BYTES_MAX) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, window->handle.name.path,
                                 (int64_t)begin, "a record has 2^29 bytes or more");
        }
    }
    return SLUICE_OK;
}

static sluice_status walk_file(sl_file_index *index, sl_head_window *window, sluice_error *error)
{
    for (uint64_t at = 0; at < window->file.bytes;) {
        const uint64_t begin = at;
        const sluice_status status = walk_record(window, &at, error);
        if (status < 0) {
            return status;
        }
        if (!sl_file_index_add(index, begin, at - begin)) {
            return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, window->handle.name.path,
                                 (int64_t)begin, "no memory for the file's index");
        }
    }
    return SLUICE_OK;
}

sluice_status sl_recordio_walk(sl_file_index *index, const char *path, sluice_error *error)
{
    *index = (sl_file_index){.kind = SL_INDEX_RECORDIO};
    sl_head_window *window = sl_malloc(sizeof(*window));
    if (window == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1,
                             "no memory to walk a RecordIO file");
    }
    sluice_status status = sl_head_window_open(window, path, error);
    index->file = window->file;
    if (status == SLUICE_OK) {
        status = walk_file(index, window, error);
    }
    sl_head_window_close(window);
    sl_free(window);
    if (status < 0) {
        sl_file_index_close(index);
    }
    return status;
}

/* ---- MXNet's indexes ---- */

enum { CHECKS = 16 };

/* Whether some of its records, the first and the last among them, are records of the file. */
static bool fits_file(const sl_file_index *index, const char *path)
{
    sl_head_window *window = sl_malloc(sizeof(*window));
    if (window == NULL) {
        return false;
    }
    bool good = sl_head_window_open(window, path, NULL) == SLUICE_OK &&
                window->file.bytes == index->file.bytes;
    for (uint64_t i = 0; good && i < CHECKS; i++) {
        const uint64_t number = (index->samples - 1) * i / (CHECKS - 1);
        uint64_t at = index->offsets[number];
        good = walk_record(window, &at, NULL) == SLUICE_OK &&
               at == index->offsets[number] + index->bytes[number];
    }
    sl_head_window_close(window);
    sl_free(window);
    return good;
}

bool sl_recordio_idx_load(sl_file_index *index, const char *path)
{
    const size_t length = strlen(path);
    const bool named = sl_ends_with(path, ".rec");
    const size_t lengths[2] = {named ? length - 4 : length, length};
    for (size_t i = 0; i < 2; i++) {
        char name[SL_PATH_BYTES];
        const int bytes = snprintf(name, sizeof(name), "%.*s.idx", (int)lengths[i], path);
        if (bytes < 0 || (size_t)bytes >= sizeof(name) ||
            !sl_index_text_load(index, path, name, sl_recordio_idx_parse)) {
            continue;
        }
        if (fits_file(index, path)) {
            return true;
        }
        sl_file_index_close(index);
    }
    return false;
}

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

/* A record goes on to the next one, the last to the end of the file. */
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
