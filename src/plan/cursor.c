/* SPDX-License-Identifier: Apache-2.0 */
#include "cursor.h"
#include "fnv.h"

#include "little_endian.h"

#include <sluice/options.h>

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define MAGIC_BYTES 8
#define NAME_BYTES  7 /* the last byte of the magic is the version */

static const uint8_t magic[MAGIC_BYTES] = {'S', 'L', 'U', 'C', 'U', 'R', 'S', '1'};
#define BY_SHARDS  '2' /* instead of the last byte */
#define BY_BUCKETS '3'
#define BY_HASH    '4'
/* versions 1, 3 and 4 (in this order) with a hash of the rows at the end */
#define WITH_ROWS "567"

enum {
    AT_FINGERPRINT = MAGIC_BYTES,
    AT_SAMPLES = 16,
    AT_SEED = 24,
    AT_EPOCH = 32,
    AT_POSITION = 40,
    AT_SHUFFLE = 48,
    AT_BLOCK = 52,
    AT_WINDOW = 56,
    AT_END = 60, /* offset of the checksum; in version 2 it follows these: */
    AT_WINDOW_BYTES = 60,
    AT_WORLD = 68,
    AT_BATCH = 72,
    AT_END_BY_SHARDS = 76,
    AT_BUCKETS = 60, /* version 3, these: */
    AT_GLOBAL = 68,
    AT_END_BY_BUCKETS = 76,
    AT_ORDER = 60, /* version 4, this: */
    AT_END_BY_HASH = 68,
    ROWS_BYTES = 8,
    CHECKSUM_BYTES = 8,
    PARTS_BYTES = 8, /* of the note, before its own checksum */
    NOTE_BYTES = 12
};

_Static_assert(AT_END_BY_SHARDS + CHECKSUM_BYTES <= SLUICE_CURSOR_BYTES &&
                   AT_END_BY_BUCKETS + ROWS_BYTES + CHECKSUM_BYTES <= SLUICE_CURSOR_BYTES &&
                   AT_END_BY_HASH + ROWS_BYTES + CHECKSUM_BYTES + NOTE_BYTES <= SLUICE_CURSOR_BYTES,
               "the promised capacity is enough");

/* What a version stores about the order of samples, and whether it stores rows, too. */
typedef struct version {
    uint8_t order; /* the last byte of the magic of the version without rows */
    bool rows;
} version;

static const uint8_t orders[] = {'1', BY_BUCKETS, BY_HASH};

/* Decodes a version byte. False: no such version exists. */
static bool version_read(uint8_t byte, version *is)
{
    const char *with = byte != '\0' ? strchr(WITH_ROWS, byte) : NULL;
    *is = (version){byte, with != NULL};
    if (with != NULL) {
        is->order = orders[with - WITH_ROWS];
    }
    return is->order >= magic[NAME_BYTES] && is->order <= BY_HASH;
}

static uint8_t version_byte(const version *is)
{
    for (size_t i = 0; is->rows && i < sizeof(orders); i++) {
        if (orders[i] == is->order) {
            return (uint8_t)WITH_ROWS[i];
        }
    }
    return is->order;
}

/* Returns where the data of the order ends; rows are not included. */
static size_t end_of_order(uint8_t order)
{
    switch (order) {
    case BY_SHARDS:
        return AT_END_BY_SHARDS;
    case BY_BUCKETS:
        return AT_END_BY_BUCKETS;
    case BY_HASH:
        return AT_END_BY_HASH;
    default:
        return AT_END;
    }
}

static size_t end_of(const version *is)
{
    return end_of_order(is->order) + (is->rows ? ROWS_BYTES : 0);
}

static uint64_t checksum_of(const uint8_t *data, size_t size)
{
    uint64_t hash = SL_FNV1A_BEGIN;
    for (size_t i = 0; i < size; i++) {
        hash = sl_fnv1a(hash, data[i]);
    }
    return hash;
}

/* ---- the note after a cursor with a hash ---- */

/* Returns the checksum of the parts after this cursor, whose own checksum is at `end`. */
static uint32_t note_sum(const uint8_t *cursor, size_t end, uint64_t parts)
{
    return (uint32_t)(sl_fnv1a(sl_fnv1a(SL_FNV1A_BEGIN, sl_load64(cursor + end)), parts) >> 32);
}

/* Returns the bytes written after the cursor; 0: no parts, or too little space. */
static size_t write_note(uint8_t *to, size_t end, size_t space, uint64_t parts)
{
    const size_t at = end + CHECKSUM_BYTES;
    if (parts == 0 || space < at + NOTE_BYTES) {
        return 0;
    }
    sl_store64(to + at, parts);
    sl_store32(to + at + PARTS_BYTES, note_sum(to, end, parts));
    return NOTE_BYTES;
}

static uint64_t read_note(const uint8_t *from, size_t end, size_t bytes)
{
    const size_t at = end + CHECKSUM_BYTES;
    if (bytes < at + NOTE_BYTES) {
        return 0;
    }
    const uint64_t parts = sl_load64(from + at);
    return sl_load32(from + at + PARTS_BYTES) == note_sum(from, end, parts) ? parts : 0;
}

static version version_of(const sl_cursor *cursor)
{
    version is = {magic[NAME_BYTES], cursor->rows > 0};
    if (cursor->shuffle == SLUICE_SHUFFLE_SHARDS) {
        is.order = BY_SHARDS;
    } else if (cursor->order > 0) {
        is.order = BY_HASH;
    } else if (cursor->global > 0) {
        is.order = BY_BUCKETS;
    }
    return is;
}

sluice_status sl_cursor_write(const sl_cursor *cursor, void *buffer, size_t *bytes)
{
    const version is = version_of(cursor);
    assert((is.order == BY_SHARDS) + (cursor->order > 0) + (cursor->global > 0) <= 1);
    assert(!is.rows || is.order != BY_SHARDS);
    assert(is.order == BY_HASH || cursor->parts == 0);
    const size_t end = end_of(&is);
    if (*bytes < end + CHECKSUM_BYTES) {
        return SLUICE_INVALID;
    }
    assert(cursor->position <= cursor->samples && cursor->shuffle <= SLUICE_SHUFFLE_SHARDS);
    uint8_t *to = buffer;
    memcpy(to, magic, MAGIC_BYTES);
    sl_store64(to + AT_FINGERPRINT, cursor->fingerprint);
    sl_store64(to + AT_SAMPLES, cursor->samples);
    sl_store64(to + AT_SEED, cursor->seed);
    sl_store64(to + AT_EPOCH, cursor->epoch);
    sl_store64(to + AT_POSITION, cursor->position);
    sl_store32(to + AT_SHUFFLE, cursor->shuffle);
    sl_store32(to + AT_BLOCK, cursor->block);
    sl_store32(to + AT_WINDOW, cursor->window);
    to[NAME_BYTES] = version_byte(&is);
    if (is.order == BY_BUCKETS) {
        sl_store64(to + AT_BUCKETS, cursor->buckets);
        sl_store64(to + AT_GLOBAL, cursor->global);
    }
    if (is.order == BY_HASH) {
        sl_store64(to + AT_ORDER, cursor->order);
    }
    if (is.order == BY_SHARDS) {
        sl_store64(to + AT_WINDOW_BYTES, cursor->window_bytes);
        sl_store32(to + AT_WORLD, cursor->world);
        sl_store32(to + AT_BATCH, cursor->batch);
    }
    if (is.rows) {
        sl_store64(to + end - ROWS_BYTES, cursor->rows);
    }
    sl_store64(to + end, checksum_of(to, end));
    *bytes = end + CHECKSUM_BYTES + write_note(to, end, *bytes, cursor->parts);
    return SLUICE_OK;
}

/* OK if these bytes are a whole cursor of one of the versions. */
static sluice_status cursor_check(const uint8_t *from, size_t bytes, version *is)
{
    if (bytes < MAGIC_BYTES || memcmp(from, magic, NAME_BYTES) != 0) {
        return SLUICE_CORRUPT;
    }
    if (!version_read(from[NAME_BYTES], is)) {
        return SLUICE_UNSUPPORTED;
    }
    const size_t end = end_of(is);
    if (bytes < end + CHECKSUM_BYTES || sl_load64(from + end) != checksum_of(from, end)) {
        return SLUICE_CORRUPT;
    }
    return SLUICE_OK;
}

sluice_status sl_cursor_read(sl_cursor *cursor, const void *buffer, size_t bytes)
{
    const uint8_t *from = buffer;
    version is;
    const sluice_status status = cursor_check(from, bytes, &is);
    if (status != SLUICE_OK) {
        return status;
    }
    const bool by_shards = is.order == BY_SHARDS;
    const bool by_buckets = is.order == BY_BUCKETS;
    const bool by_hash = is.order == BY_HASH;
    sl_cursor read = {
        .fingerprint = sl_load64(from + AT_FINGERPRINT),
        .samples = sl_load64(from + AT_SAMPLES),
        .seed = sl_load64(from + AT_SEED),
        .epoch = sl_load64(from + AT_EPOCH),
        .position = sl_load64(from + AT_POSITION),
        .shuffle = sl_load32(from + AT_SHUFFLE),
        .block = sl_load32(from + AT_BLOCK),
        .window = sl_load32(from + AT_WINDOW),
    };
    if (by_shards) {
        read.window_bytes = sl_load64(from + AT_WINDOW_BYTES);
        read.world = sl_load32(from + AT_WORLD);
        read.batch = sl_load32(from + AT_BATCH);
    }
    if (by_buckets) {
        read.buckets = sl_load64(from + AT_BUCKETS);
        read.global = sl_load64(from + AT_GLOBAL);
    }
    if (by_hash) {
        read.order = sl_load64(from + AT_ORDER);
        read.parts = read_note(from, end_of(&is), bytes);
    }
    if (is.rows) {
        read.rows = sl_load64(from + end_of(&is) - ROWS_BYTES);
    }
    if (is.rows != (read.rows > 0) || read.position > read.samples ||
        read.shuffle > SLUICE_SHUFFLE_SHARDS ||
        by_shards != (read.shuffle == SLUICE_SHUFFLE_SHARDS) || by_buckets != (read.global > 0) ||
        by_hash != (read.order > 0) || (by_hash && read.shuffle == SLUICE_SHUFFLE_BLOCK)) {
        return SLUICE_CORRUPT;
    }
    *cursor = read;
    return SLUICE_OK;
}
