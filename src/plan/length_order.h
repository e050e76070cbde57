/* SPDX-License-Identifier: Apache-2.0 */
/*
 * length_order: an epoch whose global batches hold samples of similar length.
 *
 * Purpose: padding a batch to its longest sample wastes less if all are about as long. A sample's
 * length is any number. With n samples, G = batch x world positions of a global batch, W = n / G
 * whole ones, and r = n % G:
 *   ranks    samples sorted by length; those of equal length in a permutation drawn for the epoch;
 *   rest     r consecutive ranks from a random one on (the first follows the last) are at the
 *            epoch's last r positions, so each sample is equally likely to be in the rest;
 *   groups   the other ranks are cut into groups of K = W / groups global batches, rounded up. The
 *            first has K / 2 to 3 K / 2, drawn for the epoch, so that groups end elsewhere in each;
 *            a last one of fewer than K / 2 belongs to the one before it;
 *   batches  the ranks of a group are permuted and cut into global batches; the batches of all
 *            groups are in the order of another permutation.
 * With SHUFFLE_NONE, ranks are positions: from the shortest sample to the longest, and those of
 * equal length by their numbers.
 *
 * So each sample has one position in an epoch, and position and sample are computed from each other
 * without a table of the epoch. A batch spans about 1 / groups of all ranks. That is the spread in
 * transformers' LengthGroupedSampler, whose megabatches have 50 batches, or a quarter of all
 * batches if these are fewer. A bad sample is replaced by one of about the same rank. Memory: 4
 * bytes a sample and 4 for each length that occurs; 16 a sample while a set is made, by a sort in
 * O(n log n). Time: O(log n) a sample. Threads: pure; a set is immutable once made.
 */
#ifndef SL_LENGTH_ORDER_H
#define SL_LENGTH_ORDER_H

#include "order.h"

#include <sluice/common.h>

/* Defaults: number of groups, and minimum of global batches in each. */
#define SL_LENGTH_GROUPS  50U
#define SL_LENGTH_BATCHES 4U

typedef struct sl_length_set {
    uint64_t samples, global;
    uint64_t whole;         /* global batches */
    uint64_t group_batches; /* K */
    uint32_t *sorted;       /* samples by length, then by number */
    uint32_t *runs;         /* ranks at which another length begins, ascending; the first is 0 */
    uint32_t run_count;
    uint64_t hash; /* of everything the order depends on besides seed and epoch; never 0 */
} sl_length_set;

extern const sl_order_kind sl_length_order; /* of an sl_length_set */

/* `groups` 0: the default. Errors: INVALID: a length is negative, infinite or NaN, with its
 * sample's number; UNSUPPORTED: there are 2^32 samples or more; NOMEM. A zeroed set may be closed.
 */
sluice_status sl_length_set_open(sl_length_set *set, const double *lengths, uint64_t samples,
                                 uint64_t global, uint32_t groups, sluice_error *error);
void sl_length_set_close(sl_length_set *set);

#endif
