/* SPDX-License-Identifier: Apache-2.0 */
#include "portable_math.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

/* ln 2 in two parts: products of the first with a whole number below 2^20 are exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33
#define LN2      0x1.62e42fefa39efp-1
/* pi / 2 so, too */
#define QUARTER_HIGH 0x1.921fb544p+0
#define QUARTER_LOW  0x1.0b4611a626331p-34

enum { LOG_TERMS = 12, EXP_TERMS = 14, TURN_TERMS = 9 };

/* ln x = e ln 2 + 2 artanh((m - 1) / (m + 1)), x = m 2^e with m about 1. */
double sl_log(double x)
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

/* e^x = 2^k e^r with |r| at most ln 2 / 2. */
double sl_exp(double x)
{
    assert(!isnan(x));
    if (x < -746 || x > 710) {
        return x < 0 ? 0 : (double)INFINITY;
    }
    const double k = floor(x / LN2 + 0.5);
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1;
    for (int n = EXP_TERMS; n >= 1; n--) {
        sum = 1 + sum * r / n;
    }
    return ldexp(sum, (int)k);
}

/* Quarter turns are subtracted first: the rest, at most 45 degrees, has two parts. */
void sl_sine_cosine(double radians, double *sine, double *cosine)
{
    assert(fabs(radians) <= 1e3);
    const double quarters = floor(radians / (QUARTER_HIGH + QUARTER_LOW) + 0.5);
    const double high = radians - quarters * QUARTER_HIGH; /* exact */
    const double low = quarters * QUARTER_LOW;
    const double x = high - low;
    const double rest = (high - x) - low;
    const double square = x * x;
    double s = 0; /* of sin x / x - 1 */
    double c = 0; /* of cos x - 1 + x^2 / 2, divided by -x^2 / 2 */
    for (int n = TURN_TERMS; n >= 1; n--) {
        s = -(1 + s) * square / ((2.0 * n) * (2 * n + 1));
        c = -(1 + c) * square / ((2.0 * n + 1) * (2 * n + 2));
    }
    const double half = 0.5 * square;
    const double most = 1 - half;
    s = x + (x * s + rest);
    c = most + (((1 - most) - half) - half * c - x * rest);
    const int quarter = (int)quarters & 3;
    *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
}

/* ---- in numbers of two parts ---- */

/* The second part is the rounding error of the first (Dekker, 1971; Knuth, 4.2.2). */
typedef struct twofold {
    double high, low;
} twofold;

enum { TWOFOLD_TERMS = 14, TWOFOLD_FIRST = 7 };
/* pi / 2 less QUARTER_HIGH + QUARTER_LOW. */
#define QUARTER_LOWEST 0x1.1701b839a2520p-88

static twofold sum_of(double a, double b)
{
    const double sum = a + b;
    const double of_b = sum - a;
    return (twofold){sum, (a - (sum - of_b)) + (b - of_b)};
}

static twofold twofold_add(twofold a, twofold b)
{
    const twofold high = sum_of(a.high, b.high);
    return sum_of(high.high, high.low + (a.low + b.low));
}

static twofold twofold_multiply(twofold a, twofold b)
{
    const double product = a.high * b.high;
    const double rest = fma(a.high, b.high, -product);
    return sum_of(product, rest + (a.high * b.low + a.low * b.high));
}

static twofold twofold_divide(twofold a, twofold b)
{
    const double quotient = a.high / b.high;
    const double rest = fma(-quotient, b.high, a.high) + (a.low - quotient * b.low);
    return sum_of(quotient, rest / b.high);
}

/* Returns 1 - x^2 / (b (b + 1)) + ...: with b = 1 the cosine, with b = 2 sin x / x. The last terms
 * are so small that one double is enough for them. */
static twofold turn_series(twofold square, int b)
{
    const twofold one = {1, 0};
    double last = 1;
    for (int n = TWOFOLD_TERMS; n > TWOFOLD_FIRST; n--) {
        last = 1 - last * square.high / ((2.0 * n - 2 + b) * (2.0 * n - 1 + b));
    }
    twofold sum = {last, 0};
    for (int n = TWOFOLD_FIRST; n >= 1; n--) {
        const double below = (2.0 * n - 2 + b) * (2.0 * n - 1 + b);
        const twofold term = twofold_divide(twofold_multiply(sum, square), (twofold){below, 0});
        sum = twofold_add(one, (twofold){-term.high, -term.low});
    }
    return sum;
}

sl_trigonometry sl_rounded_trigonometry(double radians)
{
    assert(fabs(radians) <= 1e3);
    if (radians == 0) {
        return (sl_trigonometry){.sine = 0, .cosine = 1, .tangent = 0};
    }
    const double quarters = floor(radians / (QUARTER_HIGH + QUARTER_LOW) + 0.5);
    const double taken = quarters * QUARTER_LOW;
    const twofold low = {-taken, -fma(quarters, QUARTER_LOW, -taken) - quarters * QUARTER_LOWEST};
    const twofold x = twofold_add((twofold){radians - quarters * QUARTER_HIGH, 0}, low);
    const twofold square = twofold_multiply(x, x);
    const twofold sine = twofold_multiply(x, turn_series(square, 2));
    const twofold cosine = turn_series(square, 1);
    const int quarter = (int)quarters & 3;
    const bool odd = quarter % 2 != 0;
    const twofold tangent = odd ? twofold_divide(cosine, sine) : twofold_divide(sine, cosine);
    const double s = odd ? cosine.high : sine.high;
    const double c = odd ? sine.high : cosine.high;
    return (sl_trigonometry){.sine = quarter < 2 ? s : -s,
                             .cosine = quarter == 0 || quarter == 3 ? c : -c,
                             .tangent = odd ? -tangent.high : tangent.high};
}
