/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeat_order: an epoch in which each sample stands several times, for repeated augmentation.
 *
 * Purpose: DeiT's RASampler and timm's RepeatAugSampler write each sample of a permutation R times
 * in a row into a list, deal the list out to the ranks one by one, and cut it. With G = batch x
 * world, row i of step s on rank r is entry q = s G + i world + r of that list, and a plan gives
 * it position p = s G + r batch + i. So
 *   sample      at position p: the permutation of all samples at q / R; its repetition is q % R;
 *   rest        positions that fill no global batch are their own entries, q = p;
 *   length      samples x R entries, or fewer: the first ones.
 * The permutation is the one of the plain order (SHUFFLE_NONE: the sample is q / R). Up to R ranks
 * have different repetitions of a sample at the same step; with one rank they are in one batch.
 * What a global batch holds depends on G, not on batch and world alone.
 * A bad sample is replaced by another one of the epoch. Memory: none besides the set. Threads:
 * pure; a set is immutable.
 */
#ifndef SL_REPEAT_ORDER_H
#define SL_REPEAT_ORDER_H

#include "order.h"

typedef struct sl_repeat_set {
    uint64_t samples, entries; /* of the dataset; of an epoch, 1 .. samples x repeats */
    uint32_t repeats, batch, world;
    uint64_t hash; /* of everything the order depends on besides seed and epoch; never 0 */
} sl_repeat_set;

extern const sl_order_kind sl_repeat_order; /* of an sl_repeat_set */

/* Returns the hash of a set, whose other members are set. */
uint64_t sl_repeat_hash(const sl_repeat_set *set);

#endif
