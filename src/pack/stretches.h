/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretches: how a pack's positions are divided among shards, and shards among parts.
 *
 * Purpose: shard k takes the samples of stretch k, all stretches but the last being equally long;
 * so each can be packed by itself, anywhere, and comes out the same. Stretches and positions count
 * from 0; in the shards they come after those of a dataset that is added to. Pure.
 */
#ifndef SL_STRETCHES_H
#define SL_STRETCHES_H

#include "share.h"

typedef struct sl_stretches {
    uint64_t positions; /* at least 1 */
    uint64_t length;    /* positions of a stretch, at least 1 */
    /* What a dataset that is added to has already; 0: it is new. */
    uint32_t shards; /* numbers that are taken */
    uint64_t before; /* positions */
} sl_stretches;

static inline uint64_t sl_stretches_count(const sl_stretches *s)
{
    return (s->positions - 1) / s->length + 1;
}

/* The first position of stretch `k`, up to their count, where it is the end. */
static inline uint64_t sl_stretches_first(const sl_stretches *s, uint64_t k)
{
    return k < sl_stretches_count(s) ? k * s->length : s->positions;
}

/* The number of its shard. */
static inline uint32_t sl_stretches_number(const sl_stretches *s, uint64_t k)
{
    return s->shards + (uint32_t)k;
}

/* The first stretch of part `part` of `parts`; part = parts: the end. */
static inline uint64_t sl_stretches_of_part(const sl_stretches *s, uint32_t part, uint32_t parts)
{
    return sl_share_first(sl_stretches_count(s), part, parts);
}

#endif
