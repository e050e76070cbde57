/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tar: any bytes as a tar archive, and as a cached index of one. Input: one byte (an index, or
 * an archive whose header checksums may be corrected), then the file. Samples must be consecutive
 * in the archive, and their values inside them; a compressed archive is only scanned here
 * (fuzz_stream covers the rest). */
#include "fuzz.h"

#include "checksum.h"
#include "file_index.h"
#include "little_endian.h"
#include "memory.h"
#include "tar_fields.h"
#include "tar_index.h"
#include "tar_walk.h"
#include "tar_wds2idx.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define END_BYTES ((size_t)2 * SL_TAR_BLOCK)

enum { SEAL = 1, INDEX = 2, MODES = 4, TEXT = 255, CHECKSUM = 148, MAGIC = 257 };

static void seal_header(uint8_t *block)
{
    uint32_t sum = 0;
    memset(block + CHECKSUM, ' ', 8);
    for (uint32_t i = 0; i < SL_TAR_BLOCK; i++)
        sum += block[i];
    char text[9];
    (void)snprintf(text, sizeof(text), "%06o", sum);
    memcpy(block + CHECKSUM, text, 7);
}

/* Corrects the checksums of blocks that claim to be headers. */
static void seal_headers(uint8_t *file, size_t size)
{
    for (size_t at = 0; at + SL_TAR_BLOCK <= size; at += SL_TAR_BLOCK) {
        if (memcmp(file + at + MAGIC, "ustar", 5) == 0)
            seal_header(file + at);
    }
}

static void look_at_values(const sl_member_fields *fields, sl_bytes sample, const sl_values *values)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const sl_value *value = &values->of[i];
        if (!value->present || fields->fields[i].type == SLUICE_FIELD_INT)
            continue;
        if (i == fields->key) {
            fuzz_expect(value->bytes.size <= SL_VALUES_ROOM, "a key fits");
            continue;
        }
        fuzz_expect(value->bytes.data == sample.data + value->offset, "offsets are right");
        fuzz_expect(value->bytes.size <= sample.size &&
                        value->offset <= sample.size - value->bytes.size,
                    "values lie inside their sample");
    }
}

static void unpack_samples(const sl_file_index *index, const uint8_t *file)
{
    static sl_values values;
    static sl_member_fields fields;
    if (sl_member_fields_make(&fields, index, 1, NULL) < 0)
        return;
    for (uint64_t i = 0; i < index->samples; i++) {
        sl_tar_record record = {.link_count = 0};
        size_t size = index->bytes[i];
        record.links = sl_file_index_links(index, i, &record.link_count);
        for (uint32_t k = 0; k < record.link_count; k++)
            size += record.links[k].bytes;
        uint8_t *copy = malloc(size); /* of exactly that size, for the sanitizer */
        fuzz_expect(copy != NULL, "memory");
        memcpy(copy, file + index->offsets[i], index->bytes[i]);
        uint8_t *to = copy + index->bytes[i];
        for (uint32_t k = 0; k < record.link_count; k++) {
            memcpy(to, file + record.links[k].offset, record.links[k].bytes);
            to += record.links[k].bytes;
        }
        sl_values_begin(&values, SL_VALUES_ALL);
        const sl_bytes sample = {copy, size};
        record.bytes = sample;
        const sl_refusal refusal = sl_tar_fields_unpack(&fields, &record, &values);
        fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
        fuzz_expect(refusal.offset <= size, "a refusal points into the sample");
        if (refusal.text == NULL)
            look_at_values(&fields, sample, &values);
        free(copy);
    }
}

static void run_index(const uint8_t *bytes, size_t size, bool seal)
{
    sl_file_index index;
    uint8_t *copy = malloc(size + 1);
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, bytes, size);
    if (seal && size >= 8)
        sl_store64(copy + size - 8, sl_checksum(copy, size - 8));
    if (sl_file_index_decode(&index, copy, size)) {
        uint8_t *again = NULL;
        size_t bytes_again = 0;
        uint64_t end = 0;
        for (uint64_t i = 0; i < index.samples; i++) {
            fuzz_expect(index.offsets[i] >= end, "samples lie behind one another");
            end = index.offsets[i] + index.bytes[i];
        }
        fuzz_expect(end <= index.file.bytes || index.packing != SL_PACKING_NONE,
                    "samples lie in the archive");
        fuzz_expect(sl_file_index_encode(&index, &again, &bytes_again), "it is encoded");
        fuzz_expect(bytes_again == size, "its size is the same");
        sl_free(again);
        sl_file_index_close(&index);
    }
    free(copy);
}

/* For archives of every size, from small to the largest possible. */
static void run_text(const char *text, size_t size)
{
    sl_file_index index;
    for (uint64_t bytes = 4096; bytes < INT64_MAX / 4096; bytes *= 4096) {
        if (!sl_tar_wds2idx_parse(&index, text, size, bytes))
            continue;
        uint64_t end = 0;
        for (uint64_t i = 0; i < index.samples; i++) {
            fuzz_expect(index.offsets[i] >= end, "samples lie behind one another");
            end = index.offsets[i] + index.bytes[i];
            fuzz_expect(end <= bytes, "samples lie in the archive");
        }
        sl_file_index_close(&index);
    }
}

static void run_archive(uint8_t *file, size_t size)
{
    char path[64];
    sl_file_index index;
    sl_open_file from;
    sluice_error error = SLUICE_ERROR_INIT;
    const int fd = memfd_create("tar", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, file, size) == (ssize_t)size, "a file of memory");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fuzz_expect(sl_open_file_open(&from, (sl_file_name){"dataset", path}, &error) == SLUICE_OK,
                "it opens");
    if (sl_tar_index_walk(&index, &from, &error) == SLUICE_OK) {
        if (index.packing == SL_PACKING_NONE)
            unpack_samples(&index, file);
        uint8_t *bytes = NULL;
        size_t encoded = 0;
        sl_file_index again;
        fuzz_expect(sl_file_index_encode(&index, &bytes, &encoded), "an index is encoded");
        fuzz_expect(sl_file_index_decode(&again, bytes, encoded), "and decoded");
        fuzz_expect(again.samples == index.samples, "with all samples");
        fuzz_expect(again.link_count == index.link_count, "with all links");
        fuzz_expect(again.omission_count == index.omission_count, "with all omissions");
        sl_file_index_close(&again);
        sl_free(bytes);
        sl_file_index_close(&index);
    } else {
        fuzz_expect(error.status < 0 && error.text[0] != '\0', "a refusal has a reason");
        fuzz_expect(error.offset <= (int64_t)size || sl_packing_of((sl_bytes){file, size}) != 0,
                    "and points into the file");
    }
    sl_handle_close(&from.handle);
    (void)close(fd);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const uint8_t mode = data[0] % MODES;
    if (data[0] == TEXT) {
        run_text((const char *)data + 1, size - 1);
        return 0;
    }
    if (mode & INDEX) {
        run_index(data + 1, size - 1, mode & SEAL);
        return 0;
    }
    uint8_t *file = malloc(size);
    fuzz_expect(file != NULL, "memory");
    memcpy(file, data + 1, size - 1);
    if (mode & SEAL)
        seal_headers(file, size - 1);
    run_archive(file, size - 1);
    free(file);
    return 0;
}

/* ---- seeds ---- */

static size_t add(uint8_t *to, size_t at, char type, const char *name, const char *payload)
{
    const bool is_link = type == '1' || type == '2';
    const size_t bytes = is_link ? 0 : strlen(payload);
    uint8_t *header = to + at;
    memset(header, 0, SL_TAR_BLOCK);
    (void)snprintf((char *)header, 100, "%s", name);
    (void)snprintf((char *)header + 100, 8, "0000644");
    (void)snprintf((char *)header + 124, 12, "%011o", (unsigned)bytes & 0777777U);
    header[156] = (uint8_t)type;
    if (is_link)
        (void)snprintf((char *)header + 157, 100, "%s", payload);
    (void)snprintf((char *)header + MAGIC, 6, "ustar");
    (void)snprintf((char *)header + MAGIC + 6, 3, "00");
    seal_header(header);
    const size_t padded = (bytes + SL_TAR_BLOCK - 1) / SL_TAR_BLOCK * SL_TAR_BLOCK;
    memset(header + SL_TAR_BLOCK, 0, padded);
    for (size_t i = 0; i < bytes; i++)
        header[SL_TAR_BLOCK + i] = (uint8_t)payload[i];
    return at + SL_TAR_BLOCK + padded;
}

/* As one zstd frame of a raw block. */
static size_t pack_stored(uint8_t *file, size_t size)
{
    const uint8_t head[] = {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0, 0, 0, 0, 0};
    const uint32_t block = 1 | (uint32_t)size << 3;
    memmove(file + sizeof(head), file, size);
    memcpy(file, head, sizeof(head));
    file[5] = (uint8_t)(size - 256);
    file[6] = (uint8_t)((size - 256) >> 8);
    file[7] = (uint8_t)block;
    file[8] = (uint8_t)(block >> 8);
    file[9] = (uint8_t)(block >> 16);
    return sizeof(head) + size;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    uint8_t *file = buffer + 1;
    size_t at = 0;
    if (index == 6) {
        static const char text[] = "v1.2 2\njpg 512 300 a.jpg cls 1536 1 a.cls\n"
                                   "JPG 2560 99 b.JPG cls 3584 2 b.cls \n";
        buffer[0] = TEXT;
        memcpy(file, text, sizeof(text) - 1);
        return sizeof(text);
    }
    if (index >= 6)
        return 0;
    if (index >= 4) { /* an index */
        const uint64_t offsets[3] = {0, 1024, 9000};
        sl_file_index made = {.file.bytes = 20480};
        uint8_t *bytes = NULL;
        size_t size = 0;
        for (unsigned i = 0; i < 3; i++)
            fuzz_expect(sl_file_index_add(&made, offsets[i], 600 + i), "memory");
        (void)sl_file_index_name(&made, "jpg");
        (void)sl_file_index_name(&made, "cls");
        fuzz_expect(sl_file_index_encode(&made, &bytes, &size), "an index is encoded");
        memcpy(file, bytes, size);
        sl_free(bytes);
        sl_file_index_close(&made);
        buffer[0] = (uint8_t)(INDEX + index % 2);
        return 1 + size;
    }
    at = add(file, at, 'g', "global", "13 comment=ab\n");
    at = add(file, at, '5', "dir/", "");
    at = add(file, at, '0', "dir/a.jpg", "picture");
    at = add(file, at, '0', "dir/a.cls", " 17\n");
    if (index % 4 > 1) {
        at = add(file, at, 'x', "pax",
                 "17 path=b.seg.pn\n"
                 "10 size=4\n"
                 "22 GNU.sparse.major=1\n");
        at = add(file, at, '0', "short", "mask");
        at = add(file, at, 'L', "long", "a/very/long/name/of/c.TXT");
        at = add(file, at, '0', "short", "text");
    }
    at = add(file, at, '0', "c.json", "{}");
    if (index % 2 == 1) {
        at = add(file, at, '1', "d.jpg", "dir/a.jpg");
        at = add(file, at, '2', "dir/d.json", "../c.json");
        at = add(file, at, '2', "dir/d.txt", "d.json");
        at = add(file, at, '2', "e.jpg", "/nowhere.jpg");
        at = add(file, at, '1', "._d.jpg", "d.jpg");
        at = add(file, at, '6', "pipe", "");
    }
    memset(file + at, 0, END_BYTES);
    buffer[0] = index % 2;
    return 1 + (index == 3 ? pack_stored(file, at + END_BYTES) : at + END_BYTES);
}
