/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws from known distributions: counts between the deciles (a chi-squared test; fixed seeds give
 * it one outcome), moments, and pinned bits. The deciles come from another program, by bisection of
 * the distribution functions.
 */
#include "test.h"
#include "variates.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 100000, PARTS = 10, KINDS = 5 };

/* With 9 degrees of freedom, one value in a thousand exceeds this. */
#define CHI_SQUARED_LIMIT 27.88

static const double beta_shapes[KINDS] = {0.1, 0.2, 0.8, 1, 5};
static const double beta_deciles[KINDS][PARTS - 1] = {
    {8.86928001193e-08, 9.08146855855e-05, 0.00521487025373, 0.0863985606706, 0.5, 0.913601439329,
     0.994785129746, 0.999909185314, 0.999999911307},
    {0.000247764691908, 0.00788804962659, 0.0578805753155, 0.216341858876, 0.5, 0.783658141124,
     0.942119424685, 0.992111950373, 0.999752235308},
    {0.0710504430906, 0.167034068182, 0.273430334164, 0.385444284273, 0.5, 0.614555715727,
     0.726569665836, 0.832965931818, 0.928949556909},
    {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9},
    {0.300968763593, 0.366086516536, 0.415605404354, 0.458999710311, 0.5, 0.541000289689,
     0.584394595646, 0.633913483464, 0.699031236407},
};
static const double normal_deciles[PARTS - 1] = {
    -1.28155156554, -0.841621233573, -0.524400512708, -0.253347103136, 0,
    0.253347103136, 0.524400512708,  0.841621233573,  1.28155156554};

typedef struct tally {
    uint32_t count, parts[PARTS];
    double sum, squares;
} tally;

static void note(tally *t, const double *deciles, double value)
{
    assert_true(isfinite(value));
    uint32_t part = 0;
    while (part < PARTS - 1 && value >= deciles[part]) {
        part++;
    }
    t->parts[part]++;
    t->count++;
    t->sum += value;
    t->squares += value * value;
}

/* `fourth`: the fourth central moment, for the error of the variance. */
static void judge(const tally *t, double mean, double variance, double fourth)
{
    const double expected = (double)t->count / PARTS;
    double chi_squared = 0;
    for (uint32_t i = 0; i < PARTS; i++) {
        const double off = t->parts[i] - expected;
        chi_squared += off * off / expected;
    }
    assert_true(chi_squared < CHI_SQUARED_LIMIT);
    const double found = t->sum / t->count;
    assert_true(fabs(found - mean) < 4 * sqrt(variance / t->count));
    const double spread = t->squares / t->count - found * found;
    assert_true(fabs(spread - variance) < 4 * sqrt((fourth - variance * variance) / t->count));
}

TEST(normal)
{
    sl_random random = sl_random_for(1, 2, 3, 4);
    tally t = {0};
    for (int i = 0; i < DRAWS; i++) {
        note(&t, normal_deciles, sl_normal(&random));
    }
    judge(&t, 0, 1, 3);
}

/* Of Beta(a, b). */
static double beta_fourth(double a, double b)
{
    const double n = a + b;
    const double variance = a * b / (n * n * (n + 1));
    const double excess =
        6 * ((a - b) * (a - b) * (n + 1) - a * b * (n + 2)) / (a * b * (n + 2) * (n + 3));
    return (excess + 3) * variance * variance;
}

TEST(beta_of_equal_shapes)
{
    for (uint32_t k = 0; k < KINDS; k++) {
        const double a = beta_shapes[k];
        sl_random random = sl_random_for(3, k, 0, 0);
        tally t = {0};
        for (int i = 0; i < DRAWS; i++) {
            const double value = sl_beta(&random, a, a);
            assert_true(value >= 0 && value <= 1);
            note(&t, beta_deciles[k], value);
        }
        judge(&t, 0.5, 1 / (4 * (2 * a + 1)), beta_fourth(a, a));
    }
}

TEST(beta_of_other_shapes)
{
    /* Beta(1/2, 3/2), also the distribution of one part of Dirichlet(1/2, 1/2, 1/2, 1/2) */
    static const double deciles[PARTS - 1] = {0.00618124393843, 0.0248807068345, 0.0565880549368,
                                              0.102202661432,   0.163193985408,  0.24192806253,
                                              0.342385803656,   0.47203608949,   0.648642801974};
    sl_random random = sl_random_for(4, 0, 0, 0);
    tally beta = {0};
    tally shares[4] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double four[4];
        note(&beta, deciles, sl_beta(&random, 0.5, 1.5));
        sl_dirichlet(&random, 0.5, 4, four);
        for (uint32_t k = 0; k < 4; k++) {
            note(&shares[k], deciles, four[k]);
        }
    }
    judge(&beta, 0.25, 0.0625, beta_fourth(0.5, 1.5));
    for (uint32_t k = 0; k < 4; k++) {
        judge(&shares[k], 0.25, 0.0625, beta_fourth(0.5, 1.5));
    }
}

TEST(shares_make_one)
{
    static const double concentrations[] = {1e-3, 0.1, 1, 1000};
    sl_random random = sl_random_for(5, 0, 0, 0);
    for (uint32_t i = 0; i < 40000; i++) {
        double shares[8];
        const uint32_t count = 1 + i % 8;
        sl_dirichlet(&random, concentrations[i / 8 % 4], count, shares);
        double sum = 0;
        for (uint32_t k = 0; k < count; k++) {
            assert_true(shares[k] >= 0 && shares[k] <= 1);
            sum += shares[k];
        }
        assert_true(fabs(sum - 1) < 1e-14);
    }
}

TEST(small_shapes_are_ends_and_great_ones_are_the_middle)
{
    sl_random random = sl_random_for(6, 0, 0, 0);
    uint32_t ends = 0;
    uint32_t ones = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        const double small = sl_beta(&random, 1e-3, 1e-3);
        ends += small < 0.01 || small > 0.99;
        ones += small > 0.5;
        assert_true(fabs(sl_beta(&random, 1e6, 1e6) - 0.5) < 0.005);
        assert_true(sl_beta(&random, 1e-300, 1e-300) >= 0);
    }
    assert_true(ends > 9900);
    assert_true(ones > 4700 && ones < 5300);
}

TEST(signs)
{
    sl_random random = sl_random_for(7, 0, 0, 0);
    int32_t sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double sign = sl_sign(&random);
        assert_true(sign == 1 || sign == -1);
        sum += sign > 0 ? 1 : -1;
    }
    assert_true(abs(sum) < 4 * 316);
}

/* Other machines, compilers and versions must draw exactly these bits. */
TEST(bits_stay)
{
    sl_random random = sl_random_for(42, 3, 7, 5);
    assert_true(sl_normal(&random) == 0x1.0429bacb88e12p-1);
    assert_true(sl_beta(&random, 0.8, 0.8) == 0x1.bd20071c0810ep-2);
    double shares[3];
    sl_dirichlet(&random, 1, 3, shares);
    assert_true(shares[0] == 0x1.b3797e4f48372p-2 && shares[1] == 0x1.8dad587c7c243p-7);
    double sum = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        sum += sl_beta(&random, 0.1, 0.1);
        sum += sl_normal(&random);
    }
    assert_true(sum == 0x1.3a884ae5e5c56p+13);
}
