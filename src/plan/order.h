/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order: which sample stands at each position of an epoch.
 *
 * full:  one permutation of all samples.
 * block: blocks of `block` consecutive samples are permuted, `window` blocks in a row form a
 *        window, and the samples of a window are permuted among its positions. The last block may
 *        be short and lands anywhere, like the others.
 * none:  sample = position.
 * shards: shard_order.h has it; an order only says how many samples there are.
 * Where global batches have samples of one bucket each: bucket_order.h. Of episodes of some classes
 * each: episode_order.h.
 * Of a mix (mixing.h), that of each source by itself, in each of the source's own epochs another.
 * Threads: pure; an order is a value, built once per epoch.
 */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include "mix.h"
#include "permutation.h"

#include <sluice/options.h>

typedef struct sl_bucket_set sl_bucket_set;   /* bucket_order.h */
typedef struct sl_episode_set sl_episode_set; /* episode_order.h */

typedef struct sl_order {
    sluice_shuffle shuffle;
    uint64_t count; /* samples, >= 1 */
    uint64_t block, window;
    uint64_t window_key;  /* seeds the permutation inside each window */
    sl_permutation outer; /* of samples (full) or of blocks (block) */
    uint64_t short_rank;  /* place of the short block among the permuted blocks */
    const sl_mix *mix;    /* NULL: it is none; else count is that of an epoch, block and window as
                             they were given, and: */
    uint64_t seed, epoch;
    const sl_bucket_set *buckets;   /* NULL: there are none; else seed and epoch are set, too, and
                                       `outer` is of whole batches (full) */
    const sl_episode_set *episodes; /* NULL: there are none; else count is that of their positions,
                                       and seed and epoch are set */
} sl_order;

sl_order sl_order_make(sluice_shuffle shuffle, uint64_t count, uint64_t block, uint64_t window,
                       uint64_t seed, uint64_t epoch);
/* The same of a mix, which must stay; `shape` has shuffle, block and window. */
sl_order sl_order_make_mixed(const sl_mix *mix, const sl_order *shape, uint64_t seed,
                             uint64_t epoch);
/* The sample at `position` < count. */
uint64_t sl_order_sample(const sl_order *order, uint64_t position);
/* Those at `first` and the positions behind it. Quicker than one by one. */
void sl_order_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples);

#endif
