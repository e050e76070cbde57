/* SPDX-License-Identifier: Apache-2.0 */
/* grammar_jpeg: mutations that know the markers, segments, tables and scans of a JPEG, so that
 * their output passes the first checks. The JPEG begins at the first SOI of the input; half of the
 * mutations are the engine's own. */
#include "guard.h"

#include "philox.h"

#include <string.h>

enum { SOI = 0xd8, EOI = 0xd9, SOF0 = 0xc0, SOF2 = 0xc2, DHT = 0xc4, SOS = 0xda, DQT = 0xdb };
enum { DRI = 0xdd, RST0 = 0xd0, SEGMENTS_MOST = 64, LENGTHS = 16 };

/* One marker with everything until the next; entropy-coded data belong to their scan. */
typedef struct segment {
    size_t at, bytes;
    uint8_t marker;
} segment;

typedef struct jpeg_parts {
    uint8_t *data;
    size_t size, most;
    segment of[SEGMENTS_MOST];
    uint32_t count;
} jpeg_parts;

/* Returns the end of the entropy-coded data that begin at `at`. */
static size_t scan_end(const uint8_t *data, size_t size, size_t at)
{
    while (at + 1 < size && (data[at] != 0xff || data[at + 1] == 0 ||
                             (data[at + 1] >= RST0 && data[at + 1] < RST0 + 8)))
        at++;
    return at + 1 < size ? at : size;
}

static void find_parts(jpeg_parts *parts, size_t begin)
{
    size_t at = begin + 2;
    parts->count = 0;
    while (parts->count < SEGMENTS_MOST && at + 4 <= parts->size && parts->data[at] == 0xff) {
        const uint8_t *head = parts->data + at;
        size_t bytes = head[1] == EOI ? 2 : 2 + ((size_t)head[2] << 8 | head[3]);
        if (bytes > parts->size - at)
            bytes = parts->size - at;
        if (head[1] == SOS)
            bytes = scan_end(parts->data, parts->size, at + bytes) - at;
        parts->of[parts->count++] = (segment){at, bytes, head[1]};
        at += bytes;
    }
}

/* Returns one of the segments with a marker from `first` to `last`, or NULL. */
static const segment *choose(const jpeg_parts *parts, uint8_t first, uint8_t last,
                             sl_random *random)
{
    const segment *found = NULL;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        if (parts->of[i].marker < first || parts->of[i].marker > last)
            continue;
        if (sl_random_below(random, ++seen) == 0)
            found = &parts->of[i];
    }
    return found;
}

/* Resizes `bytes` at `at` to `want`; new bytes are uninitialized. Returns false if space is
 * short. */
static bool resize(jpeg_parts *parts, size_t at, size_t bytes, size_t want)
{
    if (want > bytes && want - bytes > parts->most - parts->size)
        return false;
    memmove(parts->data + at + want, parts->data + at + bytes, parts->size - at - bytes);
    parts->size = parts->size - bytes + want;
    return true;
}

static void drop_segment(jpeg_parts *parts, sl_random *random)
{
    const segment *one = choose(parts, 0, 0xff, random);
    if (one != NULL)
        (void)resize(parts, one->at, one->bytes, 0);
}

/* Copies one segment before another: two tables with one number, or a repeated scan. */
static void repeat_segment(jpeg_parts *parts, sl_random *random)
{
    static uint8_t copy[GUARD_INPUT_MAX];
    const segment *one = choose(parts, 0, 0xff, random);
    const segment *other = choose(parts, 0, 0xff, random);
    if (one == NULL)
        return;
    memcpy(copy, parts->data + one->at, one->bytes);
    if (resize(parts, other->at, 0, one->bytes))
        memcpy(parts->data + other->at, copy, one->bytes);
}

/* Swaps two consecutive segments, such as scans. */
static void swap_segments(jpeg_parts *parts, sl_random *random)
{
    static uint8_t copy[GUARD_INPUT_MAX];
    if (parts->count < 2)
        return;
    const segment *one = &parts->of[sl_random_below(random, parts->count - 1)];
    memcpy(copy, parts->data + one->at, one->bytes);
    memmove(parts->data + one->at, parts->data + one[1].at, one[1].bytes);
    memcpy(parts->data + one->at + one[1].bytes, copy, one->bytes);
}

/* Sets a length that is one less, one more, zero, or the maximum. */
static void change_length(jpeg_parts *parts, sl_random *random)
{
    const segment *one = choose(parts, 0, 0xff, random);
    if (one == NULL || one->bytes < 4)
        return;
    uint8_t *at = parts->data + one->at + 2;
    const unsigned length = (unsigned)at[0] << 8 | at[1];
    const unsigned lengths[] = {length - 1, length + 1, 0, 2, 0xffff};
    const unsigned made = lengths[sl_random_below(random, 5)];
    at[0] = (uint8_t)(made >> 8);
    at[1] = (uint8_t)made;
}

/* Changes the counts of a code table: one code moves to another length, so that their number stays,
 * or a length gets its maximum number or more. */
static void change_codes(jpeg_parts *parts, sl_random *random)
{
    const segment *one = choose(parts, DHT, DHT, random);
    if (one == NULL || one->bytes < 5 + LENGTHS)
        return;
    uint8_t *counts = parts->data + one->at + 5;
    const uint32_t from = sl_random_below(random, LENGTHS);
    const uint32_t to = sl_random_below(random, LENGTHS);
    switch (sl_random_below(random, 4)) {
    case 0:
        counts[to] = (uint8_t)sl_random_u32(random);
        break;
    case 1:
        memset(counts, 0, LENGTHS);
        counts[to] = 0xff;
        break;
    case 2: /* the values */
        parts->data[one->at + 5 + LENGTHS +
                    sl_random_below(random, (uint32_t)(one->bytes - 4 - LENGTHS)) - 1] =
            (uint8_t)sl_random_u32(random);
        break;
    default:
        if (counts[from] > 0) {
            counts[from]--;
            counts[to]++;
        }
    }
}

/* Changes size, precision, number of components, their sampling and tables, or the kind of
 * frame. */
static void change_frame(jpeg_parts *parts, sl_random *random)
{
    static const uint8_t sampling[] = {0x11, 0x12, 0x21, 0x22, 0x41, 0x14, 0x44, 0x31, 0x00, 0x51};
    const segment *one = choose(parts, SOF0, SOF2, random);
    if (one == NULL || one->bytes < 10)
        return;
    uint8_t *frame = parts->data + one->at;
    const size_t component = 10 + (size_t)3 * sl_random_below(random, 4);
    switch (sl_random_below(random, 5)) {
    case 0:
        frame[1] = (uint8_t)(SOF0 + sl_random_below(random, 3));
        break;
    case 1:
        frame[5 + sl_random_below(random, 4)] = (uint8_t)sl_random_u32(random);
        break;
    case 2:
        frame[9] = (uint8_t)sl_random_below(random, 6);
        break;
    case 3:
        if (component + 1 < one->bytes)
            frame[component + 1] = sampling[sl_random_below(random, sizeof(sampling))];
        break;
    default: { /* its name or its table */
        const size_t at = component + (size_t)2 * sl_random_below(random, 2);
        if (at < one->bytes)
            frame[at] = (uint8_t)sl_random_below(random, 5);
    }
    }
}

/* Changes a scan's components, their tables, its band of coefficients or their bits. */
static void change_scan(jpeg_parts *parts, sl_random *random)
{
    const segment *one = choose(parts, SOS, SOS, random);
    if (one == NULL || one->bytes < 5)
        return;
    uint8_t *scan = parts->data + one->at;
    const size_t band = 5 + (size_t)2 * (scan[4] % 5);
    if (band + 3 > one->bytes)
        return;
    switch (sl_random_below(random, 5)) {
    case 0:
        scan[4] = (uint8_t)sl_random_below(random, 6);
        break;
    case 1:
        scan[5 + sl_random_below(random, (uint32_t)(band - 4))] =
            (uint8_t)sl_random_below(random, 0x34);
        break;
    case 2:
        scan[band] = (uint8_t)sl_random_below(random, 66);
        break;
    case 3:
        scan[band + 1] = (uint8_t)sl_random_below(random, 66);
        break;
    default:
        scan[band + 2] = (uint8_t)sl_random_below(random, 256);
    }
}

/* Changes entropy-coded data: a restart marker, a stuffed byte, a marker's first byte, or fewer
 * bytes. */
static void change_data(jpeg_parts *parts, sl_random *random)
{
    const segment *one = choose(parts, SOS, SOS, random);
    if (one == NULL || one->bytes < 16)
        return;
    const size_t at = one->at + 14 + sl_random_below(random, (uint32_t)(one->bytes - 15));
    const uint32_t kind = sl_random_below(random, 4);
    if (kind == 3) {
        const size_t left = one->at + one->bytes - at;
        (void)resize(parts, at, 1 + sl_random_below(random, (uint32_t)left), 0);
    } else if (resize(parts, at, 0, 2)) {
        parts->data[at] = 0xff;
        parts->data[at + 1] = kind == 0   ? (uint8_t)(RST0 + sl_random_below(random, 8))
                              : kind == 1 ? 0
                                          : (uint8_t)sl_random_u32(random);
    }
}

/* Inserts a restart interval before a scan, or replaces one. */
static void change_interval(jpeg_parts *parts, sl_random *random)
{
    const segment *one = choose(parts, DRI, DRI, random);
    if (one == NULL) {
        one = choose(parts, SOS, SOS, random);
        if (one == NULL || !resize(parts, one->at, 0, 6))
            return;
    } else if (one->bytes < 6) {
        return;
    }
    const uint32_t interval =
        sl_random_below(random, 3) == 0 ? sl_random_u32(random) : sl_random_below(random, 20);
    const uint8_t made[6] = {0xff, DRI, 0, 4, (uint8_t)(interval >> 8), (uint8_t)interval};
    memcpy(parts->data + one->at, made, sizeof(made));
}

static void change_quantisation(jpeg_parts *parts, sl_random *random)
{
    const segment *one = choose(parts, DQT, DQT, random);
    if (one == NULL || one->bytes < 6)
        return;
    uint8_t *table = parts->data + one->at + 4;
    if (sl_random_below(random, 3) == 0) {
        table[0] = (uint8_t)sl_random_below(random, 0x14);
    } else {
        const uint32_t at = 1 + sl_random_below(random, (uint32_t)(one->bytes - 5));
        table[at] = sl_random_below(random, 2) ? 0 : 0xff;
    }
}

static size_t find_start(const uint8_t *data, size_t size)
{
    enum { HEAD_MOST = 16 };
    for (size_t at = 0; at + 4 <= size && at < HEAD_MOST; at++) {
        if (data[at] == 0xff && data[at + 1] == SOI)
            return at;
    }
    return SIZE_MAX;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static void (*const changes[])(jpeg_parts *, sl_random *) = {
        drop_segment, repeat_segment,  swap_segments,      change_length,
        change_codes, change_codes,    change_frame,       change_scan,
        change_data,  change_interval, change_quantisation};
    sl_random random = sl_random_for(seed, 0, 0, 0);
    const size_t begin = find_start(data, size);
    if (begin == SIZE_MAX || sl_random_below(&random, 2) == 0)
        return LLVMFuzzerMutate(data, size, most);
    jpeg_parts parts = {.data = data, .size = size, .most = most};
    find_parts(&parts, begin);
    changes[sl_random_below(&random, sizeof(changes) / sizeof(*changes))](&parts, &random);
    return parts.size;
}
