/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack_lz4.h"

#include "little_endian.h"
#include "memory.h"

#include <limits.h>
#include <lz4.h>
#include <lz4frame.h>

enum { SIZE_BYTES = 4 };

#define FRAME_MAGIC 0x184d2204U

bool sl_lz4_is_there(void)
{
    return true;
}

bool sl_lz4_unpack_block(sl_bytes packed, uint8_t *to, size_t size)
{
    return packed.size <= INT_MAX && size <= INT_MAX &&
           LZ4_decompress_safe((const char *)packed.data, (char *)to, (int)packed.size,
                               (int)size) == (int)size;
}

static bool unpack_frames(LZ4F_dctx *context, sl_bytes packed, uint8_t *to, size_t size)
{
    size_t at = 0;
    size_t done = 0;
    size_t left = 1; /* of the frame: 0 where it has ended */
    while (at < packed.size) {
        size_t taken = packed.size - at;
        size_t made = size - done;
        left = LZ4F_decompress(context, to + done, &made, packed.data + at, &taken, NULL);
        if (LZ4F_isError(left) || (taken == 0 && made == 0)) {
            return false;
        }
        at += taken;
        done += made;
    }
    return left == 0 && done == size;
}

bool sl_lz4_unpack_frame(sl_bytes packed, uint8_t *to, size_t size)
{
    LZ4F_dctx *context = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) {
        return false;
    }
    sl_memory_count_allocation();
    const bool good = unpack_frames(context, packed, to, size);
    (void)LZ4F_freeDecompressionContext(context);
    return good;
}

/* ---- Hadoop's framing ---- */

static bool unpack_lz4_take_size(sl_bytes packed, size_t *at, size_t *size)
{
    if (packed.size - *at < SIZE_BYTES) {
        return false;
    }
    *size = __builtin_bswap32(sl_load32(packed.data + *at));
    *at += SIZE_BYTES;
    return true;
}

/* Unpacks blocks that make `size` bytes together: only the last may make fewer than it has space
 * for. */
static bool unpack_part(sl_bytes packed, size_t *at, uint8_t *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t bytes;
        if (!unpack_lz4_take_size(packed, at, &bytes) || bytes > packed.size - *at ||
            bytes > INT_MAX || size - done > INT_MAX) {
            return false;
        }
        const int made = LZ4_decompress_safe((const char *)packed.data + *at, (char *)to + done,
                                             (int)bytes, (int)(size - done));
        if (made <= 0) {
            return false;
        }
        *at += bytes;
        done += (size_t)made;
    }
    return true;
}

static bool unpack_parts(sl_bytes packed, uint8_t *to, size_t size)
{
    size_t at = 0;
    size_t done = 0;
    while (at < packed.size) {
        size_t part;
        if (!unpack_lz4_take_size(packed, &at, &part) || part > size - done ||
            !unpack_part(packed, &at, to + done, part)) {
            return false;
        }
        done += part;
    }
    return done == size;
}

bool sl_lz4_unpack_any(sl_bytes packed, uint8_t *to, size_t size)
{
    if (unpack_parts(packed, to, size)) {
        return true;
    }
    return packed.size >= SIZE_BYTES && sl_load32(packed.data) == FRAME_MAGIC
               ? sl_lz4_unpack_frame(packed, to, size)
               : sl_lz4_unpack_block(packed, to, size);
}
