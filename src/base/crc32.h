/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32: CRC-32 (IEEE 802.3), as in zip archives.
 *
 * Purpose: zlib's, and for long data by carry-less multiplications if the processor has them:
 * arrays of 150 MB are checked at each read. Threads: any. No memory.
 */
#ifndef SL_CRC32_H
#define SL_CRC32_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of data with checksum `crc` (0: none) followed by `bytes` more. */
uint32_t sl_crc32(uint32_t crc, const void *data, size_t bytes);

/* Returns the twin of a level that this processor has: for tests. */
typedef uint32_t (*sl_crc32_twin)(uint32_t crc, const void *data, size_t bytes);
sl_crc32_twin sl_crc32_of(sl_simd simd);

#endif
