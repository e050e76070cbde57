/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c: CRC-32C (Castagnoli), as in iSCSI (RFC 3720) and TFRecord.
 *
 * Purpose: other people's checksum; our own is XXH3 (checksum.h). By the processor's instructions
 * where it has them, three ranges at a time, since each waits three cycles for the one before;
 * else by tables, 8 bytes at a time. Threads: any. Memory: 12 KiB of tables, made at first use.
 */
#ifndef SL_CRC32C_H
#define SL_CRC32C_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

uint32_t sl_crc32c(const void *data, size_t bytes);

/* As TFRecord stores one: a checksum of data that hold checksums would be weak. */
static inline uint32_t sl_crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

/* The twin of a level that this processor has: for tests. */
typedef uint32_t (*sl_crc32c_twin)(const void *data, size_t bytes);
sl_crc32c_twin sl_crc32c_of(sl_simd simd);

#endif
