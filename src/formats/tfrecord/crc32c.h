/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c: CRC-32C (Castagnoli), as in iSCSI (RFC 3720) and TFRecord.
 *
 * Purpose: the checksum of other formats; sluice's own is XXH3 (checksum.h). Uses the processor's
 * instructions if available, over three ranges at a time, since each waits three cycles for the
 * previous one; otherwise tables, 8 bytes at a time. Threads: any. Memory: 12 KiB of tables, made
 * at first use.
 */
#ifndef SL_CRC32C_H
#define SL_CRC32C_H

#include "simd.h"

#include <stddef.h>
#include <stdint.h>

uint32_t sl_crc32c(const void *data, size_t bytes);

/* Masks a checksum as TFRecord stores it: a checksum over data with checksums would be weak. */
static inline uint32_t sl_crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

/* Returns the variant of a level if this processor supports it; for tests. */
typedef uint32_t (*sl_crc32c_twin)(const void *data, size_t bytes);
sl_crc32c_twin sl_crc32c_of(sl_simd simd);

#endif
