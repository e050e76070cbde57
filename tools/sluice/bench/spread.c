/* SPDX-License-Identifier: Apache-2.0 */
#include "spread.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns 0 for values that would print as "-0.00". */
static double plain(double value, int decimals)
{
    return fabs(value) < 0.5 * pow(10, -decimals) ? 0 : value;
}

void bench_spread_format(char *text, size_t size, const struct bench_spread *spread, double factor,
                         int decimals)
{
    char ends[2][64];
    const double values[] = {spread->min, spread->max};
    if (!isfinite(spread->median)) {
        snprintf(text, size, "-");
        return;
    }
    for (int i = 0; i < 2; i++) {
        snprintf(ends[i], sizeof ends[i], "%.*f", decimals, plain(factor * values[i], decimals));
    }
    const int length =
        snprintf(text, size, "%.*f", decimals, plain(factor * spread->median, decimals));
    if (strcmp(ends[0], ends[1]) != 0 && length > 0 && (size_t)length < size) {
        snprintf(text + length, size - (size_t)length, " (%s..%s)", ends[0], ends[1]);
    }
}
