/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges: divides a pack's positions among shards, and shards among parts.
 *
 * Purpose: shard k takes the samples of range k; all ranges except the last have the same length.
 * So each can be packed separately, anywhere, with the same result. Ranges and positions count from
 * 0; in the shards, they follow those of a dataset that is added to. Pure.
 *
 * Why not cut a shard where it is full: each would depend on all before it. A range depends on
 * nothing, so a killed pack resumes, and several machines pack, by the same rule, without locks or
 * messages: files appear whole by a rename, and two processes that pack the same part write the
 * same bytes. The price is that the size of shards is approximate.
 */
#ifndef SL_RANGES_H
#define SL_RANGES_H

#include "share.h"

typedef struct sl_ranges {
    uint64_t positions; /* at least 1 */
    uint64_t length;    /* positions per range, at least 1 */
    /* What the dataset that is added to already has; 0: it is new. */
    uint32_t shards; /* shard numbers in use */
    uint64_t before; /* positions */
} sl_ranges;

static inline uint64_t sl_ranges_count(const sl_ranges *s)
{
    return (s->positions - 1) / s->length + 1;
}

/* Returns the first position of range `k`; for k = the number of ranges, the end. */
static inline uint64_t sl_ranges_first(const sl_ranges *s, uint64_t k)
{
    return k < sl_ranges_count(s) ? k * s->length : s->positions;
}

/* Returns the number of its shard. */
static inline uint32_t sl_ranges_number(const sl_ranges *s, uint64_t k)
{
    return s->shards + (uint32_t)k;
}

/* Returns the first range of part `part` of `parts`; part = parts: the end. */
static inline uint64_t sl_ranges_of_part(const sl_ranges *s, uint32_t part, uint32_t parts)
{
    return sl_share_first(sl_ranges_count(s), part, parts);
}

#endif
