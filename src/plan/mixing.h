/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixing: which source stands at each position of a mixed run, and which of its samples.
 *
 * Weights become shares: whole numbers of positions in a period, exactly where weights are in the
 * ratio of whole numbers with a sum of at most SL_MIX_PERIOD (7 : 3), else as multiples of
 * 1 / SL_MIX_PERIOD, by largest remainders, at least one for a weight that is not 0. Within a
 * period positions are given out by earliest deadline: sample n (from 0) of a source with share s
 * of a period T stands at or behind floor(n T / s) and before ceil((n + 1) T / s). That can always
 * be done (Baruah, Cohen, Plaxton, Varvel, "Proportionate progress", 1996), so after any number p
 * of positions a source has come within less than 1 of p s / T times. Of equal deadlines the source
 * with the smaller number comes first. The schedule is a table, so any position is found at once.
 * Drawing sources by chance would miss the shares by the root of the number of samples; rounding
 * cumulated weights at each position lets a source's count fall, or be off by more than one.
 *
 * Positions of all epochs that one row of weights is for are counted on, and so are the samples of
 * a source, for ever: sample m of a source that has `size` of them is at place m % size of its
 * (m / size)-th own epoch, which has an order of its own (order.h). So each of its samples comes
 * once before any comes again, whatever the epochs of the mix.
 *
 * Walk of a sample: epoch 2, position 5, 1000 samples an epoch, shares 7 : 3 of 10. It is position
 * 2005 of the row, 5 of its period; the table says source 1, and that 1 of it came before in the
 * period: 200 * 3 + 1 = 601 of it were taken. If it has 400 samples, this is place 201 of its epoch
 * 1; the order of that source and epoch says which sample stands there, and first[1] is added.
 * Memory: 6 bytes a position of a period, for each row of weights. Threads: immutable once made.
 */
#ifndef SL_MIXING_H
#define SL_MIXING_H

#include "mix.h"

#include <sluice/common.h>

#include <stddef.h>

#define SL_MIX_PERIOD 65536U

/* As the caller has them. */
typedef struct sl_mix_weights {
    uint32_t sources, rows;
    const double *weights; /* rows x sources: finite, not negative, one of a row above 0 */
    /* Of each row: the first that it is for; 0 first, then ascending, below sl_mix_epochs. */
    const uint64_t *epochs;
    const uint64_t *sizes;  /* of each source, 1 or more; their sum does not overflow */
    uint64_t epoch_samples; /* 0: as many as all sources have together */
} sl_mix_weights;

/* Errors: NOMEM; INVALID: weights or epochs are not as above. */
sluice_status sl_mix_make(sl_mix **mix, const sl_mix_weights *weights, sluice_error *error);

/*
 * The same weights, of the same sources cut in another way: source i has the samples from first[i]
 * on, before first[i + 1] (1 or more), and an epoch as many as before, or all of them where it had
 * all. Its schedules are those of `mix`, which must stay. Errors: NOMEM; INVALID: weights are for
 * an epoch that there is no more.
 */
sluice_status sl_mix_recount(sl_mix **recounted, const sl_mix *mix, const uint64_t *first,
                             sluice_error *error);

/* What stands at a position. */
typedef struct sl_mix_place {
    uint32_t source;
    uint64_t epoch, position; /* the source's own */
} sl_mix_place;

/* position < epoch_samples. Exact in epochs below sl_mix_epochs, and for 2^63 positions more. */
sl_mix_place sl_mix_find(const sl_mix *mix, uint64_t epoch, uint64_t position);

/* How often the source at a position began anew in this epoch before it: a sample has each number
 * at most once in an epoch, 0 where no source comes to its end. Time: as many entries of the
 * schedule as there are sources, on average over the positions. */
uint64_t sl_mix_repetition(const sl_mix *mix, uint64_t epoch, uint64_t position);

#endif
