/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
 * 2014) for the photo synthesiser. A value; one owner.
 */
#ifndef TOOL_RNG_H
#define TOOL_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* Returns a separate generator for each (seed, stream, number). */
static inline struct rng rng_make(uint64_t seed, uint64_t stream, uint64_t number)
{
    struct rng rng = {seed};
    rng.state = rng_next(&rng) ^ stream;
    rng.state = rng_next(&rng) ^ number;
    rng.state = rng_next(&rng);
    return rng;
}

/* Returns a number in [0, 1). */
static inline double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

/* Returns a number in [low, high). */
static inline double rng_between(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_unit(rng);
}

/* Returns 0 .. count-1; the bias of a small count is invisible in a photo. */
static inline uint32_t rng_below(struct rng *rng, uint32_t count)
{
    return (uint32_t)((rng_next(rng) >> 32) * count >> 32);
}

/* Returns an approximately normal number, mean 0, variance 1 (twelve uniforms; tails end at 6). */
static inline double rng_normal(struct rng *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += rng_unit(rng);
    }
    return sum;
}

#endif
