/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_tiles.h"

#include "little_endian.h"

#include <assert.h>

enum { MARK = 0xFF, RST0 = 0xD0, RESTARTS = 8, END_OF_IMAGE = 0xD9, WORD = 8, BLOCK = 64 };

static const uint64_t low_bits = UINT64_C(0x7F7F7F7F7F7F7F7F);

/* Returns whether a marker begins in 64 bytes: FF followed by anything but 00, which encodes FF
 * as data. Reads 65 bytes. The compiler makes vector code of it. */
static inline bool block_has_marker(const uint8_t *bytes)
{
    uint8_t found = 0;
    for (int i = 0; i < BLOCK; i++) {
        found |= (uint8_t)((bytes[i] == MARK) & (bytes[i + 1] != 0));
    }
    return found != 0;
}

/* Sets the top bit of each byte of a word where a marker begins; reads 9 bytes. */
static inline uint64_t word_markers(const uint8_t *bytes)
{
    const uint64_t inverse = ~sl_load64(bytes);
    const uint64_t next = sl_load64(bytes + 1);
    const uint64_t not_mark = ((inverse & low_bits) + low_bits) | inverse;
    const uint64_t not_zero = ((next & low_bits) + low_bits) | next;
    return ~not_mark & not_zero & ~low_bits;
}

/* Returns where the next marker from `at` on begins; `last` (the last byte) if there is none. */
static size_t next_marker(const uint8_t *bytes, size_t at, size_t last)
{
    while (last - at >= BLOCK && !block_has_marker(bytes + at)) {
        at += BLOCK;
    }
    for (; last - at >= WORD; at += WORD) {
        const uint64_t markers = word_markers(bytes + at);
        if (markers != 0) {
            return at + (size_t)__builtin_ctzll(markers) / 8;
        }
    }
    while (at < last && (bytes[at] != MARK || bytes[at + 1] == 0)) {
        at++;
    }
    return at;
}

/* Returns the number of intervals; 0 if the bytes cannot hold that many. */
static uint32_t count_intervals(const sl_jpeg_tiles *tiles, size_t bytes)
{
    const uint64_t mcus = (uint64_t)tiles->mcus_across * tiles->mcus_down;
    const uint64_t count = (mcus + tiles->interval - 1) / tiles->interval;
    /* one byte of data and two of the marker after it */
    return bytes <= UINT32_MAX && count <= bytes / 3 ? (uint32_t)count : 0;
}

bool sl_jpeg_tiles_find(sl_jpeg_tiles *tiles, sl_bytes bytes, uint32_t start, sl_scratch *scratch)
{
    assert(tiles->mcus_across > 0 && tiles->mcus_down > 0 && tiles->interval > 0);
    assert(start <= bytes.size);
    tiles->count = count_intervals(tiles, bytes.size);
    if (tiles->count == 0) {
        return false;
    }
    tiles->spans = sl_scratch_take(scratch, tiles->count * sizeof(*tiles->spans));
    if (tiles->spans == NULL) {
        return false;
    }
    const size_t last = bytes.size - 1;
    size_t begin = start;
    for (uint32_t i = 0; i < tiles->count; i++) {
        if (begin >= last) {
            return false;
        }
        const size_t end = next_marker(bytes.data, begin, last);
        const uint32_t expected = i + 1 < tiles->count ? RST0 + i % RESTARTS : END_OF_IMAGE;
        if (end == begin || end == last || bytes.data[end + 1] != expected) {
            return false;
        }
        tiles->spans[i] = (sl_jpeg_span){(uint32_t)begin, (uint32_t)end};
        begin = end + 2;
    }
    return true;
}

uint64_t sl_jpeg_tiles_read(const sl_jpeg_tiles *tiles, uint32_t left, uint32_t right, uint32_t top,
                            uint32_t bottom)
{
    const uint64_t across = tiles->mcus_across;
    const uint64_t interval = tiles->interval;
    assert(left < right && right <= across && top < bottom && bottom <= tiles->mcus_down);
    if (interval < across) {
        return (uint64_t)(bottom - top) * (right - left / interval * interval);
    }
    const uint64_t first = (top * across + left) / interval * interval;
    const uint64_t last = (bottom - 1) * across + right;
    return last - first;
}

static uint32_t jpeg_tiles_distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

uint32_t sl_tile_interval(uint32_t across, uint32_t mcu_pixels, uint32_t wanted)
{
    assert(across > 0 && mcu_pixels >= 8);
    if (wanted > 0) {
        return wanted < across ? wanted : across;
    }
    const uint32_t target = mcu_pixels < SL_TILE_PIXELS ? SL_TILE_PIXELS / mcu_pixels : 1;
    if (across <= target) {
        return across;
    }
    uint32_t best = 0;
    for (uint32_t i = (target + 1) / 2; i <= target * 2; i++) {
        if (across % i == 0 &&
            (best == 0 || jpeg_tiles_distance(i, target) < jpeg_tiles_distance(best, target))) {
            best = i;
        }
    }
    return best > 0 ? best : target;
}
