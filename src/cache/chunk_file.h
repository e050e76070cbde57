/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_file: name, layout and checks of the file of one chunk.
 *
 * Purpose: a file has the chunk's bytes, the object's address, its ETag, and a footer of 64 bytes,
 * little-endian: magic (8), version (4), size of the address (4), of the ETag (4), zero (4), number
 * of the chunk (8), its size (8), size of the object (8), XXH3-64 of the chunk's bytes (8), and of
 * address, ETag and footer so far (8). The name only serves to find the file: the footer identifies
 * it. Everything in a file is checked against the file's size before use. Threads: pure, except for
 * the files.
 */
#ifndef SL_CHUNK_FILE_H
#define SL_CHUNK_FILE_H

#include "chunk_cache.h"

#include <sys/stat.h>

#define SL_CHUNK_PART ".part"

enum {
    SL_CHUNK_FOOTER = 64,
    SL_CHUNK_ADDRESS_MAX = 4096,
    SL_CHUNK_ETAG_MAX = 512,
    SL_CHUNK_TAIL_MAX = SL_CHUNK_ADDRESS_MAX + SL_CHUNK_ETAG_MAX + SL_CHUNK_FOOTER,
    SL_CHUNK_NAME_BYTES = 48
};

/* The identity of a chunk. */
typedef struct sl_chunk_key {
    uint64_t object; /* sl_chunk_object_hash */
    uint64_t chunk;
} sl_chunk_key;

uint64_t sl_chunk_object_hash(const char *address, const char *etag, uint64_t object_bytes);
/* Writes the file's name, with `suffix` ("" or SL_CHUNK_PART). */
void sl_chunk_name(sl_chunk_key key, const char *suffix, char name[SL_CHUNK_NAME_BYTES]);
/* Parses a name written by sl_chunk_name; false: another name. */
bool sl_chunk_read_name(const char *name, sl_chunk_key *key, bool *is_part);

/* The contents of a file. */
typedef struct sl_chunk_tail {
    char address[SL_CHUNK_ADDRESS_MAX + 1], etag[SL_CHUNK_ETAG_MAX + 1];
    uint64_t chunk, bytes, object_bytes;
    uint64_t sum;    /* of the chunk's bytes */
    uint32_t length; /* length of the tail itself */
} sl_chunk_tail;

typedef enum sl_chunk_check {
    SL_CHUNK_GOOD = 0,
    SL_CHUNK_DAMAGED, /* a file of the cache, torn or modified */
    SL_CHUNK_FOREIGN, /* complete, but of another version or chunk, or not a regular file */
    SL_CHUNK_UNREAD   /* a read failed: errno, which says nothing about the bytes */
} sl_chunk_check;

/* Returns the size of the chunk, or its file's share of the quota (whole pages). */
uint64_t sl_chunk_bytes_of(uint64_t object_bytes, uint64_t chunk);
uint64_t sl_chunk_cost(uint64_t file_bytes);

/* Writes a tail to `to`, which has SL_CHUNK_TAIL_MAX bytes. Returns its length. */
size_t sl_chunk_tail_encode(const sl_chunk_tail *tail, uint8_t *to);
/* Reads the tail of an open file. GOOD: it is complete, and matches the file's size. */
sl_chunk_check sl_chunk_tail_read(int fd, uint64_t file_bytes, sl_chunk_tail *tail);
/* Reads all bytes and compares their checksum. UNREAD with ECANCELED: the thread is to stop. */
sl_chunk_check sl_chunk_verify(int fd, const sl_chunk_tail *tail);

#endif
