/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polygon_cases: polygons of many kinds, the same ones wherever they are made.
 *
 * Purpose: what other people's tools made of these is test data (tests/data/shapes), and the
 * polygons need not be. Numbers are SplitMix64's (Steele, Lea, Flood 2014), from the number of the
 * case; coordinates come of sums and products only, so they have the same bits everywhere.
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

/* The next number of a generator that begins with any state. */
uint64_t split_mix(uint64_t *state);

/* FNV-1a of 64 bits over all pixels, a byte of 0 or 1 each, row by row. */
uint64_t mask_hash(const uint8_t *mask, size_t bytes);

#endif
