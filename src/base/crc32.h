/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32: CRC-32 (IEEE 802.3), as in zip archives.
 *
 * Purpose: zlib's, and for long data by carry-less multiplications where the processor has them:
 * arrays of 150 MB are checked whenever they are read. Threads: any. No memory.
 */
#ifndef SL_CRC32_H
#define SL_CRC32_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

/* Of what has `crc` (0: of nothing) with `bytes` more behind it. */
uint32_t sl_crc32(uint32_t crc, const void *data, size_t bytes);

/* The twin of a level that this processor has: for tests. */
typedef uint32_t (*sl_crc32_twin)(uint32_t crc, const void *data, size_t bytes);
sl_crc32_twin sl_crc32_of(sl_simd simd);

#endif
