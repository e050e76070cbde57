/* SPDX-License-Identifier: Apache-2.0 */
#include "offset_files.h"

#include "file.h"
#include "little_endian.h"
#include "memory.h"
#include "open_many.h"

#define STAGE "dataset"

void sl_offset_files_close(sl_offset_files *files)
{
    for (uint32_t i = 0; files->tables != NULL && i < files->list.count; i++) {
        sl_free(files->tables[i]);
    }
    sl_free(files->tables);
    sl_file_list_close(&files->list);
    *files = (sl_offset_files){0};
}

sluice_status sl_offset_files_add(sl_offset_files *files, const char *path, uint64_t bytes,
                                  uint64_t samples, sluice_error *error)
{
    /* Each has 4 bytes at least, and offsets have 32 bits. */
    if (samples > UINT32_MAX / 4 - 2) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, -1,
                             "its index says that it has more samples than it can");
    }
    const sluice_status status = sl_file_list_add(&files->list, path, error);
    if (status == SLUICE_OK) {
        sl_listed_file *file = &files->list.files[files->list.count - 1];
        file->file.bytes = bytes;
        file->first = files->samples;
        files->samples += samples;
    }
    return status;
}

uint64_t sl_offset_files_samples(const sl_offset_files *files, uint32_t file)
{
    const sl_file_list *list = &files->list;
    const uint64_t end = file + 1 < list->count ? list->files[file + 1].first : files->samples;
    return end - list->files[file].first;
}

/* ---- tables ---- */

static sluice_status check_size(const sl_offset_files *files, uint32_t number,
                                const sl_file_identity *found, sluice_error *error)
{
    sl_listed_file *file = &files->list.files[number];
    const uint64_t samples = sl_offset_files_samples(files, number);
    const uint64_t table = 4 * (samples + 2);
    const uint64_t told = file->file.bytes;
    const uint64_t bytes = found->bytes;
    if (bytes != told && !(files->may_lack_table && bytes >= table && bytes - table == told)) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path,
                             (int64_t)(bytes < told ? bytes : told),
                             "the file has %llu bytes, and %llu by its index",
                             (unsigned long long)bytes, (unsigned long long)told);
    }
    file->file = *found;
    return bytes >= table ? SLUICE_OK
                          : sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, 0,
                                          "the file is shorter than the table of %llu samples that "
                                          "it has by its index",
                                          (unsigned long long)samples);
}

/* From the file's bytes to numbers, in place. */
static sluice_status check_table(const sl_offset_files *files, uint32_t number, uint32_t *table,
                                 sluice_error *error)
{
    const sl_listed_file *file = &files->list.files[number];
    const uint64_t samples = sl_offset_files_samples(files, number);
    uint64_t least = 4 * (samples + 2);
    table[0] = sl_load32((const uint8_t *)&table[0]);
    if (table[0] != samples) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, 0,
                             "the file has %u samples, and %llu by its index", table[0],
                             (unsigned long long)samples);
    }
    for (uint64_t i = 1; i <= samples + 1; i++) {
        table[i] = sl_load32((const uint8_t *)&table[i]);
        if (table[i] < least || table[i] > file->file.bytes) {
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, (int64_t)(4 * i),
                                 "the offset of a sample (%u) is %s", table[i],
                                 table[i] < least ? "before the end of what comes before it"
                                                  : "behind the end of the file");
        }
        least = table[i];
    }
    return SLUICE_OK;
}

static sluice_status read_table(void *ctx, uint32_t number, sluice_error *error)
{
    sl_offset_files *files = ctx;
    int fd;
    sl_file_identity found = {0};
    const sl_file_name name = {STAGE, files->list.files[number].path};
    sluice_status status = sl_file_open(name, &fd, &found, error);
    if (status < 0) {
        return status;
    }
    status = check_size(files, number, &found, error);
    if (status == SLUICE_OK) {
        const size_t table = 4 * (sl_offset_files_samples(files, number) + 2);
        files->tables[number] = sl_malloc(table);
        status = files->tables[number] == NULL
                     ? sl_error_file(error, SLUICE_NOMEM, STAGE, 0, name.path, -1,
                                     "no memory for where its samples lie")
                     : sl_file_read(fd, name, files->tables[number], table, 0, error);
    }
    sl_file_close(fd);
    return status == SLUICE_OK ? check_table(files, number, files->tables[number], error) : status;
}

sluice_status sl_offset_files_read(sl_offset_files *files, sluice_error *error)
{
    files->tables = sl_calloc(files->list.count, sizeof(*files->tables));
    if (files->tables == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    const sluice_status status = sl_open_many(files->list.count, read_table, files, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < files->list.count; i++) {
        const uint32_t *table = files->tables[i];
        files->bytes += table[1 + table[0]] - table[1];
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
    *why = bytes == 0 ? sl_refuse("the sample has no bytes", 0)
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
