/* SPDX-License-Identifier: Apache-2.0 */
#include "seal_shard.h"

#include "dataset_run.h"

#include "little_endian.h"
#include "shard_format.h"

enum { SEAL_HEADER = 1, SEAL_INDEX = 2, SEAL_META = 4, SEAL_SAMPLES = 8 };
/* Bytes of a shard's header and of an index block: docs/format.md, sections 4 and 6. */
enum { INDEX_OFFSET = 48, INDEX_BYTES = 56, INDEX_SUM = 64 };
enum { META_OFFSET = 72, META_BYTES = 80, META_SUM = 88, PAGE_SUM = SL_PAGE_BYTES - 8 };
enum { VERSION = 8, SAMPLES = 32, RECORD_BYTES = 116, BLOCK_SAMPLES = 503 };

static void seal_index(uint8_t *data, size_t size)
{
    uint64_t offset = sl_load64(data + INDEX_OFFSET);
    uint64_t bytes = sl_load64(data + INDEX_BYTES);
    if (offset > size || bytes > size - offset)
        return;
    for (uint64_t block = 0; block + SL_PAGE_BYTES <= bytes; block += SL_PAGE_BYTES)
        fuzz_seal(data, size, offset + block, PAGE_SUM, offset + block + PAGE_SUM);
    fuzz_seal(data, size, offset, bytes, INDEX_SUM);
}

/* Seals the samples of version 2 as far as the index or header locates them. Not the identity,
 * which only verify checks. */
static void seal_samples(uint8_t *data, size_t size)
{
    const uint64_t samples = sl_load64(data + SAMPLES);
    const uint64_t common = sl_load32(data + RECORD_BYTES);
    const uint64_t index = sl_load64(data + INDEX_OFFSET);
    for (uint64_t i = 0; sl_load32(data + VERSION) == 2 && i < samples && i < size / 16; i++) {
        uint64_t at = SL_PAGE_BYTES + i * common;
        uint64_t end = at + common;
        if (common == 0) {
            const uint64_t fence = i / BLOCK_SAMPLES * SL_PAGE_BYTES + i % BLOCK_SAMPLES * 8;
            if (index > size || fence + 16 > size - index)
                return;
            at = sl_load64(data + index + fence);
            end = sl_load64(data + index + fence + 8);
        }
        if (at < size && end > at && end - at > 16)
            fuzz_seal(data, size, at + 8, end - at - 8, at);
    }
}

void fuzz_seal_shard(uint8_t *data, size_t size, uint8_t seals)
{
    if (size < SL_PAGE_BYTES)
        return;
    if (seals & SEAL_SAMPLES)
        seal_samples(data, size);
    if (seals & SEAL_INDEX)
        seal_index(data, size);
    if (seals & SEAL_META) {
        fuzz_seal(data, size, sl_load64(data + META_OFFSET), sl_load64(data + META_BYTES),
                  META_SUM);
    }
    if (seals & SEAL_HEADER)
        fuzz_seal(data, size, 0, PAGE_SUM, PAGE_SUM);
}
