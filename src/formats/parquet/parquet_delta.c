/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet_delta.h"

#include <stdint.h>

enum { MINIBLOCKS_MAX = 512, WIDTH_MAX = 64 };

typedef struct cursor {
    const uint8_t *at, *end;
    bool bad;
} cursor;

typedef struct head {
    uint64_t block, miniblocks, count;
    int64_t first;
} head;

static uint64_t parquet_delta_read_varint(cursor *c)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        const uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    c->bad = true;
    return 0;
}

static int64_t read_zigzag(cursor *c)
{
    const uint64_t value = parquet_delta_read_varint(c);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static bool parquet_delta_read_head(cursor *c, head *h)
{
    h->block = parquet_delta_read_varint(c);
    h->miniblocks = parquet_delta_read_varint(c);
    h->count = parquet_delta_read_varint(c);
    h->first = read_zigzag(c);
    return !c->bad && h->miniblocks > 0 && h->miniblocks <= MINIBLOCKS_MAX && h->block > 0 &&
           h->block <= INT32_MAX && h->block % h->miniblocks == 0 &&
           h->block / h->miniblocks % 8 == 0 && h->count <= INT32_MAX;
}

bool sl_parquet_delta_count(sl_bytes bytes, uint32_t most, uint32_t *count)
{
    cursor c = {bytes.data, bytes.data + bytes.size, false};
    head h;
    if (!parquet_delta_read_head(&c, &h) || h.count > most) {
        return false;
    }
    *count = (uint32_t)h.count;
    return true;
}

static uint64_t read_bits(const uint8_t *bytes, uint64_t bit, uint32_t width)
{
    uint64_t value = 0;
    for (uint32_t done = 0; done < width;) {
        const uint32_t skip = (uint32_t)(bit % 8);
        const uint32_t take = 8 - skip < width - done ? 8 - skip : width - done;
        const uint64_t part = (uint64_t)(bytes[bit / 8] >> skip) & ((1U << take) - 1);
        value |= part << done;
        done += take;
        bit += take;
    }
    return value;
}

/* State of the sum at a block. */
typedef struct sum {
    int64_t *to;
    uint32_t done, count;
    uint64_t last; /* sums wrap */
} sum;

static bool read_miniblock(cursor *c, sum *s, uint64_t least, uint32_t width, uint64_t size)
{
    const uint64_t bytes = size / 8 * width;
    if (width > WIDTH_MAX || bytes > (uint64_t)(c->end - c->at)) {
        return false;
    }
    for (uint64_t i = 0; i < size && s->done < s->count; i++) {
        s->last += least + read_bits(c->at, i * width, width);
        s->to[s->done++] = (int64_t)s->last;
    }
    c->at += bytes;
    return true;
}

static bool read_block(cursor *c, const head *h, sum *s)
{
    const uint64_t least = (uint64_t)read_zigzag(c);
    const uint8_t *widths = c->at;
    if (c->bad || h->miniblocks > (uint64_t)(c->end - c->at)) {
        return false;
    }
    c->at += h->miniblocks;
    for (uint64_t i = 0; i < h->miniblocks && s->done < s->count; i++) {
        if (!read_miniblock(c, s, least, widths[i], h->block / h->miniblocks)) {
            return false;
        }
    }
    return true;
}

bool sl_parquet_delta_read(sl_bytes bytes, int64_t *to, uint32_t count, size_t *used)
{
    cursor c = {bytes.data, bytes.data + bytes.size, false};
    head h;
    if (!parquet_delta_read_head(&c, &h) || h.count != count) {
        return false;
    }
    sum s = {.to = to, .count = count, .last = (uint64_t)h.first};
    if (count > 0) {
        to[s.done++] = h.first;
    }
    while (s.done < count) {
        if (!read_block(&c, &h, &s)) {
            return false;
        }
    }
    *used = (size_t)(c.at - bytes.data);
    return true;
}
