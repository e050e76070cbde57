/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise: random fields with a power spectrum like that of natural images (1/f to some power),
 * and white grain. A field is a square torus of NOISE_SIDE x NOISE_SIDE floats, mean 0, variance 1.
 * Pure except for the grain table, which noise_prepare makes once before threads start.
 */
#ifndef TOOL_NOISE_H
#define TOOL_NOISE_H

#include "rng.h"

#include <stdint.h>

enum { NOISE_SIDE = 512, NOISE_CELLS = NOISE_SIDE * NOISE_SIDE, NOISE_GRAINS = 1 << 16 };

void noise_prepare(void);

/* Returns NOISE_GRAINS normal numbers, mean 0, variance 1. */
const float *noise_grains(void);

/*
 * Fills `field`; `scratch` has as many cells. `smoothness` is the factor by which each halving of
 * the feature size weakens it, as a power of two: 0 is rough like gravel, 1 soft like clouds.
 */
void noise_field(float *field, float *scratch, struct rng *rng, double smoothness);

#endif
