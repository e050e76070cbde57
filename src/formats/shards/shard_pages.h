/* SPDX-License-Identifier: Apache-2.0 */
/* shard_pages: common parts of the headers of shards and manifests. Private to shard_*.c. */
#ifndef SL_SHARD_PAGES_H
#define SL_SHARD_PAGES_H

#include "shard_format.h"

#include <stdbool.h>

bool sl_all_zero(const uint8_t *bytes, size_t count);
/* Writes magic, version and header size; zeroes the rest. */
void sl_page_begin(uint8_t page[SL_PAGE_BYTES], sl_page_kind kind);
/* Stores the checksum and returns it. */
uint64_t sl_page_seal(uint8_t page[SL_PAGE_BYTES]);
/*
 * Checks magic, checksum, version, that only `known` features are used, and that bytes from `used`
 * on are zero.
 */
sl_refusal sl_page_check(const uint8_t page[SL_PAGE_BYTES], sl_page_kind kind, size_t used,
                         uint64_t known);

#endif
