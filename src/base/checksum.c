/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#include "little_endian.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

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
