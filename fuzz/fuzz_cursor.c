/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cursor: an accepted cursor is written back byte for byte. Input: one byte (1: correct the
 * checksum first, since otherwise no mutation would pass it), then the cursor. */
#include "fuzz.h"

#include "cursor.h"
#include "little_endian.h"

#include <sluice/loader.h>

#include <string.h>

/* The size of a cursor as the library writes it follows from its version; its last 8 bytes are an
 * FNV-1a 64 of the others. */
static size_t cursor_bytes(uint8_t version)
{
    const sl_cursor cursor = {.samples = 1,
                              .shuffle = version == '2' ? SLUICE_SHUFFLE_SHARDS : 0,
                              .global = version == '3' || version == '6',
                              .order = version == '4' || version == '7',
                              .rows = version >= '5' && version <= '7'};
    uint8_t bytes[SLUICE_CURSOR_BYTES];
    size_t size = sizeof(bytes);
    fuzz_expect(sl_cursor_write(&cursor, bytes, &size) == SLUICE_OK, "a cursor can be written");
    return size;
}

static void seal(uint8_t *cursor, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes - 8; i++)
        hash = (hash ^ cursor[i]) * 0x100000001b3;
    sl_store64(cursor + bytes - 8, hash);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    uint8_t given[2 * SLUICE_CURSOR_BYTES];
    if (size < 1 || size - 1 > sizeof(given))
        return 0;
    size_t bytes = size - 1;
    memcpy(given, data + 1, bytes);
    const size_t own = cursor_bytes(bytes > 7 ? given[7] : (uint8_t)'1');
    if ((data[0] & 1) && bytes >= own)
        seal(given, own);
    sl_cursor cursor;
    if (sl_cursor_read(&cursor, given, bytes) != SLUICE_OK)
        return 0;
    uint8_t again[SLUICE_CURSOR_BYTES];
    size_t written = sizeof(again);
    fuzz_expect(sl_cursor_write(&cursor, again, &written) == SLUICE_OK, "it can be written");
    /* bytes after a cursor in its buffer do not belong to it */
    fuzz_expect(written <= bytes && memcmp(again, given, written) == 0, "a cursor has one form");
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const sl_cursor cursors[] = {
        {0x0123456789abcdef, 1000, 7, 3, 512, SLUICE_SHUFFLE_FULL, 64, 16, 0, 0, 0, 0, 0, 0, 0, 0},
        {1, (uint64_t)1 << 40, UINT64_MAX, 0, 0, SLUICE_SHUFFLE_BLOCK, 1, 1, 0, 0, 0, 0, 0, 0, 0,
         0},
        {2, 70, 5, 1, 30, SLUICE_SHUFFLE_SHARDS, 16, 1024, 1 << 28, 3, 10, 0, 0, 0, 0, 0},
        {3, 700, 5, 1, 96, SLUICE_SHUFFLE_NONE, 64, 16, 0, 0, 0, 0xfedcba9876543210, 32, 0, 0, 0},
        {4, 70, 5, 1, 30, SLUICE_SHUFFLE_FULL, 64, 16, 0, 0, 0, 0, 0, 0, 77, 0},
        {5, 700, 5, 1, 96, SLUICE_SHUFFLE_NONE, 64, 16, 0, 0, 0, 0xfedcba9876543210, 32, 0, 77, 0},
        {6, 700, 5, 1, 96, SLUICE_SHUFFLE_FULL, 64, 16, 0, 0, 0, 0, 0, 9, 77, 0},
        {7, 70, 5, 1, 30, SLUICE_SHUFFLE_FULL, 64, 16, 0, 0, 0, 0, 0, 78, 0, 0x123456789},
        {8, 70, 5, 1, 30, SLUICE_SHUFFLE_NONE, 64, 16, 0, 0, 0, 0, 0, 79, 80, 0x12},
    };
    enum { CURSORS = sizeof(cursors) / sizeof(*cursors) };
    if (index >= 2 * CURSORS)
        return 0;
    size_t bytes = SLUICE_CURSOR_BYTES;
    buffer[0] = index >= CURSORS;
    fuzz_expect(sl_cursor_write(&cursors[index % CURSORS], buffer + 1, &bytes) == SLUICE_OK,
                "a seed");
    return 1 + bytes;
}
