/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_file: reads the directory of an archive and the header of each member.
 *
 * Any thread, with one file each; the result is immutable. Members must not overlap.
 */
#include "npz_file.h"

#include "crc32.h"
#include "inflate.h"
#include "memory.h"
#include "name_table.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

enum {
    TAIL_FIRST = 4096,
    DIRECTORY_MOST = 1 << 20,
    /* a local header with its name and fields, and the beginning of the contents */
    ENTRY_BYTES = 2 * SL_NPZ_HEAD_BYTES,
    PIECE_BYTES = 1 << 20,
};

typedef struct reader {
    sl_npz_file *file;
    const char *path;
    uint64_t limit; /* offset of the directory */
} reader;

static sluice_status npz_file_refuse(const char *path, uint64_t offset, sl_refusal refusal,
                                     const char *member, sluice_error *error)
{
    const bool named = member != NULL && member[0] != '\0';
    return sl_error_file(error, refusal.status, STAGE, 0, path, (int64_t)(offset + refusal.offset),
                         "%s%.256s%s%s", named ? "member \"" : "", named ? member : "",
                         named ? "\": " : "", refusal.text);
}

static sluice_status npz_file_no_memory(const char *path, sluice_error *error)
{
    return sl_no_memory_file(error, STAGE, path, "reading its directory");
}

/* ---- the directory ---- */

/* Finds the end record in the last `bytes` and reads the directory. */
static sluice_status find_end(reader *r, uint8_t *tail, size_t bytes, sl_zip_end *end,
                              sluice_error *error)
{
    const uint64_t all = r->file->file.bytes;
    bytes = bytes < all ? bytes : (size_t)all;
    const sluice_status status = sl_handle_read(&r->file->handle, tail, bytes, all - bytes, error);
    if (status < 0) {
        return status;
    }
    const sl_refusal refusal = sl_zip_find_end(end, (sl_bytes){tail, bytes}, all);
    return refusal.text == NULL ? SLUICE_OK
                                : npz_file_refuse(r->path, all - bytes, refusal, NULL, error);
}

static sluice_status read_directory(reader *r, sl_zip_end *end, sluice_error *error)
{
    uint8_t *tail = sl_malloc(SL_ZIP_TAIL_BYTES);
    if (tail == NULL) {
        return npz_file_no_memory(r->path, error);
    }
    sluice_status status = find_end(r, tail, TAIL_FIRST, end, NULL);
    if (status < 0 && status != SLUICE_IO) { /* perhaps the archive has a long comment */
        status = find_end(r, tail, SL_ZIP_TAIL_BYTES, end, error);
    } else if (status < 0) {
        status = find_end(r, tail, TAIL_FIRST, end, error);
    }
    sl_free(tail);
    if (status < 0) {
        return status;
    }
    if (end->bytes > DIRECTORY_MOST || end->members > SL_SOURCE_COLUMNS_MAX) {
        return sl_error_file(
            error, SLUICE_UNSUPPORTED, STAGE, 0, r->path, (int64_t)end->offset,
            "the archive has more than %u members, or too long names, to be a sample",
            SL_SOURCE_COLUMNS_MAX);
    }
    r->limit = end->offset;
    r->file->directory = sl_malloc(end->bytes > 0 ? end->bytes : 1);
    r->file->entries = sl_calloc(end->members > 0 ? end->members : 1, sizeof(sl_npz_entry));
    if (r->file->directory == NULL || r->file->entries == NULL) {
        return npz_file_no_memory(r->path, error);
    }
    return sl_handle_read(&r->file->handle, r->file->directory, end->bytes, end->offset, error);
}

/* ---- members ---- */

/*
 * Reads the file's bytes from `from` on: up to `capacity`, but not beyond the directory's offset.
 */
static sluice_status npz_file_read_at(const reader *r, uint64_t from, uint8_t *capacity,
                                      sl_bytes *bytes, sluice_error *error)
{
    const uint64_t left = r->limit - from;
    *bytes = (sl_bytes){capacity, left < ENTRY_BYTES ? (size_t)left : ENTRY_BYTES};
    return sl_handle_read(&r->file->handle, capacity, bytes->size, from, error);
}

static sluice_status npz_file_enter(const reader *r, sl_npz_entry *entry, uint8_t *capacity,
                                    sl_bytes *packed, sluice_error *error)
{
    sl_bytes local;
    sl_zip_member *member = &entry->member;
    sluice_status status = npz_file_read_at(r, member->header, capacity, &local, error);
    if (status < 0) {
        return status;
    }
    const sl_refusal refusal = sl_zip_enter(member, local, r->limit);
    if (refusal.text != NULL) {
        return npz_file_refuse(r->path, member->header, refusal, entry->name, error);
    }
    const uint64_t before = member->data - member->header;
    const uint64_t wanted = member->packed < SL_NPZ_HEAD_BYTES ? member->packed : SL_NPZ_HEAD_BYTES;
    if (before + wanted <= local.size) {
        *packed = (sl_bytes){capacity + before, local.size - (size_t)before};
    } else {
        status = npz_file_read_at(r, member->data, capacity, packed, error);
    }
    if (packed->size > member->packed) {
        packed->size = (size_t)member->packed;
    }
    return status;
}

/* Reads a member's name and header. */
static sluice_status npz_file_read_entry(const reader *r, sl_npz_entry *entry, sluice_error *error)
{
    uint8_t capacity[ENTRY_BYTES];
    uint8_t unpacked[SL_NPZ_HEAD_BYTES];
    sl_bytes packed = {capacity, 0};
    const sluice_status status = npz_file_enter(r, entry, capacity, &packed, error);
    if (status < 0) {
        return status;
    }
    if (entry->refused == NULL) {
        const sl_refusal refusal = sl_npz_parse(&entry->npy, &entry->member,
                                                sl_npz_head(&entry->member, packed, unpacked));
        if (refusal.text != NULL && refusal.status != SLUICE_UNSUPPORTED) {
            return npz_file_refuse(r->path, entry->member.data, refusal, entry->name, error);
        }
        entry->refused = refusal.text;
    }
    return SLUICE_OK;
}

/* Returns whether a member is a folder, without contents. */
static bool npz_file_is_folder(const sl_zip_member *member)
{
    return member->bytes == 0 && member->name.size > 0 &&
           member->name.data[member->name.size - 1] == '/';
}

static sluice_status npz_file_name_entry(const reader *r, sl_npz_entry *entry, sluice_error *error)
{
    sl_bytes name = entry->member.name;
    const bool is_array = sl_npz_name(&entry->member, &name);
    entry->refused =
        is_array ? entry->member.refused : "not an array as numpy.savez stores them (NAME.npy)";
    if (name.size >= sizeof(entry->name) || memchr(name.data, 0, name.size) != NULL) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, r->path,
                             (int64_t)entry->member.header,
                             "the name of a member has more than %u bytes, or contains NUL",
                             SL_SOURCE_NAME_BYTES - 1);
    }
    memcpy(entry->name, name.data, name.size);
    return SLUICE_OK;
}

static sluice_status npz_file_check_names(const reader *r, sluice_error *error)
{
    sl_name_table names = {.capacity = 0};
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < r->file->count; i++) {
        const sl_npz_entry *entry = &r->file->entries[i];
        if (sl_name_table_find(&names, entry->name) != SL_NAME_NONE) {
            status = npz_file_refuse(r->path, entry->member.header,
                                     sl_refuse("duplicate member", 0), entry->name, error);
        } else if (!sl_name_table_add(&names, entry->name, i)) {
            status = npz_file_no_memory(r->path, error);
        }
    }
    sl_name_table_close(&names);
    return status;
}

/* Sort key of a member. */
typedef struct place {
    const sl_npz_entry *entry;
} place;

static int compare_places(const void *a, const void *b)
{
    const uint64_t first = ((const place *)a)->entry->member.header;
    const uint64_t second = ((const place *)b)->entry->member.header;
    return first < second ? -1 : first > second;
}

static sluice_status npz_file_check_places(const reader *r, sluice_error *error)
{
    const uint32_t count = r->file->count;
    sluice_status status = SLUICE_OK;
    place *sorted = sl_calloc(count + 1, sizeof(*sorted));
    if (sorted == NULL) {
        return npz_file_no_memory(r->path, error);
    }
    for (uint32_t i = 0; i < count; i++) {
        sorted[i].entry = &r->file->entries[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_places);
    for (uint32_t i = 1; status == SLUICE_OK && i < count; i++) {
        if (sl_zip_overlap(&sorted[i - 1].entry->member, &sorted[i].entry->member)) {
            status = npz_file_refuse(r->path, sorted[i].entry->member.header,
                                     sl_refuse("it overlaps another member", 0),
                                     sorted[i].entry->name, error);
        }
    }
    sl_free(sorted);
    return status;
}

static sluice_status read_entries(const reader *r, const sl_zip_end *end, sluice_error *error)
{
    sl_zip_walk walk;
    bool found = true;
    sl_zip_begin(&walk, end, (sl_bytes){r->file->directory, (size_t)end->bytes});
    for (;;) {
        sl_zip_member member = {.method = 0};
        const sl_refusal refusal = sl_zip_next(&walk, &member, &found);
        if (refusal.text != NULL) {
            return npz_file_refuse(r->path, end->offset, refusal, NULL, error);
        }
        if (!found) {
            return SLUICE_OK;
        }
        if (npz_file_is_folder(&member)) {
            continue;
        }
        sl_npz_entry *entry = &r->file->entries[r->file->count++];
        entry->member = member;
        sluice_status status = npz_file_name_entry(r, entry, error);
        if (status == SLUICE_OK) {
            status = npz_file_read_entry(r, entry, error);
        }
        if (status < 0) {
            return status;
        }
    }
}

sluice_status sl_npz_file_read(sl_npz_file *file, const char *path, sluice_error *error)
{
    sl_zip_end end = {.offset = 0};
    *file = (sl_npz_file){.count = 0};
    reader r = {.file = file, .path = path};
    sluice_status status =
        sl_handle_open(&file->handle, (sl_file_name){STAGE, path}, &file->file, error);
    if (status < 0) {
        return status;
    }
    sl_handle_advise(&file->handle, SL_ADVICE_RANDOM, 0, 0); /* arrays are not read */
    sl_handle_advise(&file->handle, SL_ADVICE_REMEMBER, 0, 0);
    status = read_directory(&r, &end, error);
    if (status == SLUICE_OK) {
        status = read_entries(&r, &end, error);
    }
    if (status == SLUICE_OK) {
        status = npz_file_check_names(&r, error);
    }
    if (status == SLUICE_OK) {
        status = npz_file_check_places(&r, error);
    }
    if (status < 0) {
        sl_npz_file_close(file);
    }
    return status;
}

void sl_npz_file_close(sl_npz_file *file)
{
    sl_handle_close(&file->handle);
    sl_free(file->directory);
    sl_free(file->entries);
    *file = (sl_npz_file){.count = 0};
}

/* ---- all of a member ---- */

static sluice_status npz_file_unpack(const sl_npz_entry *entry, sl_bytes packed, uint8_t **data,
                                     sluice_error *error)
{
    const sl_deflated stream = {.packed = packed,
                                .bytes = entry->member.bytes,
                                .head_bytes = (uint32_t)entry->npy.data,
                                .crc = entry->member.crc};
    *data = sl_malloc(entry->npy.bytes > 0 ? entry->npy.bytes : 1);
    if (*data == NULL) {
        return sl_no_memory(error, STAGE, "for an array");
    }
    const sluice_status status = sl_inflate(&stream, NULL, *data, error);
    if (status < 0) {
        sl_free(*data);
    }
    return status;
}

static sluice_status npz_file_load(const sl_npz_entry *entry, const sl_handle *from, uint8_t **data,
                                   sluice_error *error)
{
    const sl_zip_member *member = &entry->member;
    uint8_t *packed = sl_malloc(member->packed > 0 ? member->packed : 1);
    if (packed == NULL) {
        return sl_no_memory(error, STAGE, "for an array");
    }
    sluice_status status = sl_handle_read(from, packed, member->packed, member->data, error);
    if (status == SLUICE_OK && member->method == SL_ZIP_DEFLATED) {
        status = npz_file_unpack(entry, (sl_bytes){packed, (size_t)member->packed}, data, error);
    } else if (status == SLUICE_OK && sl_crc32(0, packed, member->packed) != member->crc) {
        status = sl_error_set(error, SLUICE_CORRUPT, STAGE, "its checksum (CRC-32) is wrong");
    } else if (status == SLUICE_OK) {
        memmove(packed, packed + entry->npy.data, (size_t)entry->npy.bytes);
        *data = packed;
        return status;
    }
    sl_free(packed);
    return status;
}

sluice_status sl_npz_file_load(const sl_npz_file *file, const sl_npz_entry *entry, uint8_t **data,
                               sluice_error *error)
{
    sluice_error reason;
    *data = NULL;
    sl_error_clear(&reason);
    const sluice_status status = npz_file_load(entry, &file->handle, data, &reason);
    return status >= 0 ? status
                       : sl_error_file(error, status, STAGE, reason.sys_errno,
                                       file->handle.name.path, (int64_t)entry->member.data,
                                       "member \"%.256s\": %s", entry->name, reason.text);
}

static sluice_status npz_file_check(const sl_zip_member *member, const sl_handle *from,
                                    uint8_t *piece, sl_findings *findings, sluice_error *error)
{
    uint32_t crc = 0;
    for (uint64_t at = 0; at < member->packed; at += PIECE_BYTES) {
        const uint64_t left = member->packed - at;
        const size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        if (sl_findings_stopped(findings)) {
            return SLUICE_CANCELED;
        }
        const sluice_status status = sl_handle_read(from, piece, bytes, member->data + at, error);
        if (status < 0) {
            return status;
        }
        crc = sl_crc32(crc, piece, bytes);
        findings->bytes_read += bytes;
    }
    return crc == member->crc
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, from->name.path,
                               (int64_t)member->data,
                               "the checksum (CRC-32) of the member that begins here is wrong");
}

void sl_npz_file_check(const sl_zip_member *member, const sl_listed_file *of, sl_findings *findings)
{
    sl_handle from;
    sluice_error error;
    const char *path = of->path;
    sl_error_clear(&error);
    sluice_status status =
        sl_handle_open_again(&from, (sl_file_name){STAGE, path}, &of->file, &error);
    if (status == SLUICE_OK) {
        uint8_t *piece = sl_malloc(PIECE_BYTES);
        status = piece != NULL ? npz_file_check(member, &from, piece, findings, &error)
                               : npz_file_no_memory(path, &error);
        sl_free(piece);
        sl_handle_close(&from);
    }
    if (status < 0 && status != SLUICE_CANCELED) {
        findings->report(findings->ctx, &error);
    }
}
