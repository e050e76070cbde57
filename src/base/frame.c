/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "packed_value.h"
#include "stop.h"

#include <zstd.h>
#include <zstd_errors.h>

#define STAGE "frame"

/* Values of at least this size are unpacked in slices if a stop is possible. 2 KiB are at most 512
 * blocks, 64 MiB together. */
#define SLICED_BYTES   ((uint64_t)64 << 20)
#define SLICE_IN_BYTES ((size_t)2 << 10)
/* Any window of a frame in memory. */
#define SLICED_WINDOW_LOG 31
/* Values of at least this size are packed in slices: at the highest level a MiB takes 0.3 s. */
#define PACK_SLICED_BYTES ((size_t)1 << 20)
#define SLICE_PACK_BYTES  ((size_t)128 << 10)

sluice_status sl_frame_open(sl_frame **frame, sluice_error *error)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (context == NULL) {
        sl_memory_note_shortage();
        return sl_no_memory(error, STAGE, "for a zstd context");
    }
    sl_memory_count_allocation();
    *frame = context;
    return SLUICE_OK;
}

void sl_frame_close(sl_frame *frame)
{
    (void)ZSTD_freeDCtx(frame);
}

uint64_t sl_frame_claim(sl_bytes head)
{
    const unsigned long long content = ZSTD_getFrameContentSize(head.data, head.size);
    return content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN ? 0 : content;
}

sluice_status sl_frame_size(sl_bytes packed, uint64_t max_bytes, uint64_t *size,
                            sluice_error *error)
{
    unsigned long long content = ZSTD_getFrameContentSize(packed.data, packed.size);
    if (content == ZSTD_CONTENTSIZE_ERROR) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, 0, "not a zstd frame");
    }
    if (content == ZSTD_CONTENTSIZE_UNKNOWN) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the zstd frame header has no content size");
    }
    if (content > max_bytes) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the zstd frame holds %llu bytes, above the limit of %llu", content,
                            (unsigned long long)max_bytes);
    }
    size_t frame_bytes = ZSTD_findFrameCompressedSize(packed.data, packed.size);
    if (ZSTD_isError(frame_bytes)) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)packed.size,
                             "broken zstd frame: %s", ZSTD_getErrorName(frame_bytes));
    }
    if (frame_bytes != packed.size) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)frame_bytes,
                             "%zu bytes follow the zstd frame", packed.size - frame_bytes);
    }
    *size = content;
    return SLUICE_OK;
}

/*
 * Unpacks in slices of the input, so that a thread can be stopped. Slices of the output would need
 * a window beside it; the buffer is stable, so zstd writes to it directly.
 */
static size_t unpack_slices(sl_frame *frame, sl_bytes packed, void *to, uint64_t size)
{
    ZSTD_inBuffer in = {packed.data, 0, 0};
    ZSTD_outBuffer out = {to, size, 0};
    size_t result = 0;
    /* The second is stableOutBuffer. A zstd without it unpacks in one go, which cannot be
     * stopped. */
    if (ZSTD_isError(ZSTD_DCtx_setParameter(frame, ZSTD_d_windowLogMax, SLICED_WINDOW_LOG)) ||
        ZSTD_isError(ZSTD_DCtx_setParameter(frame, ZSTD_d_experimentalParam2, 1))) {
        (void)ZSTD_DCtx_reset(frame, ZSTD_reset_session_and_parameters);
        return ZSTD_decompressDCtx(frame, to, size, packed.data, packed.size);
    }
    while (!ZSTD_isError(result) && in.pos < packed.size && !sl_stop_requested()) {
        in.size = sl_min_size(packed.size, in.pos + SLICE_IN_BYTES);
        result = ZSTD_decompressStream(frame, &out, &in);
    }
    (void)ZSTD_DCtx_reset(frame, ZSTD_reset_session_and_parameters);
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) {
        return ZSTD_decompressDCtx(frame, to, size, packed.data, packed.size);
    }
    if (!ZSTD_isError(result) && result > 0 && in.pos == packed.size) {
        return (size_t)-ZSTD_error_srcSize_wrong; /* the last frame is truncated */
    }
    return ZSTD_isError(result) ? result : out.pos;
}

static size_t unpack_large_frame(sl_frame *frame, sl_bytes packed, void *to, uint64_t size)
{
    sl_frame *own = frame != NULL ? frame : ZSTD_createDCtx();
    if (own == NULL) {
        return (size_t)-ZSTD_error_memory_allocation;
    }
    const size_t written = unpack_slices(own, packed, to, size);
    if (frame == NULL) {
        (void)ZSTD_freeDCtx(own);
    }
    return written;
}

static size_t unpack_frame(sl_frame *frame, sl_bytes packed, void *to, uint64_t size)
{
    if (size >= SLICED_BYTES && sl_stop_of_thread() != NULL) {
        return unpack_large_frame(frame, packed, to, size);
    }
    return frame != NULL ? ZSTD_decompressDCtx(frame, to, size, packed.data, packed.size)
                         : ZSTD_decompress(to, size, packed.data, packed.size);
}

sluice_status sl_frame_unpack_to(sl_frame *frame, sl_bytes packed, void *to, uint64_t size,
                                 sluice_error *error)
{
    const size_t written = unpack_frame(frame, packed, to, size);
    if (sl_stop_requested()) {
        return sl_stop_check(STAGE, error);
    }
    if (ZSTD_isError(written) && ZSTD_getErrorCode(written) == ZSTD_error_memory_allocation) {
        sl_memory_note_shortage();
        return sl_no_memory(error, STAGE, "for zstd");
    }
    if (ZSTD_isError(written)) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE, "broken zstd frame: %s",
                            ZSTD_getErrorName(written));
    }
    if (written != size) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "the zstd frame unpacks to %zu bytes, but its header says %llu",
                            written, (unsigned long long)size);
    }
    return SLUICE_OK;
}

static sluice_status frame_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                                sluice_error *error)
{
    return sl_frame_size(value->bytes, max_bytes, size, error);
}

static sluice_status frame_unpack_to(const sl_value *value, sl_frame *frame, sl_scratch *scratch,
                                     void *to, uint64_t size, sluice_error *error)
{
    (void)scratch;
    return sl_frame_unpack_to(frame, value->bytes, to, size, error);
}

const sl_value_packing sl_value_packing_zstd = {.name = "zstd frame",
                                                .compresses = true,
                                                .size = frame_size,
                                                .unpack_to = frame_unpack_to};

size_t sl_frame_bound(size_t bytes)
{
    return ZSTD_compressBound(bytes);
}

/* Packs a frame in slices. Returns its bytes; an error of zstd; 0: the thread must stop. */
static size_t pack_slices(ZSTD_CCtx *context, sl_bytes bytes, int level, ZSTD_outBuffer out)
{
    size_t at = 0;
    size_t result = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(result)) {
        result = ZSTD_CCtx_setPledgedSrcSize(context, bytes.size);
    }
    for (bool ended = false; !ZSTD_isError(result) && !ended;) {
        if (sl_stop_requested()) {
            return 0;
        }
        const size_t slice = sl_min_size(bytes.size - at, SLICE_PACK_BYTES);
        ended = at + slice == bytes.size;
        ZSTD_inBuffer in = {bytes.data + at, slice, 0};
        result = ZSTD_compressStream2(context, &out, &in, ended ? ZSTD_e_end : ZSTD_e_continue);
        at += slice;
    }
    if (ZSTD_isError(result)) {
        return result;
    }
    return result == 0 ? out.pos : out.size; /* packing did not make it smaller */
}

static size_t pack_large(sl_bytes bytes, int level, void *to)
{
    const ZSTD_outBuffer out = {to, ZSTD_compressBound(bytes.size), 0};
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context == NULL) {
        return (size_t)-ZSTD_error_memory_allocation;
    }
    const size_t written = pack_slices(context, bytes, level, out);
    (void)ZSTD_freeCCtx(context);
    return written;
}

sluice_status sl_frame_pack(sl_bytes bytes, int level, void *to, size_t *size, sluice_error *error)
{
    *size = bytes.size < PACK_SLICED_BYTES
                ? ZSTD_compress(to, ZSTD_compressBound(bytes.size), bytes.data, bytes.size, level)
                : pack_large(bytes, level, to);
    if (*size == 0) {
        return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
    }
    if (ZSTD_isError(*size)) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "zstd: %s", ZSTD_getErrorName(*size));
    }
    return SLUICE_OK;
}
