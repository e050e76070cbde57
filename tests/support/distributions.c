/* SPDX-License-Identifier: Apache-2.0 */
#include "distributions.h"

#include "test.h"

#include <math.h>
#include <stddef.h>

/* Asserts that the statistic is below the limit for a probability of 0.001 (Wilson and
 * Hilferty). */
static void assert_fits(double statistic, double freedom, const char *what)
{
    const double share = 2 / (9 * freedom);
    const double limit = freedom * pow(1 - share + 3.09 * sqrt(share), 3);
    if (!(statistic <= limit)) {
        print_message("%s: chi-squared %g, limit %g\n", what, statistic, limit);
    }
    assert_true(statistic <= limit);
}

void distribution_expect(const uint32_t *seen, const double *parts, uint32_t count,
                         const char *what)
{
    double all = 0;
    double statistic = 0;
    uint32_t possible = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += seen[i];
    }
    assert_true(all > 0);
    for (uint32_t i = 0; i < count; i++) {
        const double expected = parts != NULL ? all * parts[i] : all / count;
        if (expected > 0) {
            statistic += (seen[i] - expected) * (seen[i] - expected) / expected;
            possible++;
        } else {
            assert_int_equal(seen[i], 0);
        }
    }
    if (possible > 1) {
        assert_fits(statistic, possible - 1.0, what);
    }
}

void distribution_expect_share(uint32_t seen, uint32_t of, double probability)
{
    assert_true(fabs(seen - of * probability) <=
                4 * sqrt(of * probability * (1 - probability)) + 1e-9);
}

void uniform_note(uniform *u, double value)
{
    const double slack = 1e-6 * (u->most - u->least);
    assert_true(value >= u->least - slack && value <= u->most + slack);
    const double part = (value - u->least) / (u->most - u->least);
    const double bin = floor(fmin(fmax(part, 0), 1) * UNIFORM_BINS);
    u->seen[(uint32_t)fmin(bin, UNIFORM_BINS - 1)]++;
    u->sum += part;
    u->count++;
}

void uniform_expect(const uniform *u)
{
    assert_true(u->count > 1000);
    distribution_expect(u->seen, NULL, UNIFORM_BINS, u->name);
    assert_true(fabs(u->sum / u->count - 0.5) < 4 * sqrt(1.0 / 12 / u->count));
}
