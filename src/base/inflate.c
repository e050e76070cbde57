/* SPDX-License-Identifier: Apache-2.0 */
#include "inflate.h"

#include "crc32.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "packed_value.h"
#include "stop.h"

#include <stdalign.h>
#include <stdbool.h>
#define ZLIB_CONST /* the input is not written to */
#include <zlib.h>

#define STAGE "inflate"

/* zlib takes 40 KiB: its window and its tables. */
enum { ROOM_BYTES = 64 << 10, DISCARD_BYTES = 4096, PIECE_BYTES = 8 << 20 };
/* Windows of inflateInit2: without a header; with that of gzip or zlib. */
enum { RAW = -15, HEADED = 32 + 15 };

typedef struct capacity {
    size_t used;
    alignas(16) uint8_t bytes[ROOM_BYTES];
} capacity;

/* Allocates for zlib; its memory goes with the space. */
static void *inflate_take(void *context, unsigned count, unsigned bytes)
{
    capacity *r = context;
    const uint64_t wanted = ((uint64_t)count * bytes + 63) / 64 * 64;
    if (wanted > ROOM_BYTES - r->used) {
        return NULL;
    }
    void *taken = r->bytes + r->used;
    r->used += wanted;
    return taken;
}

static void inflate_give(void *context, void *memory)
{
    (void)context;
    (void)memory;
}

static bool inflate_begin(z_stream *z, capacity *r, sl_bytes packed, int window)
{
    r->used = 0;
    *z = (z_stream){.zalloc = inflate_take, .zfree = inflate_give, .opaque = r};
    z->next_in = packed.data;
    z->avail_in = (uInt)packed.size;
    return inflateInit2(z, window) == Z_OK;
}

/* Unpacks the next `bytes`; false: there are fewer, or the thread must stop. */
static bool write_out(z_stream *z, void *to, size_t bytes)
{
    int result = Z_OK;
    z->next_out = to;
    z->avail_out = 0;
    for (size_t left = bytes; result == Z_OK && left > 0 && !sl_stop_requested();) {
        const uInt piece = (uInt)sl_min_size(left, PIECE_BYTES);
        z->avail_out = piece;
        while (result == Z_OK && z->avail_out > 0) {
            result = inflate(z, Z_SYNC_FLUSH);
        }
        left -= piece - z->avail_out;
    }
    return (size_t)(z->next_out - (uint8_t *)to) == bytes;
}

/* Returns whether the output and the input have ended. */
static bool has_ended(z_stream *z)
{
    uint8_t more;
    z->next_out = &more;
    z->avail_out = 1;
    return inflate(z, Z_FINISH) == Z_STREAM_END && z->avail_out == 1 && z->avail_in == 0;
}

static sluice_status inflate_unpack(const sl_deflated *stream, capacity *r, uint8_t *to,
                                    sluice_error *error)
{
    z_stream z;
    uint8_t discarded[DISCARD_BYTES];
    uint32_t crc = 0;
    if (!inflate_begin(&z, r, stream->packed, RAW)) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "zlib needs more memory than %d bytes",
                            ROOM_BYTES);
    }
    bool good = true;
    for (uint32_t left = stream->head_bytes; good && left > 0;) {
        const uint32_t bytes = sl_min_u32(left, DISCARD_BYTES);
        good = write_out(&z, discarded, bytes);
        crc = good ? sl_crc32(crc, discarded, bytes) : crc;
        left -= bytes;
    }
    const size_t bytes = (size_t)(stream->bytes - stream->head_bytes);
    good = good && write_out(&z, to, bytes);
    if (sl_stop_requested()) {
        return sl_stop_check(STAGE, error);
    }
    if (!good || !has_ended(&z)) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "the deflate stream is damaged or does not unpack to %llu bytes",
                            (unsigned long long)stream->bytes);
    }
    if (sl_crc32(crc, to, bytes) != stream->crc) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "the checksum (CRC-32) of the unpacked data is wrong");
    }
    return SLUICE_OK;
}

sluice_status sl_inflate(const sl_deflated *stream, sl_scratch *scratch, void *to,
                         sluice_error *error)
{
    if (stream->packed.size > UINT32_MAX || stream->bytes - stream->head_bytes > UINT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "a deflate stream or its content has more than 2^32 bytes");
    }
    capacity *r = scratch != NULL ? sl_scratch_take(scratch, sizeof(*r)) : sl_malloc(sizeof(*r));
    if (r == NULL) {
        return sl_no_memory(error, STAGE, "for zlib");
    }
    const sluice_status status = inflate_unpack(stream, r, to, error);
    if (scratch == NULL) {
        sl_free(r);
    }
    return status;
}

void sl_inflate_later(const sl_deflated *stream, sl_value *value)
{
    value->packing = &sl_value_packing_deflate;
    value->packing_facts[0] = stream->bytes;
    value->packing_facts[1] = (uint64_t)stream->head_bytes << 32 | stream->crc;
    value->bytes = stream->packed;
}

static sl_deflated deflated_of(const sl_value *value)
{
    return (sl_deflated){.packed = value->bytes,
                         .bytes = value->packing_facts[0],
                         .head_bytes = (uint32_t)(value->packing_facts[1] >> 32),
                         .crc = (uint32_t)value->packing_facts[1]};
}

static sluice_status deflated_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                                   sluice_error *error)
{
    const sl_deflated stream = deflated_of(value);
    (void)max_bytes;
    (void)error;
    *size = stream.bytes - stream.head_bytes;
    return SLUICE_OK;
}

static sluice_status deflated_unpack_to(const sl_value *value, sl_frame *frame, sl_scratch *scratch,
                                        void *to, uint64_t size, sluice_error *error)
{
    const sl_deflated stream = deflated_of(value);
    (void)frame;
    (void)size;
    return sl_inflate(&stream, scratch, to, error);
}

const sl_value_packing sl_value_packing_deflate = {.name = "deflate stream",
                                                   .compresses = true,
                                                   .sums_content = true,
                                                   .size = deflated_size,
                                                   .unpack_to = deflated_unpack_to};

size_t sl_inflate_head(sl_bytes packed, void *to, size_t bytes)
{
    capacity r;
    z_stream z;
    if (packed.size > UINT32_MAX || !inflate_begin(&z, &r, packed, RAW)) {
        return 0;
    }
    (void)write_out(&z, to, bytes);
    return (size_t)(z.next_out - (uint8_t *)to);
}

bool sl_inflate_members(sl_bytes packed, void *to, size_t bytes)
{
    capacity r;
    z_stream z;
    uint8_t nothing;
    if (packed.size > UINT32_MAX || bytes > UINT32_MAX || !inflate_begin(&z, &r, packed, HEADED)) {
        return false;
    }
    z.next_out = to != NULL ? to : &nothing;
    z.avail_out = (uInt)bytes;
    do { /* each takes some bytes, so that this ends */
        if (inflate(&z, Z_FINISH) != Z_STREAM_END) {
            return false;
        }
    } while (z.avail_in > 0 && inflateReset(&z) == Z_OK);
    return z.avail_in == 0 && z.avail_out == 0;
}
