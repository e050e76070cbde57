/* SPDX-License-Identifier: Apache-2.0 */
/* spread: a value over the repeats of a benchmark, and its text form. Pure. */
#ifndef TOOL_BENCH_SPREAD_H
#define TOOL_BENCH_SPREAD_H

#include <stddef.h>

struct bench_spread {
    double median, min, max; /* NaN: none */
};

/* Multiplies by `factor` and writes "99.81 (99.70..99.90)"; "99.81" if both ends print the same,
 * as with one repeat; "-" without a median. Values that print as 0 have no sign. */
void bench_spread_format(char *text, size_t size, const struct bench_spread *spread, double factor,
                         int decimals);

#endif
