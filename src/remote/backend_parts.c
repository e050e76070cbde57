/* SPDX-License-Identifier: Apache-2.0 */
#include "backend_parts.h"

#include "minmax.h"

#include <string.h>

/* Returns a piece of a read; a read of one range is one piece. */
static sl_piece part_piece(const sl_read *read, uint32_t number)
{
    return read->kind == SL_READ_PIECES
               ? read->pieces[number]
               : (sl_piece){.offset = read->offset, .bytes = read->length, .count = 1};
}

static uint32_t part_pieces(const sl_read *read)
{
    return read->kind == SL_READ_PIECES ? read->piece_count : 1;
}

static uint64_t part_offset(const sl_read *read, const sl_part_cursor *cursor)
{
    const sl_piece piece = part_piece(read, cursor->piece);
    return piece.offset + (uint64_t)cursor->run * piece.stride + cursor->at;
}

static uint32_t part_run_left(const sl_read *read, const sl_part_cursor *cursor)
{
    return part_piece(read, cursor->piece).bytes - cursor->at;
}

/* Advances within a range, and to the next one at its end. */
static void part_pass(const sl_read *read, sl_part_cursor *cursor, uint32_t bytes)
{
    const sl_piece piece = part_piece(read, cursor->piece);
    cursor->at += bytes;
    cursor->to += bytes;
    if (cursor->at < piece.bytes) {
        return;
    }
    cursor->at = 0;
    if (++cursor->run == piece.count) {
        cursor->run = 0;
        cursor->piece++;
    }
}

bool sl_part_is_end(const sl_read *read, const sl_part_cursor *cursor)
{
    return cursor->piece >= part_pieces(read);
}

/* Returns whether the range at the cursor joins a part that ends at `end`. */
static bool part_joins(const sl_read *read, const sl_part_cursor *cursor, uint64_t end,
                       const sl_part_limits *limits)
{
    if (sl_part_is_end(read, cursor)) {
        return false;
    }
    const uint64_t offset = part_offset(read, cursor);
    return offset >= end && offset - end <= limits->gap_bytes;
}

sl_part_range sl_part_next(const sl_read *read, sl_part_cursor *cursor,
                           const sl_part_limits *limits)
{
    sl_part_range range = {.from = *cursor, .offset = part_offset(read, cursor)};
    uint64_t limit = UINT32_MAX;
    if (limits->chunk_bytes > 0) {
        limit = limits->chunk_bytes - range.offset % limits->chunk_bytes;
    }
    uint64_t end = range.offset;
    do {
        const uint64_t offset = part_offset(read, cursor);
        const uint64_t left = part_run_left(read, cursor);
        const bool gaps = offset - range.offset > range.wanted;
        const uint64_t most = gaps ? sl_min_u64(limit, limits->most_bytes) : limit;
        if (offset - range.offset >= most) {
            break;
        }
        const uint64_t capacity = most - (offset - range.offset);
        const uint32_t bytes = (uint32_t)sl_min_u64(left, capacity);
        part_pass(read, cursor, bytes);
        range.wanted += bytes;
        end = offset + bytes;
    } while (end - range.offset < limit && part_joins(read, cursor, end, limits));
    range.bytes = (uint32_t)(end - range.offset);
    return range;
}

void sl_part_scatter(const sl_read *read, const sl_part_range *range, const uint8_t *from)
{
    sl_part_cursor cursor = range->from;
    for (uint32_t left = range->wanted; left > 0;) {
        const uint64_t offset = part_offset(read, &cursor);
        const uint32_t bytes = sl_min_u32(left, part_run_left(read, &cursor));
        memcpy(read->buffer + cursor.to, from + (offset - range->offset), bytes);
        part_pass(read, &cursor, bytes);
        left -= bytes;
    }
}
