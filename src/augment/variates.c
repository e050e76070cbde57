/* SPDX-License-Identifier: Apache-2.0 */
#include "variates.h"

#include <assert.h>
#include <math.h>

/* ln 2 in two parts: products of the first with a whole number below 2^20 are exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33
#define LN2      0x1.62e42fefa39efp-1

enum { LOG_TERMS = 12, EXP_TERMS = 14 };

/* ln x = e ln 2 + 2 artanh((m - 1) / (m + 1)), x = m 2^e with m about 1. */
static double portable_log(double x)
{
    assert(x > 0 && isfinite(x));
    int exponent = 0;
    double m = frexp(x, &exponent);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        exponent--;
    }
    const double s = (m - 1) / (m + 1);
    const double square = s * s;
    double sum = 0;
    for (int k = LOG_TERMS; k >= 1; k--) {
        sum = (sum + 1.0 / (2 * k + 1)) * square;
    }
    return exponent * LN2_HIGH + (2 * s * sum + (exponent * LN2_LOW + 2 * s));
}

/* e^x = 2^k e^r with |r| at most ln 2 / 2, by Taylor's series. x at most 0. */
static double portable_exp(double x)
{
    assert(x <= 0);
    if (x < -746) {
        return 0;
    }
    const double k = floor(x / LN2 + 0.5);
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1;
    for (int n = EXP_TERMS; n >= 1; n--) {
        sum = 1 + sum * r / n;
    }
    return ldexp(sum, (int)k);
}

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
    return u * sqrt(-2 * portable_log(square) / square);
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
            portable_log(u) < 0.5 * square + d * (1 - v + portable_log(v))) {
            return d * v;
        }
    }
}

static double log_gamma_variate(sl_random *random, double shape)
{
    assert(shape > 0 && isfinite(shape));
    if (shape >= 1) {
        return portable_log(gamma_from_one(random, shape));
    }
    const double above = portable_log(gamma_from_one(random, shape + 1));
    return above + portable_log(unit_above_zero(random)) / shape;
}

double sl_gamma(sl_random *random, double shape)
{
    if (shape >= 1) {
        assert(isfinite(shape));
        return gamma_from_one(random, shape);
    }
    assert(shape > 0);
    const double above = gamma_from_one(random, shape + 1);
    return above * portable_exp(portable_log(unit_above_zero(random)) / shape);
}

double sl_beta(sl_random *random, double a, double b)
{
    const double first = log_gamma_variate(random, a);
    const double second = log_gamma_variate(random, b);
    if (first == second) { /* also where both are infinite */
        return 0.5;
    }
    if (first < second) {
        const double ratio = portable_exp(first - second);
        return ratio / (1 + ratio);
    }
    return 1 / (1 + portable_exp(second - first));
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
        shares[i] = i == largest ? 1 : portable_exp(shares[i] - most);
        sum += shares[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        shares[i] /= sum;
    }
}
