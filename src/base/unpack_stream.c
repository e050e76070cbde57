/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One driver over the unpackers of gzip, zstd, Brotli and snappy: each has a `run` that takes input
 * and gives output until one of both is used up. One owner thread. A run that leaves work is called
 * again; END comes only where the format shows that the file is complete.
 */
#include "unpack_stream.h"

#include "error.h"
#include "little_endian.h"
#include "memory.h"
#include "minmax.h"
#include "snappy_stream.h"
#include "unpack_brotli.h"

#include <limits.h>
#include <string.h>
#define ZLIB_CONST /* the input is not written to */
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Of inflateInit2: gzip's heads, and nothing else. */
enum { GZIP_WINDOW = 16 + 15 };

/* A zstd frame's magic number and descriptor, with the bit for a checksum. */
enum { ZSTD_HEAD_BYTES = 5, ZSTD_HAS_CHECKSUM = 4 };

/* When a checksum is reached, its data have already been returned. */
#define WRONG_SUM "the checksum of a %s %s is wrong: all of its contents may be damaged"

typedef enum where {
    WHERE_BEGIN,   /* nothing has been read */
    WHERE_INSIDE,  /* of a member or frame */
    WHERE_BETWEEN, /* one has ended */
    WHERE_PADDING  /* of zeros */
} where;

struct sl_unpack_stream {
    sl_packing packing;
    where where;
    z_stream gzip;
    bool gzip_open;
    ZSTD_DCtx *zstd;
    sl_brotli *brotli;
    sl_snappy_stream *snappy;
    uint8_t head[ZSTD_HEAD_BYTES]; /* of the frame at hand, as far as it was read */
    uint8_t head_bytes;
    bool lacks_checksum; /* one of the frames so far */
};

sl_packing sl_packing_of(sl_bytes begin)
{
    if (begin.size >= 2 && begin.data[0] == 0x1f && begin.data[1] == 0x8b) {
        return SL_PACKING_GZIP;
    }
    const uint32_t magic = begin.size >= SL_PACKING_LOOK_BYTES ? sl_load32(begin.data) : 0;
    const bool skipped = (magic & UINT32_C(0xfffffff0)) == UINT32_C(0x184d2a50);
    return magic == ZSTD_MAGICNUMBER || skipped ? SL_PACKING_ZSTD : SL_PACKING_NONE;
}

const char *sl_packing_name(sl_packing packing)
{
    static const char *const names[] = {"none", "gzip", "zstd", "brotli", "snappy"};
    return names[packing];
}

/* ---- gzip ---- */

/* For zlib. */
static void *unpack_stream_take(void *context, unsigned count, unsigned bytes)
{
    (void)context;
    return sl_calloc(count, bytes);
}

static void unpack_stream_give(void *context, void *memory)
{
    (void)context;
    sl_free(memory);
}

static uInt most(size_t bytes)
{
    return bytes < UINT_MAX ? (uInt)bytes : UINT_MAX;
}

static sluice_status gzip_refuse(const sl_unpack_stream *stream, int result, sluice_error *error)
{
    if (result == Z_MEM_ERROR) {
        return sl_no_memory(error, "gzip", "for zlib");
    }
    if (stream->gzip.msg != NULL && strcmp(stream->gzip.msg, "incorrect data check") == 0) {
        return sl_error_set(error, SLUICE_CORRUPT, "gzip", WRONG_SUM, "gzip", "member");
    }
    return sl_error_set(error, SLUICE_CORRUPT, "gzip", "the gzip data are damaged here: %s",
                        stream->gzip.msg != NULL ? stream->gzip.msg : "invalid data");
}

static sluice_status gzip_inside(sl_unpack_stream *stream, sl_unpack_step *step,
                                 sluice_error *error)
{
    z_stream *z = &stream->gzip;
    const uInt given = most(step->in.size);
    const uInt capacity = most(step->capacity);
    z->next_in = step->in.data;
    z->avail_in = given;
    z->next_out = step->to;
    z->avail_out = capacity;
    const int result = inflate(z, Z_NO_FLUSH);
    step->in =
        (sl_bytes){step->in.data + (given - z->avail_in), step->in.size - (given - z->avail_in)};
    step->to += capacity - z->avail_out;
    step->capacity -= capacity - z->avail_out;
    if (result == Z_STREAM_END) {
        stream->where = WHERE_BETWEEN;
        return SLUICE_OK;
    }
    /* Z_BUF_ERROR: there was nothing to do. */
    return result == Z_OK || result == Z_BUF_ERROR ? SLUICE_OK : gzip_refuse(stream, result, error);
}

static sluice_status gzip_padding(sl_unpack_step *step, sluice_error *error)
{
    while (step->in.size > 0 && step->in.data[0] == 0) {
        step->in = (sl_bytes){step->in.data + 1, step->in.size - 1};
    }
    return step->in.size == 0
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_CORRUPT, "gzip",
                              "trailing data after the last gzip member is neither a member nor "
                              "zero padding: truncate it if it is not needed");
}

static sluice_status gzip_run(sl_unpack_stream *stream, sl_unpack_step *step, sluice_error *error)
{
    if (stream->where == WHERE_BETWEEN) {
        stream->where = step->in.data[0] == 0x1f ? WHERE_BEGIN : WHERE_PADDING;
        if (stream->where == WHERE_BEGIN && inflateReset(&stream->gzip) != Z_OK) {
            return gzip_refuse(stream, Z_STREAM_ERROR, error);
        }
    }
    if (stream->where == WHERE_PADDING) {
        return gzip_padding(step, error);
    }
    stream->where = WHERE_INSIDE;
    return gzip_inside(stream, step, error);
}

/* ---- zstd ---- */

static sluice_status zstd_refuse(size_t code, sluice_error *error)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_checksum_wrong:
        return sl_error_set(error, SLUICE_CORRUPT, "zstd", WRONG_SUM, "zstd", "frame");
    case ZSTD_error_memory_allocation:
        return sl_no_memory(error, "zstd", "for zstd");
    case ZSTD_error_frameParameter_windowTooLarge:
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "zstd",
            "the zstd frame needs a window above %u MiB, as made by zstd --long above %d",
            1U << (SL_UNPACK_WINDOW_LOG - 20), SL_UNPACK_WINDOW_LOG);
    default:
        return sl_error_set(error, SLUICE_CORRUPT, "zstd", "the zstd data are damaged here: %s",
                            ZSTD_getErrorName(code));
    }
}

/* Records the bytes used of a frame, if they are its beginning. */
static void zstd_look(sl_unpack_stream *stream, sl_bytes used)
{
    if (stream->where != WHERE_INSIDE) {
        stream->head_bytes = 0;
    }
    const size_t wanted = (size_t)ZSTD_HEAD_BYTES - stream->head_bytes;
    const size_t some = sl_min_size(used.size, wanted);
    if (some == 0) {
        return;
    }
    memcpy(stream->head + stream->head_bytes, used.data, some);
    stream->head_bytes = (uint8_t)(stream->head_bytes + some);
    if (stream->head_bytes == ZSTD_HEAD_BYTES && sl_load32(stream->head) == ZSTD_MAGICNUMBER) {
        stream->lacks_checksum =
            stream->lacks_checksum || (stream->head[4] & ZSTD_HAS_CHECKSUM) == 0;
    }
}

static sluice_status zstd_run(sl_unpack_stream *stream, sl_unpack_step *step, sluice_error *error)
{
    ZSTD_inBuffer in = {step->in.data, step->in.size, 0};
    ZSTD_outBuffer out = {step->to, step->capacity, 0};
    const size_t result = ZSTD_decompressStream(stream->zstd, &out, &in);
    zstd_look(stream, (sl_bytes){step->in.data, in.pos});
    step->in = (sl_bytes){step->in.data + in.pos, step->in.size - in.pos};
    if (ZSTD_isError(result)) {
        return zstd_refuse(result, error); /* out.pos may count bytes that were never written */
    }
    step->to += out.pos;
    step->capacity -= out.pos;
    stream->where = result == 0 ? WHERE_BETWEEN : WHERE_INSIDE;
    return SLUICE_OK;
}

/* ---- Brotli and snappy ---- */

static sluice_status unpack_stream_refuse(const char *stage, sl_refusal why, sluice_error *error)
{
    if (why.text == NULL) {
        return SLUICE_OK;
    }
    return why.status != SLUICE_CORRUPT
               ? sl_error_set(error, why.status, stage, "%s", why.text)
               : sl_error_set(error, SLUICE_CORRUPT, stage, "the %s data are damaged here: %s",
                              stage, why.text);
}

static sluice_status brotli_run(sl_unpack_stream *stream, sl_unpack_step *step, sluice_error *error)
{
    bool ended = false;
    if (stream->where == WHERE_BETWEEN) {
        return sl_error_set(error, SLUICE_CORRUPT, "brotli",
                            "unexpected data after the end of the Brotli stream");
    }
    stream->where = WHERE_INSIDE;
    stream->lacks_checksum = true;
    const sl_refusal why = sl_brotli_run(stream->brotli, step, &ended);
    stream->where = ended ? WHERE_BETWEEN : WHERE_INSIDE;
    return unpack_stream_refuse("brotli", why, error);
}

static sluice_status snappy_run(sl_unpack_stream *stream, sl_unpack_step *step, sluice_error *error)
{
    stream->lacks_checksum = true;
    const sl_refusal why = sl_snappy_stream_run(stream->snappy, step);
    stream->where = sl_snappy_stream_ended(stream->snappy) ? WHERE_BETWEEN : WHERE_INSIDE;
    return unpack_stream_refuse("snappy", why, error);
}

/* ---- all ---- */

static bool open_zstd(sl_unpack_stream *stream)
{
    stream->zstd = ZSTD_createDCtx();
    sl_memory_count_allocation();
    return stream->zstd != NULL &&
           ZSTD_isError(ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax,
                                               SL_UNPACK_WINDOW_LOG)) == 0;
}

/* Returns false without memory. */
static bool open_unpacker(sl_unpack_stream *stream)
{
    switch (stream->packing) {
    case SL_PACKING_GZIP:
        stream->gzip.zalloc = unpack_stream_take;
        stream->gzip.zfree = unpack_stream_give;
        stream->gzip_open = inflateInit2(&stream->gzip, GZIP_WINDOW) == Z_OK;
        return stream->gzip_open;
    case SL_PACKING_BROTLI:
        stream->brotli = sl_brotli_open();
        return stream->brotli != NULL;
    case SL_PACKING_SNAPPY:
        stream->snappy = sl_snappy_stream_open();
        return stream->snappy != NULL;
    default:
        return open_zstd(stream);
    }
}

sluice_status sl_unpack_stream_open(sl_unpack_stream **stream, sl_packing packing,
                                    sluice_error *error)
{
    *stream = NULL;
    if (packing == SL_PACKING_BROTLI && !sl_brotli_is_there()) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "brotli",
            "the file is compressed with Brotli, but sluice was built without libbrotlidec");
    }
    sl_unpack_stream *made = sl_calloc(1, sizeof(*made));
    if (made != NULL) {
        made->packing = packing;
    }
    if (made == NULL || !open_unpacker(made)) {
        sl_unpack_stream_close(made);
        return sl_error_set(error, SLUICE_NOMEM, sl_packing_name(packing),
                            "out of memory for unpacking");
    }
    *stream = made;
    return SLUICE_OK;
}

void sl_unpack_stream_close(sl_unpack_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    if (stream->gzip_open) {
        (void)inflateEnd(&stream->gzip);
    }
    (void)ZSTD_freeDCtx(stream->zstd);
    sl_brotli_close(stream->brotli);
    sl_snappy_stream_close(stream->snappy);
    sl_free(stream);
}

static sluice_status run_once(sl_unpack_stream *stream, sl_unpack_step *step, sluice_error *error)
{
    switch (stream->packing) {
    case SL_PACKING_GZIP:
        return gzip_run(stream, step, error);
    case SL_PACKING_BROTLI:
        return brotli_run(stream, step, error);
    case SL_PACKING_SNAPPY:
        return snappy_run(stream, step, error);
    default:
        return zstd_run(stream, step, error);
    }
}

/* One call of the unpacker may leave both input and space, at the end of a member or frame. */
sluice_status sl_unpack_stream_run(sl_unpack_stream *stream, sl_unpack_step *step,
                                   sluice_error *error)
{
    for (;;) {
        const size_t capacity = step->capacity;
        const size_t left = step->in.size;
        /* Unpacked bytes may wait for space, without any input. */
        if (capacity == 0 || (left == 0 && stream->where != WHERE_INSIDE)) {
            return SLUICE_OK;
        }
        const sluice_status status = run_once(stream, step, error);
        if (status < 0 || (step->capacity == capacity && step->in.size == left)) {
            return status;
        }
    }
}

sluice_status sl_unpack_stream_end(const sl_unpack_stream *stream, sluice_error *error)
{
    if (stream->where == WHERE_BETWEEN || stream->where == WHERE_PADDING) {
        return SLUICE_OK;
    }
    static const char *const parts[] = {"", "member", "frame", "stream", "block"};
    const char *name = sl_packing_name(stream->packing);
    return sl_error_set(error, SLUICE_CORRUPT, name,
                        "the %s data are truncated: they end inside a %s", name,
                        parts[stream->packing]);
}

bool sl_unpack_stream_lacks_checksum(const sl_unpack_stream *stream)
{
    return stream->lacks_checksum;
}
