/* SPDX-License-Identifier: Apache-2.0 */
#include "variates.h"

#include "portable_math.h"

#include <assert.h>
#include <math.h>

/* In (0, 1]. */
static double unit_above_zero(sl_random *random)
{
    return 1 - sl_random_unit(random);
}

double sl_sign(sl_random *random)
{
    return sl_random_u32(random) >> 31 ? -1.0 : 1.0;
}

double sl_normal(sl_random *random)
{
    double u = 0;
    double square = 0;
    do {
        u = 2 * sl_random_unit(random) - 1;
        const double v = 2 * sl_random_unit(random) - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    return u * sqrt(-2 * sl_log(square) / square);
}

/* Marsaglia and Tsang, for shapes of at least 1. */
static double gamma_from_one(sl_random *random, double shape)
{
    const double d = shape - 1.0 / 3;
    const double c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = sl_normal(random);
        const double root = 1 + c * x;
        if (root <= 0) {
            continue;
        }
        const double v = root * root * root;
        const double u = unit_above_zero(random);
        const double square = x * x;
        if (u < 1 - 0.0331 * square * square ||
            sl_log(u) < 0.5 * square + d * (1 - v + sl_log(v))) {
            return d * v;
        }
    }
}

static double log_gamma_variate(sl_random *random, double shape)
{
    assert(shape > 0 && isfinite(shape));
    if (shape >= 1) {
        return sl_log(gamma_from_one(random, shape));
    }
    const double above = sl_log(gamma_from_one(random, shape + 1));
    return above + sl_log(unit_above_zero(random)) / shape;
}

double sl_beta(sl_random *random, double a, double b)
{
    const double first = log_gamma_variate(random, a);
    const double second = log_gamma_variate(random, b);
    if (first == second) { /* also where both are infinite */
        return 0.5;
    }
    if (first < second) {
        const double ratio = sl_exp(first - second);
        return ratio / (1 + ratio);
    }
    return 1 / (1 + sl_exp(second - first));
}

void sl_dirichlet(sl_random *random, double concentration, uint32_t count, double *shares)
{
    assert(count >= 1);
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        shares[i] = log_gamma_variate(random, concentration);
        if (shares[i] > shares[largest]) {
            largest = i;
        }
    }
    const double most = shares[largest];
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        shares[i] = i == largest ? 1 : sl_exp(shares[i] - most);
        sum += shares[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        shares[i] /= sum;
    }
}
