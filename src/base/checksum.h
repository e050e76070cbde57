/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum: XXH3-64 with seed 0, at once or piece by piece.
 *
 * Purpose: the one place that knows the hash library.
 * Threads: a stream belongs to its user; it needs no closing.
 */
#ifndef SL_CHECKSUM_H
#define SL_CHECKSUM_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

uint64_t sl_checksum(const void *data, size_t bytes);

/* Space for the library's state. */
typedef struct sl_checksum_stream {
    alignas(64) uint8_t state[576];
} sl_checksum_stream;

void sl_checksum_begin(sl_checksum_stream *stream);
void sl_checksum_add(sl_checksum_stream *stream, const void *data, size_t bytes);
/* Adds bytes and copies them, a piece at a time, so that they come from memory once. */
void sl_checksum_add_copy(sl_checksum_stream *stream, void *to, const void *from, size_t bytes);
/* Adds the eight bytes of a little-endian u64. */
void sl_checksum_add_u64(sl_checksum_stream *stream, uint64_t value);
/* Returns the checksum of everything added so far. */
uint64_t sl_checksum_value(const sl_checksum_stream *stream);

#endif
