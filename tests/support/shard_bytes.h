/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_bytes: the files of packed datasets as bytes, to damage them in every way.
 *
 * Written only from docs/format.md, and uses the hash library directly: shares no code with the
 * reader. Functions abort on failure.
 */
#ifndef SL_SHARD_BYTES_H
#define SL_SHARD_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct file_bytes {
    char path[512];
    uint8_t *data;
    size_t size;
} file_bytes;

void file_load(file_bytes *file, const char *folder, const char *name);
/* Writes its first `bytes` back to the file. */
void file_store(const file_bytes *file, size_t bytes);
/* Writes one byte back to the file. */
void file_store_byte(const file_bytes *file, size_t offset, uint8_t value);
void file_free(file_bytes *file);
bool files_equal(const char *a, const char *b);

uint64_t get64(const file_bytes *file, size_t offset);
uint32_t get32(const file_bytes *file, size_t offset);
void put64(file_bytes *file, size_t offset, uint64_t value);
void put32(file_bytes *file, size_t offset, uint32_t value);

/* Updates the header page's own checksum, of shards and manifests. */
void seal_header(file_bytes *file);
/* Updates the checksums of index blocks, index, metadata and header, as far as the header's numbers
 * allow. */
void seal_shard(file_bytes *file);
/* Also updates the checksums of all samples, as far as the index or their common size locates them,
 * and the identity. Version 2 only. */
void seal_samples(file_bytes *file);
/* Returns the offset of sample `number` in the file; for the number of samples, the end of the last
 * one. */
uint64_t sample_at(const file_bytes *file, uint64_t number);
/* Updates the checksums of a manifest's rows, metadata and header in the same way. */
void seal_manifest(file_bytes *file);

#define SHARD_SAMPLES_AT      32
#define SHARD_INDEX_OFFSET_AT 48
#define SHARD_META_OFFSET_AT  72
#define SHARD_META_BYTES_AT   80
#define SHARD_IDENTITY_AT     96
#define SHARD_RECORD_BYTES_AT 116

#endif
