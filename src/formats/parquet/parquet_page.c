/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_page: unpacks a page's body, and steps through its levels (runs and packed groups). Pure;
 * any worker.
 *
 * Reading beyond the end of levels marks the cursor as bad and returns 0, so loops over them end.
 */
#include "parquet_page.h"

#include "error.h"
#include "inflate.h"
#include "little_endian.h"
#include "snappy.h"
#include "unpack_brotli.h"
#include "unpack_lz4.h"

#define STAGE "dataset"

enum { GROUP = 8 }; /* count of numbers that are packed together */
/* Pages above this size, which are rare, must not unpack to more than this multiple. */
enum { BOMB_FROM = 64 << 20, BOMB_RATIO = 1024 };

/* ---- compression ---- */

const char *sl_page_codec_refused(uint32_t codec)
{
    switch (codec) {
    case SL_PAGE_PLAIN:
    case SL_PAGE_SNAPPY:
    case SL_PAGE_GZIP:
    case SL_PAGE_ZSTD:
        return NULL;
    case SL_PAGE_BROTLI:
        return sl_brotli_is_there() ? NULL
                                    : "a column is compressed by Brotli, and this library was "
                                      "built without libbrotlidec (Debian: libbrotli-dev)";
    case SL_PAGE_LZ4:
    case SL_PAGE_LZ4_RAW:
        return sl_lz4_is_there() ? NULL
                                 : "a column is compressed by LZ4, and this library was built "
                                   "without liblz4 (Debian: liblz4-dev)";
    default:
        return "a column has an unsupported compression (LZO is not supported)";
    }
}

bool sl_page_is_bomb(uint32_t bytes, uint32_t unpacked)
{
    return unpacked > BOMB_FROM && unpacked / BOMB_RATIO > bytes;
}

/* Unpacks at most `size` bytes. False: damaged. */
static bool parquet_page_unpack(sl_page_codec codec, sl_bytes packed, uint8_t *to, size_t size)
{
    switch (codec) {
    case SL_PAGE_SNAPPY:
        return sl_snappy_unpack(packed, to, size);
    case SL_PAGE_GZIP:
        return sl_inflate_members(packed, to, size);
    case SL_PAGE_BROTLI:
        return sl_brotli_unpack(packed, to, size);
    case SL_PAGE_LZ4:
        return sl_lz4_unpack_any(packed, to, size);
    case SL_PAGE_LZ4_RAW:
        return sl_lz4_unpack_block(packed, to, size);
    default:
        if (packed.size == size && size > 0) {
            memcpy(to, packed.data, size);
        }
        return packed.size == size;
    }
}

sluice_status sl_page_unpack(sl_frame *frame, sl_page_codec codec, sl_bytes packed, uint8_t *to,
                             size_t size, sluice_error *error)
{
    if (codec == SL_PAGE_ZSTD) { /* may have several frames, with or without their size */
        return sl_frame_unpack_to(frame, packed, to, size, error);
    }
    return parquet_page_unpack(codec, packed, to, size)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_CORRUPT, STAGE,
                              "a page cannot be unpacked: it is damaged");
}

/* ---- levels ---- */

uint32_t sl_levels_width(uint32_t most)
{
    uint32_t width = 0;
    for (; most > 0; most >>= 1) {
        width++;
    }
    return width;
}

void sl_levels_begin(sl_levels *levels, sl_bytes bytes, uint32_t width)
{
    *levels = (sl_levels){.at = bytes.data, .end = bytes.data + bytes.size, .width = width};
}

static bool parquet_page_read_varint(sl_levels *levels, uint64_t *number)
{
    *number = 0;
    for (uint32_t shift = 0; shift < 63; shift += 7) {
        if (levels->at == levels->end) {
            return false;
        }
        const uint8_t byte = *levels->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* Begins a run or packed groups; the page's end may cut the last group short. */
static bool parquet_page_begin_run(sl_levels *levels)
{
    uint64_t head;
    if (!parquet_page_read_varint(levels, &head)) {
        return false;
    }
    const uint64_t left = (uint64_t)(levels->end - levels->at);
    if ((head & 1) != 0) {
        const uint64_t groups = head >> 1;
        if (groups > UINT32_MAX) {
            return false;
        }
        levels->packed = groups * GROUP;
        levels->bits = 0;
        return levels->packed > 0;
    }
    const uint32_t bytes = (levels->width + 7) / 8;
    if (bytes > left) {
        return false;
    }
    levels->value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        levels->value |= (uint32_t)levels->at[i] << 8 * i;
    }
    levels->at += bytes;
    levels->run = head >> 1;
    return levels->run > 0;
}

static bool next_packed(sl_levels *levels, uint32_t *value)
{
    const uint64_t left = (uint64_t)(levels->end - levels->at) * 8;
    if (levels->bits + levels->width > left) {
        return false;
    }
    *value = 0;
    for (uint32_t i = 0; i < levels->width; i++, levels->bits++) {
        *value |= (uint32_t)(levels->at[levels->bits / 8] >> levels->bits % 8 & 1) << i;
    }
    if (--levels->packed == 0) {
        levels->at += (levels->bits + 7) / 8;
    }
    return true;
}

/* Counts the set bits among `count`, from number `bit` on. */
static uint32_t count_bits(const uint8_t *from, uint64_t bit, uint64_t count)
{
    uint32_t set = 0;
    for (; count > 0 && bit % 8 != 0; bit++, count--) {
        set += from[bit / 8] >> bit % 8 & 1;
    }
    const uint8_t *at = from + bit / 8;
    for (; count >= 64; count -= 64, at += 8) {
        set += (uint32_t)__builtin_popcountll(sl_load64(at));
    }
    for (uint64_t i = 0; i < count; i++) {
        set += at[i / 8] >> i % 8 & 1;
    }
    return set;
}

/* Skips packed numbers, at most those available. */
static bool skip_packed(sl_levels *levels, uint64_t count, uint32_t most, uint32_t *found)
{
    const uint64_t left = (uint64_t)(levels->end - levels->at) * 8;
    if (levels->width == 1 && most == 1 && count <= left - levels->bits) {
        *found += count_bits(levels->at, levels->bits, count);
        levels->bits += count;
        levels->packed -= count;
        levels->at += levels->packed == 0 ? (levels->bits + 7) / 8 : 0;
        return true;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint32_t value;
        if (!next_packed(levels, &value) || value > most) {
            return false;
        }
        *found += value == most;
    }
    return true;
}

bool sl_levels_skip(sl_levels *levels, uint64_t count, uint32_t most, uint32_t *found)
{
    while (count > 0) {
        if (levels->run == 0 && levels->packed == 0 && !parquet_page_begin_run(levels)) {
            return false;
        }
        const uint64_t there = levels->packed > 0 ? levels->packed : levels->run;
        const uint64_t some = count < there ? count : there;
        if (levels->packed > 0) {
            if (!skip_packed(levels, some, most, found)) {
                return false;
            }
        } else {
            if (levels->value > most) {
                return false;
            }
            levels->run -= some;
            *found += levels->value == most ? (uint32_t)some : 0;
        }
        count -= some;
    }
    return true;
}

bool sl_levels_next(sl_levels *levels, uint32_t *value)
{
    if (levels->run == 0 && levels->packed == 0 && !parquet_page_begin_run(levels)) {
        return false;
    }
    if (levels->packed > 0) {
        return next_packed(levels, value);
    }
    levels->run--;
    *value = levels->value;
    return true;
}

/* ---- one value ---- */

/* Takes a block of levels that begins with its size from the front. */
static bool take_sized(sl_bytes body, size_t *at, sl_bytes *levels)
{
    if (body.size - *at < 4) {
        return false;
    }
    const size_t bytes = sl_load32(body.data + *at);
    *at += 4;
    if (bytes > body.size - *at) {
        return false;
    }
    *levels = (sl_bytes){body.data + *at, bytes};
    *at += bytes;
    return true;
}

sl_refusal sl_page_split(const sl_page_pick *pick, sl_bytes body, sl_bytes *levels, size_t *values)
{
    static const char wrong[] = "the page's levels are longer than the page";
    *values = 0;
    *levels = (sl_bytes){body.data, 0};
    if (pick->sized_levels) {
        sl_bytes reps;
        return (!pick->has_reps || take_sized(body, values, &reps)) &&
                       take_sized(body, values, levels)
                   ? sl_accept()
                   : sl_refuse(wrong, 0);
    }
    if (pick->plain_bytes > body.size || pick->rep_bytes > pick->plain_bytes) {
        return sl_refuse(wrong, 0);
    }
    *values = pick->plain_bytes;
    *levels = (sl_bytes){body.data + pick->rep_bytes, pick->plain_bytes - pick->rep_bytes};
    return sl_accept();
}

/* Counts the values before the row's, and determines whether the row has one. */
static sl_refusal parquet_page_count_before(const sl_page_pick *pick, sl_bytes stored,
                                            uint32_t *before, bool *present)
{
    uint32_t level = 0;
    sl_levels levels;
    sl_levels_begin(&levels, stored, sl_levels_width(pick->max_level));
    *before = 0;
    if (!sl_levels_skip(&levels, pick->row, pick->max_level, before) ||
        !sl_levels_next(&levels, &level) || level > pick->max_level) {
        return sl_refuse("the page's levels are damaged", 0);
    }
    *present = level == pick->max_level;
    return sl_accept();
}

/* Finds value number `before` of adjacent values, from `at` on. */
static sl_refusal find_plain(sl_bytes body, size_t at, uint32_t before, sl_bytes *value)
{
    for (uint32_t i = 0;; i++) {
        if (at > body.size || body.size - at < 4) {
            return sl_refuse("the page has too few values", 0);
        }
        const uint32_t bytes = sl_load32(body.data + at);
        at += 4;
        if (bytes > body.size - at) {
            return sl_refuse("a value is longer than its page", 0);
        }
        if (i == before) {
            *value = (sl_bytes){body.data + at, bytes};
            return sl_accept();
        }
        at += bytes;
    }
}

sl_refusal sl_page_find(const sl_page_pick *pick, sl_bytes body, sl_bytes *value)
{
    uint32_t before = pick->row;
    size_t at = pick->plain_bytes;
    bool present = true;
    *value = (sl_bytes){NULL, 0};
    if (pick->max_level > 0) {
        sl_bytes levels;
        sl_refusal why = sl_page_split(pick, body, &levels, &at);
        why = why.text == NULL ? parquet_page_count_before(pick, levels, &before, &present) : why;
        if (why.text != NULL) {
            return why;
        }
    }
    return present ? find_plain(body, at, before, value) : sl_accept();
}

sl_refusal sl_page_open(const sl_page_pick *pick, sl_bytes stored, sl_value_buffers *buffers,
                        uint8_t *to)
{
    const size_t plain = pick->plain_bytes;
    if (plain > stored.size || plain > pick->bytes) {
        return sl_refuse("the page's levels are longer than the page", 0);
    }
    sl_frame *frame = pick->codec == SL_PAGE_ZSTD ? sl_value_buffers_frame(buffers) : NULL;
    if (pick->codec == SL_PAGE_ZSTD && frame == NULL) {
        return (sl_refusal){.text = "out of memory for its page", .status = SLUICE_NOMEM};
    }
    memcpy(to, stored.data, plain);
    return sl_page_unpack(frame, (sl_page_codec)pick->codec,
                          (sl_bytes){stored.data + plain, stored.size - plain}, to + plain,
                          pick->bytes - plain, NULL) < 0
               ? sl_refuse("its page cannot be unpacked: it is damaged", 0)
               : sl_accept();
}
