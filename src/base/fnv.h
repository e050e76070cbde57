/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fnv: FNV-1a of 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv), for values that are compared
 * with earlier ones: it finds mistakes, not attacks. For bytes it is the published function; wider
 * values are taken whole, so those hashes are specific to this library.
 */
#ifndef SL_FNV_H
#define SL_FNV_H

#include <stdint.h>

#define SL_FNV1A_BEGIN UINT64_C(0xCBF29CE484222325)

static inline uint64_t sl_fnv1a(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001B3);
}

#endif
