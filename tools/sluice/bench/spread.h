/* SPDX-License-Identifier: Apache-2.0 */
/* spread: a figure over the repeats of a benchmark, and how it is written. Pure. */
#ifndef TOOL_BENCH_SPREAD_H
#define TOOL_BENCH_SPREAD_H

#include <stddef.h>

struct bench_spread {
    double median, min, max; /* NaN: there is none */
};

/* Times `factor`: "99.81 (99.70..99.90)"; "99.81" where both ends print alike, as of one repeat;
 * "-" where there is no median. What prints as 0 has no sign. */
void bench_spread_format(char *text, size_t size, const struct bench_spread *spread, double factor,
                         int decimals);

#endif
