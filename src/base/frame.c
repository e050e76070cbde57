/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include "error.h"
#include "memory.h"
#include "packed_value.h"

#include <zstd.h>
#include <zstd_errors.h>

#define STAGE "frame"

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
                            "the zstd frame does not say how large its contents are");
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

sluice_status sl_frame_unpack_to(sl_frame *frame, sl_bytes packed, void *to, uint64_t size,
                                 sluice_error *error)
{
    size_t written = frame != NULL ? ZSTD_decompressDCtx(frame, to, size, packed.data, packed.size)
                                   : ZSTD_decompress(to, size, packed.data, packed.size);
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
                            "the zstd frame holds %zu bytes where its header says %llu", written,
                            (unsigned long long)size);
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

sluice_status sl_frame_pack(sl_bytes bytes, int level, void *to, size_t *size, sluice_error *error)
{
    *size = ZSTD_compress(to, ZSTD_compressBound(bytes.size), bytes.data, bytes.size, level);
    if (ZSTD_isError(*size)) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "zstd: %s", ZSTD_getErrorName(*size));
    }
    return SLUICE_OK;
}
