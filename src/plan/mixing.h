/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixing: which source a position of a mixed run has, and which of its samples.
 *
 * Weights become shares: whole numbers of positions in a period. They are exact if the weights are
 * in the ratio of whole numbers with a sum of at most SL_MIX_PERIOD (7 : 3). Otherwise they are
 * multiples of 1 / SL_MIX_PERIOD, by largest remainders, at least one for a weight that is not 0.
 * Within a period, positions are assigned by earliest deadline: sample n (from 0) of a source with
 * share s of a period T is at or after floor(n T / s) and before ceil((n + 1) T / s). Such a
 * schedule always exists (Baruah, Cohen, Plaxton, Varvel, "Proportionate progress", 1996), so after
 * any number p of positions the count of a source differs from p s / T by less than 1. Between
 * equal deadlines, the source with the smaller number is first. The schedule is a table, so a
 * position is looked up in O(1). Random draws would miss the shares by the square root of the
 * number of samples. Rounding cumulated weights at each position would let a source's count fall,
 * or be off by more than one.
 *
 * Positions are counted across all epochs of one row of weights, and the samples of a source are
 * counted without end: sample m of a source with `size` samples is at place m % size of the
 * source's own epoch m / size, which has its own order (order.h). So each sample of a source
 * appears once before any appears again, regardless of the epochs of the mix.
 *
 * Example: epoch 2, position 5, 1000 samples an epoch, shares 7 : 3 of 10. This is position 2005 of
 * the row, and 5 of its period. The table gives source 1, with 1 earlier sample of it in the
 * period: 200 * 3 + 1 = 601 were taken. If the source has 400 samples, this is place 201 of its
 * epoch 1; the order of that source and epoch gives the sample there, and first[1] is added.
 * Memory: 6 bytes a position of a period, for each row of weights. Threads: immutable once made.
 */
#ifndef SL_MIXING_H
#define SL_MIXING_H

#include "mix.h"

#include <sluice/common.h>

#include <stddef.h>

#define SL_MIX_PERIOD 65536U

/* The weights as the caller has them. */
typedef struct sl_mix_weights {
    uint32_t sources, rows;
    const double *weights; /* rows x sources: finite, not negative, at least one of a row above 0 */
    /* of each row: its first epoch; 0 first, then ascending, below sl_mix_epochs */
    const uint64_t *epochs;
    const uint64_t *sizes;  /* of each source, 1 or more; their sum does not overflow */
    uint64_t epoch_samples; /* 0: as many as all sources have together */
} sl_mix_weights;

/* Errors: NOMEM; INVALID: weights or epochs are not as above. */
sluice_status sl_mix_make(sl_mix **mix, const sl_mix_weights *weights, sluice_error *error);

/*
 * Makes a mix with the same weights, for the same sources cut in another way: source i has the
 * samples from first[i] up to first[i + 1] (1 or more). An epoch keeps its length, or has all
 * samples if it had all. The schedules are those of `mix`, which must stay. Errors: NOMEM; INVALID:
 * weights are for an epoch that no longer exists.
 */
sluice_status sl_mix_recount(sl_mix **recounted, const sl_mix *mix, const uint64_t *first,
                             sluice_error *error);

/* The source and sample at a position. */
typedef struct sl_mix_place {
    uint32_t source;
    uint64_t epoch, position; /* the source's own */
} sl_mix_place;

/* Finds the place at position < epoch_samples. Exact in epochs below sl_mix_epochs, and for 2^63
 * more positions. */
sl_mix_place sl_mix_find(const sl_mix *mix, uint64_t epoch, uint64_t position);

/* Returns how often the source at a position started over in this epoch before it: each number
 * occurs at most once per sample in an epoch, and is 0 if no source is exhausted. Time: on
 * average, one schedule entry per source. */
uint64_t sl_mix_repetition(const sl_mix *mix, uint64_t epoch, uint64_t position);

#endif
