/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_pages.h"

#include "checksum.h"
#include "dataset.h"
#include "little_endian.h"

#include <string.h>

#define CHECKSUM_AT (SL_PAGE_BYTES - 8)

static const uint8_t shard_magic[8] = {0x89, 'S', 'L', 'U', 'S', 'H', 'D', '\n'};
static const uint8_t manifest_magic[8] = {0x89, 'S', 'L', 'U', 'M', 'A', 'N', '\n'};

uint64_t sl_page_round_up(uint64_t x)
{
    return (x + (SL_PAGE_BYTES - 1)) & ~(uint64_t)(SL_PAGE_BYTES - 1);
}

sl_page_kind sl_page_kind_of(const uint8_t magic[8])
{
    if (memcmp(magic, shard_magic, sizeof(shard_magic)) == 0) {
        return SL_PAGE_SHARD;
    }
    return memcmp(magic, manifest_magic, sizeof(manifest_magic)) == 0 ? SL_PAGE_MANIFEST
                                                                      : SL_PAGE_OTHER;
}

bool sl_all_zero(const uint8_t *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

void sl_page_begin(uint8_t page[SL_PAGE_BYTES], sl_page_kind kind)
{
    memset(page, 0, SL_PAGE_BYTES);
    memcpy(page, kind == SL_PAGE_SHARD ? shard_magic : manifest_magic, sizeof(shard_magic));
    sl_store32(page + 8, SL_SHARD_VERSION);
    sl_store32(page + 12, SL_PAGE_BYTES);
}

uint64_t sl_page_seal(uint8_t page[SL_PAGE_BYTES])
{
    uint64_t checksum = sl_checksum(page, CHECKSUM_AT);
    sl_store64(page + CHECKSUM_AT, checksum);
    return checksum;
}

sl_refusal sl_page_check(const uint8_t page[SL_PAGE_BYTES], sl_page_kind kind, size_t used,
                         uint64_t known)
{
    if (sl_page_kind_of(page) != kind) {
        return sl_refuse(kind == SL_PAGE_SHARD ? "not a sluice shard" : "not a sluice manifest", 0);
    }
    if (sl_checksum(page, CHECKSUM_AT) != sl_load64(page + CHECKSUM_AT)) {
        return sl_refuse("the header does not match its checksum", CHECKSUM_AT);
    }
    if (sl_load32(page + 8) > SL_SHARD_VERSION) {
        return sl_refuse_unknown(
            "written in a newer version of the format than this library supports", 8);
    }
    if (sl_load32(page + 8) == 0 || sl_load32(page + 12) != SL_PAGE_BYTES) {
        return sl_refuse("the version in the header is not valid", 8);
    }
    if ((sl_load64(page + 16) & ~known) != 0) {
        return sl_refuse_unknown("uses unknown features", 16);
    }
    if (!sl_all_zero(page + used, CHECKSUM_AT - used)) {
        return sl_refuse("reserved bytes of the header are not zero", used);
    }
    return sl_accept();
}
