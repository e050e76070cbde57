/* SPDX-License-Identifier: Apache-2.0 */
/*
 * philox: counter-based random numbers (Philox4x32-10, Salmon et al., SC 2011).
 *
 * Purpose: every random number of the library is a pure function of a 64-bit key and a 128-bit
 * counter, so that no thread or retry can change it. Checked against the Random123 known answers.
 * Threads: pure.
 */
#ifndef SL_PHILOX_H
#define SL_PHILOX_H

#include <stdint.h>

typedef struct sl_philox_block {
    uint32_t v[4];
} sl_philox_block;

sl_philox_block sl_philox(uint64_t key, uint64_t counter_low, uint64_t counter_high);

/* Mixes two words into one, for deriving keys: the first two outputs of Philox. */
uint64_t sl_philox_u64(uint64_t key, uint64_t counter_low, uint64_t counter_high);

/* A stream of draws: block k of the counter (low, high + k). */
typedef struct sl_random {
    uint64_t key, low, high;
    sl_philox_block block;
    unsigned used; /* of block.v; 4: the next draw makes a block */
} sl_random;

/* Returns the stream of (seed, epoch, sample, operation); operation < 2^16, and fewer than 2^18
 * draws. */
sl_random sl_random_for(uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t operation);
uint32_t sl_random_u32(sl_random *random);
/* Returns a uniform number in [0, 1), 53 bits (two draws). */
double sl_random_unit(sl_random *random);
/* Returns a uniform number in [low, high]. */
double sl_random_range(sl_random *random, double low, double high);
/* Returns a uniform number in [0, bound), bound >= 1, without bias (rejection). */
uint32_t sl_random_below(sl_random *random, uint32_t bound);

#endif
