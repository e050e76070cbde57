/* SPDX-License-Identifier: Apache-2.0 */
/* minmax: the smaller and the larger of two numbers of one type. Threads: pure functions. */
#ifndef SL_MINMAX_H
#define SL_MINMAX_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t sl_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t sl_max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline int32_t sl_min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t sl_max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t sl_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t sl_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline size_t sl_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t sl_max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
