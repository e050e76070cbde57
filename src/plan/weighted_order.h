/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weighted_order: an epoch of samples that are drawn by weight, with replacement.
 *
 * Purpose: the sample at a position is drawn for (seed, epoch, position) alone, so it depends
 * neither on other positions, nor on batch, rank or world size. Weights become whole numbers with a
 * sum of about 2^62, rounded, at least 1 for a weight above 0 and 0 for a weight of 0; a draw is a
 * 64-bit number scaled to their sum, and a binary search in the prefix sums. So a sample of weight
 * 0 is never drawn, and the probability of another is w / sum to within 2^-52 of it, and 2^-62. A
 * sample is augmented by its position as well, so its draws in one epoch differ. A bad sample is
 * replaced by another draw, from all weights except its own. Memory: 8 bytes a sample. Time:
 * O(log n) a draw. Threads: pure; a set is immutable once made.
 */
#ifndef SL_WEIGHTED_ORDER_H
#define SL_WEIGHTED_ORDER_H

#include "order.h"

#include <sluice/common.h>

typedef struct sl_weight_set {
    uint64_t samples;
    uint64_t draws;   /* positions of an epoch, >= 1 */
    uint64_t choices; /* samples of a weight above 0 */
    uint64_t *ends;   /* of each sample: the sum of the weights up to its own */
    uint64_t hash;    /* of everything the order depends on besides seed and epoch; never 0 */
} sl_weight_set;

extern const sl_order_kind sl_weighted_order; /* of an sl_weight_set */

/* `draws` 0: one per sample. Errors: INVALID: a weight is negative, infinite or NaN, with its
 * sample's number, or none is above 0; NOMEM. A zeroed set may be closed. */
sluice_status sl_weight_set_open(sl_weight_set *set, const double *weights, uint64_t samples,
                                 uint64_t draws, sluice_error *error);
void sl_weight_set_close(sl_weight_set *set);

#endif
