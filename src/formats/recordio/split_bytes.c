/* SPDX-License-Identifier: Apache-2.0 */
#include "split_bytes.h"

#include "little_endian.h"
#include "packed_value.h"

/*
 * Returns the offset of the next part's head, or of the end of the whole words that are followed by
 * space for a head.
 */
static size_t next_head(sl_bytes stored, size_t at)
{
    while (stored.size - at >= SL_RECORDIO_HEAD &&
           sl_load32(stored.data + at) != SL_RECORDIO_MAGIC) {
        at += 4;
    }
    return at;
}

static bool is_head(sl_bytes stored, size_t at)
{
    return stored.size - at >= SL_RECORDIO_HEAD;
}

uint64_t sl_split_size(sl_bytes stored)
{
    uint64_t size = stored.size;
    for (size_t at = next_head(stored, 0); is_head(stored, at);
         at = next_head(stored, at + SL_RECORDIO_HEAD)) {
        size -= 4;
    }
    return size;
}

uint64_t sl_split_find(sl_bytes stored, uint64_t bytes)
{
    size_t at = 0;
    for (uint64_t found = 0; found < bytes; found += 4) {
        if (stored.size - at < 4) {
            return stored.size;
        }
        at += is_head(stored, at) && sl_load32(stored.data + at) == SL_RECORDIO_MAGIC
                  ? SL_RECORDIO_HEAD
                  : 4;
    }
    return at;
}

bool sl_split_join(sl_bytes stored, void *to, uint64_t size)
{
    uint8_t *out = to;
    uint64_t left = size;
    for (size_t from = 0; from < stored.size;) {
        const size_t head = next_head(stored, from);
        const bool found = is_head(stored, head);
        const size_t bytes = (found ? head + 4 : stored.size) - from;
        if (bytes > left) {
            return false;
        }
        memcpy(out, stored.data + from, bytes);
        out += bytes;
        left -= bytes;
        from += found ? bytes + 4 : bytes;
    }
    return left == 0;
}

/* ---- as values ---- */

static sluice_status split_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                                sluice_error *error)
{
    (void)max_bytes;
    (void)error;
    *size = sl_split_size(value->bytes);
    return SLUICE_OK;
}

static sluice_status split_unpack_to(const sl_value *value, sl_frame *frame, sl_scratch *scratch,
                                     void *to, uint64_t size, sluice_error *error)
{
    (void)frame;
    (void)scratch;
    return sl_split_join(value->bytes, to, size) ? SLUICE_OK : sl_packed_refuse(value, error);
}

const sl_value_packing sl_value_packing_split = {.name = "record stored in parts",
                                                 .size = split_size,
                                                 .unpack_to = split_unpack_to};
