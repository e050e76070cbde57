/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#include "dataset.h"
#include "little_endian.h"

uint64_t sl_checksum(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

void sl_checksum_begin(sl_checksum_stream *stream)
{
    (void)XXH3_64bits_reset(&stream->state);
}

void sl_checksum_add(sl_checksum_stream *stream, const void *data, size_t bytes)
{
    (void)XXH3_64bits_update(&stream->state, data, bytes);
}

void sl_checksum_add_u64(sl_checksum_stream *stream, uint64_t value)
{
    uint8_t bytes[8];
    sl_store64(bytes, value);
    sl_checksum_add(stream, bytes, sizeof(bytes));
}

uint64_t sl_checksum_value(const sl_checksum_stream *stream)
{
    return XXH3_64bits_digest(&stream->state);
}
