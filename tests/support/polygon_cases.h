/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polygon_cases: polygons of many kinds, identical wherever they are generated.
 *
 * Purpose: other tools' results for these polygons are test data (tests/data/shapes), and the
 * polygons need not be stored. Numbers come from SplitMix64 (Steele, Lea, Flood 2014), seeded with
 * the case's number; coordinates use only sums and products, so they have the same bits everywhere.
 */
#ifndef SL_POLYGON_CASES_H
#define SL_POLYGON_CASES_H

#include <stddef.h>
#include <stdint.h>

enum { POLYGON_CASES = 10000, POLYGON_KINDS = 10, POLYGON_PARTS = 4, POLYGON_POINTS = 1200 };

typedef struct polygon_case {
    uint32_t kind, width, height, parts;
    uint32_t counts[POLYGON_PARTS]; /* points of each part */
    const double *part[POLYGON_PARTS];
    double points[2 * POLYGON_POINTS]; /* x and y */
} polygon_case;

void polygon_case_make(polygon_case *made, uint32_t number);

/* Returns the generator's next number, for any initial state. */
uint64_t split_mix(uint64_t *state);

/* Computes the 64-bit FNV-1a over all pixels, a byte of 0 or 1 each, row by row. */
uint64_t mask_hash(const uint8_t *mask, size_t bytes);

#endif
