/* SPDX-License-Identifier: Apache-2.0 */
/* shard_pages: what the headers of shards and manifests have in common. Private to shard_*.c. */
#ifndef SL_SHARD_PAGES_H
#define SL_SHARD_PAGES_H

#include "shard_format.h"

#include <stdbool.h>

bool sl_all_zero(const uint8_t *bytes, size_t count);
/* Magic, version, header bytes; the rest is zeroed. */
void sl_page_begin(uint8_t page[SL_PAGE_BYTES], sl_page_kind kind);
/* Stores the checksum and returns it. */
uint64_t sl_page_seal(uint8_t page[SL_PAGE_BYTES]);
/* Magic, checksum, version, no features but the `known` ones, and that bytes from `used` on are
 * zero. */
sl_refusal sl_page_check(const uint8_t page[SL_PAGE_BYTES], sl_page_kind kind, size_t used,
                         uint64_t known);

#endif
