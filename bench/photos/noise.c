/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

#include <math.h>
#include <string.h>

enum { FIRST_SIDE = 4 };

static float grains[NOISE_GRAINS];

void noise_prepare(void)
{
    struct rng rng = {0x6772616973U}; /* any constant: all photos share the table */
    for (int i = 0; i < NOISE_GRAINS; i++) {
        grains[i] = (float)rng_normal(&rng);
    }
}

const float *noise_grains(void)
{
    return grains;
}

/*
 * Doubles a row by the subdivision of cubic B-splines, so that no grid shows: cell 2i is
 * (a[i-1] + 6 a[i] + a[i+1]) / 8 and cell 2i+1 is (a[i] + a[i+1]) / 2.
 */
static void double_row(const float *in, float *out, int side)
{
    for (int i = 0; i < side; i++) {
        float before = in[(i + side - 1) % side];
        float after = in[(i + 1) % side];
        *out++ = (before + 6 * in[i] + after) * 0.125F;
        *out++ = (in[i] + after) * 0.5F;
    }
}

/* The same down the columns: `in` is side rows of 2*side cells, `out` twice as many rows. */
static void double_columns(const float *restrict in, float *restrict out, int side)
{
    int width = 2 * side;
    for (int y = 0; y < side; y++) {
        const float *before = in + (size_t)((y + side - 1) % side) * (size_t)width;
        const float *here = in + (size_t)y * (size_t)width;
        const float *after = in + (size_t)((y + 1) % side) * (size_t)width;
        float *even = out + (size_t)(2 * y) * (size_t)width;
        float *odd = even + width;
        for (int x = 0; x < width; x++) {
            even[x] = (before[x] + 6 * here[x] + after[x]) * 0.125F;
            odd[x] = (here[x] + after[x]) * 0.5F;
        }
    }
}

static void add_noise(float *field, int side, struct rng *rng, float amplitude)
{
    for (int y = 0; y < side; y++) {
        const float *noise = grains + rng_below(rng, NOISE_GRAINS - NOISE_SIDE);
        float *row = field + (size_t)y * (size_t)side;
        for (int x = 0; x < side; x++) {
            row[x] += amplitude * noise[x];
        }
    }
}

static void standardise(float *field)
{
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < NOISE_CELLS; i++) {
        sum += (double)field[i];
        squares += (double)field[i] * (double)field[i];
    }
    double mean = sum / NOISE_CELLS;
    double deviation = sqrt(squares / NOISE_CELLS - mean * mean);
    float shift = (float)mean;
    float scale = (float)(1 / (deviation + 1e-6));
    for (int i = 0; i < NOISE_CELLS; i++) {
        field[i] = (field[i] - shift) * scale;
    }
}

void noise_field(float *field, float *scratch, struct rng *rng, double smoothness)
{
    float amplitude = 1;
    float factor = (float)exp2(-smoothness);
    memset(field, 0, sizeof(float) * FIRST_SIDE * FIRST_SIDE);
    add_noise(field, FIRST_SIDE, rng, amplitude);
    for (int side = FIRST_SIDE; side < NOISE_SIDE; side *= 2) {
        for (int y = 0; y < side; y++) {
            double_row(field + (size_t)y * (size_t)side, scratch + (size_t)y * 2 * (size_t)side,
                       side);
        }
        double_columns(scratch, field, side);
        amplitude *= factor;
        add_noise(field, 2 * side, rng, amplitude);
    }
    standardise(field);
}
