/* SPDX-License-Identifier: Apache-2.0 */
/* Compares with the C library in long double, and pins the exact bits of some values. */
#include "philox.h"
#include "portable_math.h"
#include "test.h"

#include <float.h>
#include <math.h>

enum { VALUES = 200000 };

static double in_last_places(double found, long double expected)
{
    const long double unit =
        (long double)(nextafter(fabs((double)expected), (double)INFINITY) - fabs((double)expected));
    return (double)(fabsl((long double)found - expected) / unit);
}

TEST(logarithms_and_exponentials)
{
    sl_random random = sl_random_for(1, 0, 0, 0);
    double worst[2] = {0, 0};
    for (int i = 0; i < VALUES; i++) {
        const double x = sl_random_range(&random, -700, 700);
        const double y =
            ldexp(1 + sl_random_unit(&random), (int)sl_random_below(&random, 200) - 100);
        worst[0] = fmax(worst[0], in_last_places(sl_exp(x), expl((long double)x)));
        worst[1] = fmax(worst[1], in_last_places(sl_log(y), logl((long double)y)));
    }
    print_message("exp %.2f, log %.2f of the last place\n", worst[0], worst[1]);
    assert_true(worst[0] < 2 && worst[1] < 2);
    assert_true(sl_exp(0) == 1 && sl_log(1) == 0);
    assert_true(sl_exp(-1000) == 0 && isinf(sl_exp(1000)));
    assert_true(isinf(sl_exp(709.8)) && sl_exp(709.7) < DBL_MAX);
    assert_true(fabs(sl_log(DBL_MAX) - 709.782712893384) < 1e-12);
    assert_true(fabs(sl_log(DBL_MIN) + 708.3964185322641) < 1e-12);
}

TEST(sines_and_cosines)
{
    sl_random random = sl_random_for(2, 0, 0, 0);
    double worst = 0;
    for (int i = 0; i < VALUES; i++) {
        const double x = sl_random_range(&random, -8, 8);
        double sine;
        double cosine;
        sl_sine_cosine(x, &sine, &cosine);
        worst = fmax(worst, (double)fabsl((long double)sine - sinl((long double)x)));
        worst = fmax(worst, (double)fabsl((long double)cosine - cosl((long double)x)));
    }
    print_message("sine and cosine %.2f 2^-53\n", ldexp(worst, 53));
    assert_true(worst < 0x1p-53);
}

/* Slightly more than half of the last place; and at angles that recipes use. */
TEST(rounded_ones)
{
    sl_random random = sl_random_for(3, 0, 0, 0);
    double worst = 0;
    for (int i = 0; i < VALUES; i++) {
        const double x = i < 3600 ? (i - 1800) / 10.0 * (3.14159265358979323846 / 180)
                                  : sl_random_range(&random, -8, 8);
        const sl_trigonometry of = sl_rounded_trigonometry(x);
        worst = fmax(worst, in_last_places(of.sine, sinl((long double)x)));
        worst = fmax(worst, in_last_places(of.cosine, cosl((long double)x)));
        worst = fmax(worst, in_last_places(of.tangent, tanl((long double)x)));
    }
    print_message("rounded %.4f of the last place\n", worst);
    assert_true(worst < 0.501);
    const sl_trigonometry none = sl_rounded_trigonometry(0);
    assert_true(none.sine == 0 && none.cosine == 1 && none.tangent == 0);
    const double half = 45 * (3.14159265358979323846 / 180); /* its tangent is 0.55 ulps below 1 */
    assert_true(sl_rounded_trigonometry(half).tangent == 0x1.fffffffffffffp-1);
}

/* Other machines, compilers and libraries must give exactly these bits. */
TEST(bits_stay)
{
    double sums[4] = {0, 0, 0, 0};
    for (int i = 1; i <= 20000; i++) {
        double sine;
        double cosine;
        sl_sine_cosine(i * 0.00037 - 3.5, &sine, &cosine);
        sums[0] += sine * i;
        sums[1] += cosine * i;
        sums[2] += sl_exp(i * 0.001 - 10);
        sums[3] += sl_log(i * 0.37);
    }
    assert_true(sums[0] == 0x1.e2e333fdc2fd3p+24 && sums[1] == -0x1.0ff51d9be449cp+25);
    assert_true(sums[2] == 0x1.5043e8d15cab6p+24 && sums[3] == 0x1.34f749c339d3cp+17);
}
