/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#include "little_endian.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Stays in the first-level cache between its two uses. */
#define PIECE_BYTES ((size_t)8 << 10)

_Static_assert(sizeof(XXH3_state_t) <= sizeof(sl_checksum_stream), "a stream has room for a state");
_Static_assert(alignof(XXH3_state_t) <= alignof(sl_checksum_stream), "and is aligned as one");

static XXH3_state_t *state_of(sl_checksum_stream *stream)
{
    return (XXH3_state_t *)(void *)stream->state;
}

uint64_t sl_checksum(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

void sl_checksum_begin(sl_checksum_stream *stream)
{
    (void)XXH3_64bits_reset(state_of(stream));
}

void sl_checksum_add(sl_checksum_stream *stream, const void *data, size_t bytes)
{
    (void)XXH3_64bits_update(state_of(stream), data, bytes);
}

void sl_checksum_add_copy(sl_checksum_stream *stream, void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        const size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        sl_checksum_add(stream, source + at, piece);
        memcpy(target + at, source + at, piece);
    }
}

void sl_checksum_add_u64(sl_checksum_stream *stream, uint64_t value)
{
    uint8_t bytes[8];
    sl_store64(bytes, value);
    sl_checksum_add(stream, bytes, sizeof(bytes));
}

uint64_t sl_checksum_value(const sl_checksum_stream *stream)
{
    return XXH3_64bits_digest((const XXH3_state_t *)(const void *)stream->state);
}
