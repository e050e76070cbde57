/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_bytes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PAGE          4096U
#define BLOCK_SAMPLES 503U

static void fail(const char *what)
{
    perror(what);
    abort();
}

void file_load(file_bytes *file, const char *folder, const char *name)
{
    (void)snprintf(file->path, sizeof(file->path), "%s%s%s", folder, *name ? "/" : "", name);
    FILE *stream = fopen(file->path, "rb");
    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0) {
        fail(file->path);
    }
    file->size = (size_t)ftell(stream);
    file->data = malloc(file->size + 1);
    rewind(stream);
    if (fread(file->data, 1, file->size, stream) != file->size) {
        fail(file->path);
    }
    (void)fclose(stream);
}

void file_store(const file_bytes *file, size_t bytes)
{
    /* Without O_TRUNC, which makes some file systems wait for the disk. */
    int fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || pwrite(fd, file->data, bytes, 0) != (ssize_t)bytes ||
        ftruncate(fd, (off_t)bytes) != 0 || close(fd) != 0) {
        fail(file->path);
    }
}

void file_store_byte(const file_bytes *file, size_t offset, uint8_t value)
{
    int fd = open(file->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || pwrite(fd, &value, 1, (off_t)offset) != 1 || close(fd) != 0) {
        fail(file->path);
    }
}

void file_free(file_bytes *file)
{
    free(file->data);
    memset(file, 0, sizeof(*file));
}

bool files_equal(const char *a, const char *b)
{
    file_bytes left;
    file_bytes right;
    file_load(&left, a, "");
    file_load(&right, b, "");
    bool equal = left.size == right.size && memcmp(left.data, right.data, left.size) == 0;
    file_free(&left);
    file_free(&right);
    return equal;
}

uint64_t get64(const file_bytes *file, size_t offset)
{
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;) {
        value = (value << 8) | file->data[offset + i];
    }
    return value;
}

uint32_t get32(const file_bytes *file, size_t offset)
{
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;) {
        value = (value << 8) | file->data[offset + i];
    }
    return value;
}

void put64(file_bytes *file, size_t offset, uint64_t value)
{
    for (size_t i = 0; i < 8; i++) {
        file->data[offset + i] = (uint8_t)(value >> (8 * i));
    }
}

void put32(file_bytes *file, size_t offset, uint32_t value)
{
    for (size_t i = 0; i < 4; i++) {
        file->data[offset + i] = (uint8_t)(value >> (8 * i));
    }
}

static bool inside(const file_bytes *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->size && bytes <= file->size - offset;
}

static void seal_section(file_bytes *file, uint64_t offset, uint64_t bytes, size_t checksum_at)
{
    if (inside(file, offset, bytes)) {
        put64(file, checksum_at, XXH3_64bits(file->data + offset, bytes));
    }
}

void seal_header(file_bytes *file)
{
    put64(file, PAGE - 8, XXH3_64bits(file->data, PAGE - 8));
}

void seal_shard(file_bytes *file)
{
    const uint64_t index = get64(file, SHARD_INDEX_OFFSET_AT);
    const uint64_t index_bytes = get64(file, 56);
    if (inside(file, index, index_bytes)) {
        for (uint64_t at = index; at + PAGE <= index + index_bytes; at += PAGE) {
            put64(file, at + PAGE - 8, XXH3_64bits(file->data + at, PAGE - 8));
        }
    }
    seal_section(file, index, index_bytes, 64);
    seal_section(file, get64(file, SHARD_META_OFFSET_AT), get64(file, SHARD_META_BYTES_AT), 88);
    seal_header(file);
}

uint64_t sample_at(const file_bytes *file, uint64_t number)
{
    const uint32_t common = get32(file, SHARD_RECORD_BYTES_AT);
    if (common != 0) {
        return PAGE + number * common;
    }
    /* the last fence of a whole block gives its end */
    const uint64_t block = number == get64(file, SHARD_SAMPLES_AT) ? (number - 1) / BLOCK_SAMPLES
                                                                   : number / BLOCK_SAMPLES;
    const uint64_t fence = number - block * BLOCK_SAMPLES;
    return get64(file, get64(file, SHARD_INDEX_OFFSET_AT) + block * PAGE + fence * 8);
}

static uint64_t part_of_identity(uint64_t number, uint64_t checksum)
{
    const uint64_t both[2] = {number, checksum}; /* tests run on little-endian machines */
    return XXH3_64bits(both, sizeof(both));
}

void seal_samples(file_bytes *file)
{
    const uint64_t samples = get64(file, SHARD_SAMPLES_AT);
    const uint64_t index = get64(file, SHARD_INDEX_OFFSET_AT);
    uint64_t identity = 0;
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t at = sample_at(file, i);
        const uint64_t end = sample_at(file, i + 1);
        if (end < at + 16 || !inside(file, at, end - at)) {
            continue;
        }
        put64(file, at, XXH3_64bits(file->data + at + 8, end - at - 8));
        identity += part_of_identity(i, get64(file, at));
    }
    put64(file, SHARD_IDENTITY_AT, identity);
    for (uint64_t at = index; at < index + get64(file, 56); at += PAGE) {
        put64(file, at + 4048, identity);
    }
    seal_shard(file);
}

void seal_manifest(file_bytes *file)
{
    seal_section(file, PAGE, get64(file, 56), 64);
    seal_section(file, get64(file, 72), get64(file, 80), 88);
    seal_header(file);
}
