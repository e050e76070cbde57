/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offset_files: reads and checks the offset tables of MDS shards and LitData chunks, in parallel
 * when a dataset is opened.
 *
 * Offsets increase and stay within the file.
 */
#include "offset_files.h"

#include "little_endian.h"
#include "memory.h"
#include "open_many.h"
#include "store.h"
#include "unpacked_store.h"

#define STAGE "dataset"
/*
 * Piece size for unpacking a table; limit of an unpacked table: a constant, plus a multiple of its
 * file's size.
 */
#define TABLE_PIECE  ((size_t)256 << 10)
#define TABLE_MOST   ((uint64_t)64 << 20)
#define TABLE_A_BYTE 64U

void sl_offset_files_close(sl_offset_files *files)
{
    for (uint32_t i = 0; files->tables != NULL && i < files->list.count; i++) {
        sl_free(files->tables[i]);
    }
    sl_free(files->tables);
    sl_file_list_close(&files->list);
    *files = (sl_offset_files){0};
}

sluice_status sl_offset_files_add(sl_offset_files *files, const sl_told_file *told,
                                  sluice_error *error)
{
    /* each takes at least 4 bytes, and offsets have 32 bits */
    if (told->samples > UINT32_MAX / 4 - 2) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, told->path, -1,
                             "its number of samples in the index is out of range");
    }
    const sluice_status status = sl_file_list_add(&files->list, told->path, error);
    if (status < 0) {
        return status;
    }
    sl_listed_file *file = &files->list.files[files->list.count - 1];
    file->first = files->samples;
    files->samples += told->samples;
    file->packing = told->packing;
    if (told->packing == SL_PACKING_NONE) {
        file->file.bytes = told->bytes;
        return SLUICE_OK;
    }
    file->file.bytes = told->packed_bytes;
    file->unpacked = told->bytes;
    file->name = sl_strdup(told->unpacked);
    return file->name != NULL ? SLUICE_OK
                              : sl_no_memory_file(error, STAGE, told->path, "for a path");
}

uint64_t sl_offset_files_bytes(const sl_offset_files *files, uint32_t file)
{
    const sl_listed_file *of = &files->list.files[file];
    return of->packing != SL_PACKING_NONE ? of->unpacked : of->file.bytes;
}

uint64_t sl_offset_files_samples(const sl_offset_files *files, uint32_t file)
{
    const sl_file_list *list = &files->list;
    const uint64_t end = file + 1 < list->count ? list->files[file + 1].first : files->samples;
    return end - list->files[file].first;
}

/* ---- tables ---- */

static uint64_t table_bytes(const sl_offset_files *files, uint32_t number)
{
    return 4 * (sl_offset_files_samples(files, number) + 2);
}

static sluice_status offset_files_refuse_size(const sl_listed_file *file, uint64_t bytes,
                                              sluice_error *error)
{
    const uint64_t told = file->file.bytes;
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path,
                         (int64_t)(bytes < told ? bytes : told),
                         "the file has %llu bytes, but its index says %llu",
                         (unsigned long long)bytes, (unsigned long long)told);
}

static sluice_status refuse_table(const sl_offset_files *files, uint32_t number,
                                  sluice_error *error)
{
    return sl_error_file(
        error, SLUICE_CORRUPT, STAGE, 0, files->list.files[number].path, 0,
        "the file is too small for the table of the %llu samples that its index lists",
        (unsigned long long)sl_offset_files_samples(files, number));
}

static sluice_status offset_files_check_size(const sl_offset_files *files, uint32_t number,
                                             const sl_file_identity *found, sluice_error *error)
{
    sl_listed_file *file = &files->list.files[number];
    const uint64_t table = table_bytes(files, number);
    const uint64_t told = file->file.bytes;
    const uint64_t bytes = found->bytes;
    if (bytes != told && !(files->may_lack_table && bytes >= table && bytes - table == told)) {
        return offset_files_refuse_size(file, bytes, error);
    }
    file->file = *found;
    return bytes >= table ? SLUICE_OK : refuse_table(files, number, error);
}

/* Decodes and checks a table in place; `bytes`: size of the file. */
static sluice_status check_table(const sl_offset_files *files, uint32_t number, uint64_t bytes,
                                 uint32_t *table, sluice_error *error)
{
    const sl_listed_file *file = &files->list.files[number];
    const uint64_t samples = sl_offset_files_samples(files, number);
    uint64_t least = 4 * (samples + 2);
    table[0] = sl_load32((const uint8_t *)&table[0]);
    if (table[0] != samples) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, 0,
                             "the file has %u samples, but its index says %llu", table[0],
                             (unsigned long long)samples);
    }
    for (uint64_t i = 1; i <= samples + 1; i++) {
        table[i] = sl_load32((const uint8_t *)&table[i]);
        if (table[i] < least || table[i] > bytes) {
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, (int64_t)(4 * i),
                                 "the offset of a sample (%u) is %s", table[i],
                                 table[i] < least ? "before the end of the previous one"
                                                  : "beyond the end of the file");
        }
        least = table[i];
    }
    return SLUICE_OK;
}

static sluice_status offset_files_refuse_memory(const char *path, sluice_error *error)
{
    return sl_no_memory_file(error, STAGE, path, "for the offsets of its samples");
}

static sluice_status read_plain(sl_offset_files *files, uint32_t number, sluice_error *error)
{
    sl_handle from;
    sl_file_identity found = {0};
    const sl_file_name name = {STAGE, files->list.files[number].path};
    sluice_status status = sl_handle_open(&from, name, &found, error);
    if (status < 0) {
        return status;
    }
    status = offset_files_check_size(files, number, &found, error);
    if (status == SLUICE_OK) {
        const size_t table = table_bytes(files, number);
        files->tables[number] = sl_malloc(table);
        status = files->tables[number] == NULL
                     ? offset_files_refuse_memory(name.path, error)
                     : sl_handle_read(&from, files->tables[number], table, 0, error);
    }
    sl_handle_close(&from);
    return status == SLUICE_OK
               ? check_table(files, number, found.bytes, files->tables[number], error)
               : status;
}

/* ---- tables of compressed files ---- */

/* Looks at a compressed file, which is opened again for each read. */
static sluice_status look_at_packed(sl_offset_files *files, uint32_t number, sluice_error *error)
{
    sl_handle from;
    sl_file_identity found = {0};
    sl_listed_file *file = &files->list.files[number];
    const uint64_t told = file->file.bytes;
    const sluice_status status =
        sl_handle_open(&from, (sl_file_name){STAGE, file->path}, &found, error);
    if (status < 0) {
        return status;
    }
    sl_handle_close(&from);
    if (told != 0 && told != found.bytes) {
        return offset_files_refuse_size(file, found.bytes, error);
    }
    file->file = found;
    return SLUICE_OK;
}

/* Unpacks the table into memory that grows with the data. */
static sluice_status unpack_table(sl_offset_files *files, uint32_t number, sl_stream *stream,
                                  sluice_error *error)
{
    const char *path = files->list.files[number].path;
    const size_t wanted = table_bytes(files, number);
    sluice_status status = SLUICE_OK;
    size_t there = 0;
    for (size_t capacity = TABLE_PIECE; status == SLUICE_OK && there < wanted; capacity *= 2) {
        const size_t bytes = capacity < wanted ? capacity : wanted;
        uint32_t *grown = sl_realloc_array(files->tables[number], bytes, 1);
        if (grown == NULL) {
            return offset_files_refuse_memory(path, error);
        }
        files->tables[number] = grown;
        status = sl_stream_read(stream, there, (uint8_t *)grown + there, bytes - there, error);
        there = bytes;
    }
    return status;
}

/*
 * Corrects the size of files whose index may omit the table: the offset of the last sample's end is
 * the true one.
 */
static void settle_bytes(sl_offset_files *files, uint32_t number, const uint32_t *table)
{
    sl_listed_file *file = &files->list.files[number];
    if (files->may_lack_table && table[1 + table[0]] > file->unpacked) {
        file->unpacked += table_bytes(files, number);
    }
}

static sluice_status offset_files_read_packed(sl_offset_files *files, uint32_t number,
                                              sluice_error *error)
{
    sl_stream *stream = NULL;
    sl_listed_file *file = &files->list.files[number];
    const uint64_t table = table_bytes(files, number);
    const uint64_t most = file->unpacked + (files->may_lack_table ? table : 0);
    sluice_status status = look_at_packed(files, number, error);
    if (status == SLUICE_OK && table > most) {
        return refuse_table(files, number, error);
    }
    if (status == SLUICE_OK && table > TABLE_MOST + TABLE_A_BYTE * file->file.bytes) {
        return sl_error_file(
            error, SLUICE_UNSUPPORTED, STAGE, 0, file->path, -1,
            "file size %llu is too small for the %llu samples that its index lists",
            (unsigned long long)file->file.bytes, (unsigned long long)(table / 4 - 2));
    }
    const sl_packed packed = {.packing = file->packing, .file = file->file};
    if (status == SLUICE_OK) {
        status = sl_stream_open(&stream, file->path, &packed, 2, error);
    }
    if (status == SLUICE_OK) {
        status = unpack_table(files, number, stream, error);
    }
    sl_stream_close(stream);
    if (status == SLUICE_OK) {
        status = check_table(files, number, most, files->tables[number], error);
    }
    if (status == SLUICE_OK) {
        settle_bytes(files, number, files->tables[number]);
    }
    return status;
}

static sluice_status offset_files_read_table(void *ctx, uint32_t number, sluice_error *error)
{
    sl_offset_files *files = ctx;
    return files->list.files[number].packing == SL_PACKING_NONE
               ? read_plain(files, number, error)
               : offset_files_read_packed(files, number, error);
}

sluice_status sl_offset_files_unpack(sl_offset_files *files, const char *folder,
                                     const char *const *hashes, sluice_error *error)
{
    const uint32_t count = files->list.count;
    if (folder == NULL || count == 0) {
        return SLUICE_OK;
    }
    sl_unpack_told *told = sl_calloc(count, sizeof(*told));
    if (told == NULL) {
        return sl_no_memory(error, STAGE, "for %u files", count);
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        const uint64_t table = table_bytes(files, i);
        const uint64_t bytes = files->list.files[i].unpacked;
        const uint64_t longer = files->may_lack_table ? bytes + table : 0;
        told[i] =
            (sl_unpack_told){.bytes = {bytes, longer}, .hashes = hashes != NULL ? hashes[i] : NULL};
        if (files->list.files[i].packing != SL_PACKING_NONE && sl_unpack_most(&told[i]) < table) {
            status = refuse_table(files, i, error); /* 0 would mean any number */
        }
    }
    const sl_unpacked_how how = {.folder = folder, .told = told};
    if (status == SLUICE_OK) {
        status = sl_unpacked_store_take(&files->list, &how, error);
    }
    sl_free(told);
    return status;
}

sluice_status sl_offset_files_read(sl_offset_files *files, sluice_error *error)
{
    files->tables = sl_calloc(files->list.count, sizeof(*files->tables));
    if (files->tables == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    const sluice_status status =
        sl_open_many(files->list.count, offset_files_read_table, files, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < files->list.count; i++) {
        const uint32_t *table = files->tables[i];
        files->bytes += table[1 + table[0]] - table[1];
        files->front_to_back =
            files->front_to_back || files->list.files[i].packing != SL_PACKING_NONE;
    }
    return status;
}

/* ---- samples ---- */

sluice_status sl_offset_files_locate(const sl_offset_files *files, uint64_t index,
                                     sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    const uint32_t object = sl_file_list_find(&files->list, index);
    const uint64_t local = index - files->list.files[object].first;
    const uint32_t *offsets = files->tables[object] + 1 + local;
    const uint32_t bytes = offsets[1] - offsets[0];
    *sample = (sl_sample){.place = {.offset = offsets[0], .bytes = bytes, .object = object}};
    if (bytes > 0 && bytes <= SL_RECORD_BYTES_MAX) {
        return SLUICE_OK;
    }
    *lookup = (sl_place){.offset = 4 * (1 + local), .bytes = 8, .object = object};
    *why = bytes == 0 ? sl_refuse("the sample is empty", 0)
                      : sl_refuse_unknown("the sample has more than 2^31 - 1 bytes", 0);
    return why->status;
}

void sl_offset_files_tell(sl_offset_files *files, uint64_t checksum)
{
    const uint64_t both[2] = {files->told, checksum};
    files->told = sl_checksum(both, sizeof(both));
}

uint64_t sl_offset_files_fingerprint(const sl_offset_files *files)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add_u64(&stream, files->told);
    for (uint32_t i = 0; i < files->list.count; i++) {
        const size_t numbers = sl_offset_files_samples(files, i) + 2;
        sl_file_list_sum(&files->list, i, &stream);
        sl_checksum_add(&stream, files->tables[i], numbers * sizeof(*files->tables[i]));
    }
    return sl_checksum_value(&stream);
}
