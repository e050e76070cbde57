/* SPDX-License-Identifier: Apache-2.0 */
#include "snappy.h"

#include "little_endian.h"

typedef struct unpacker {
    const uint8_t *at, *end;
    uint8_t *to;
    size_t done, size;
} unpacker;

static bool snappy_read_size(unpacker *u, uint64_t *size)
{
    *size = 0;
    for (uint32_t shift = 0; shift < 35; shift += 7) {
        if (u->at == u->end) {
            return false;
        }
        const uint8_t byte = *u->at++;
        *size |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return *size <= UINT32_MAX;
        }
    }
    return false;
}

/* Reads 1 to 4 `bytes`, little-endian. */
static bool snappy_read_number(unpacker *u, size_t bytes, uint32_t *number)
{
    if ((size_t)(u->end - u->at) < bytes) {
        return false;
    }
    *number = 0;
    for (size_t i = 0; i < bytes; i++) {
        *number |= (uint32_t)u->at[i] << 8 * i;
    }
    u->at += bytes;
    return true;
}

static bool literal(unpacker *u, uint8_t tag)
{
    uint32_t length = tag >> 2;
    if (length >= 60 && !snappy_read_number(u, length - 59, &length)) {
        return false;
    }
    const size_t bytes = (size_t)length + 1;
    if (bytes > (size_t)(u->end - u->at) || bytes > u->size - u->done) {
        return false;
    }
    memcpy(u->to + u->done, u->at, bytes);
    u->at += bytes;
    u->done += bytes;
    return true;
}

/* Copies earlier output; a copy that reaches into its own output repeats it. */
static bool snappy_copy(unpacker *u, size_t distance, size_t bytes)
{
    if (distance == 0 || distance > u->done || bytes > u->size - u->done) {
        return false;
    }
    uint8_t *to = u->to + u->done;
    const uint8_t *from = to - distance;
    u->done += bytes;
    if (distance >= bytes) {
        memcpy(to, from, bytes);
        return true;
    }
    for (size_t i = 0; i < bytes; i++) {
        to[i] = from[i];
    }
    return true;
}

static bool snappy_element(unpacker *u)
{
    const uint8_t tag = *u->at++;
    uint32_t number;
    switch (tag & 3) {
    case 0:
        return literal(u, tag);
    case 1:
        return snappy_read_number(u, 1, &number) &&
               snappy_copy(u, (size_t)(tag >> 5) << 8 | number, (size_t)(tag >> 2 & 7) + 4);
    case 2:
        return snappy_read_number(u, 2, &number) && snappy_copy(u, number, (size_t)(tag >> 2) + 1);
    default:
        return snappy_read_number(u, 4, &number) && snappy_copy(u, number, (size_t)(tag >> 2) + 1);
    }
}

bool sl_snappy_unpack(sl_bytes packed, uint8_t *to, size_t size)
{
    unpacker u = {.at = packed.data, .end = packed.data + packed.size, .size = size};
    u.to = to;
    uint64_t told;
    if (!snappy_read_size(&u, &told) || told != size) {
        return false;
    }
    while (u.at < u.end) {
        if (!snappy_element(&u)) {
            return false;
        }
    }
    return u.done == size;
}
