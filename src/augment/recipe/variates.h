/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variates: random numbers that are not uniform, for magnitudes and for mixing weights.
 *
 * Purpose: a draw is a pure function of the stream's state, with the same bits on every machine
 * (portable_math.h): a last bit may decide whether a draw is rejected, and with it all later ones
 * of the stream. Method: normal by Marsaglia's polar method (SIAM Review 1964), gamma by Marsaglia
 * and Tsang (ACM TOMS 2000). Shapes below 1 are taken from shape + 1 by a power of a uniform
 * number, kept as its logarithm, so that beta and Dirichlet hold for shapes so small that gamma
 * itself underflows. Draws: each takes a few uniform numbers, depending on the result. Threads:
 * pure.
 */
#ifndef SL_VARIATES_H
#define SL_VARIATES_H

#include "philox.h"

#include <stdint.h>

/* -1 or 1, with equal probability. */
double sl_sign(sl_random *random);
/* Mean 0, deviation 1. */
double sl_normal(sl_random *random);
/* In [0, 1]; both shapes > 0 and finite. sl_beta(r, 1, 1) is uniform. */
double sl_beta(sl_random *random, double a, double b);
/* Returns `count` >= 1 fractions >= 0 whose sum is 1 except for rounding; `concentration`, of all,
 * >= 1e-300. */
void sl_dirichlet(sl_random *random, double concentration, uint32_t count, double *shares);

#endif
