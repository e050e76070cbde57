/* SPDX-License-Identifier: Apache-2.0 */
/* The accounting of the emulated accelerator on made-up times. */
#include "../../tools/sluice/emulated.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void test_nothing_to_count(void **state)
{
    (void)state;
    struct emulated emulated;
    emulated_begin(&emulated, 0.1);
    assert_true(isnan(emulated_figures(&emulated).au_strict));
    assert_true(emulated_record(&emulated, 5, 5.1)); /* the first step is left out */
    struct emulated_figures figures = emulated_figures(&emulated);
    assert_int_equal(figures.steps, 0);
    assert_true(isnan(figures.au_strict) && isnan(figures.au_mlperf) && isnan(figures.wait_max_ms));
    emulated_free(&emulated);
}

/* Steps of 0.1 s that oversleep by 0.01 s; the waits are 0, 0.09 and 0.28 s: a window of 0.7 s. */
static void test_both_formulas(void **state)
{
    (void)state;
    struct emulated emulated;
    emulated_begin(&emulated, 0.1);
    assert_true(emulated_record(&emulated, 9, 10)); /* a long first step changes nothing */
    assert_true(emulated_record(&emulated, 10, 10.11));
    assert_true(emulated_record(&emulated, 10.20, 10.31));
    assert_true(emulated_record(&emulated, 10.59, 10.7));
    struct emulated_figures figures = emulated_figures(&emulated);
    assert_int_equal(figures.steps, 3);
    assert_true(near(figures.au_strict, 0.3 / 0.7));
    assert_true(near(figures.au_mlperf, 0.33 / 0.7));
    assert_true(near(figures.wait_p50_ms, 90));
    assert_true(near(figures.wait_p99_ms, 280));
    assert_true(near(figures.wait_max_ms, 280));
    emulated_free(&emulated);
}

/* A loader of a known rate: utilisation is step / period, however many steps. */
static void test_many_steps(void **state)
{
    (void)state;
    struct emulated emulated;
    emulated_begin(&emulated, 0.002);
    for (int step = 0; step < 5001; step++) {
        double got = 100 + step * 0.008;
        assert_true(emulated_record(&emulated, got, got + 0.002));
    }
    struct emulated_figures figures = emulated_figures(&emulated);
    assert_int_equal(figures.steps, 5000);
    assert_true(fabs(figures.au_strict - 0.25) < 1e-6);
    assert_true(fabs(figures.au_mlperf - 0.25) < 1e-6);
    assert_true(fabs(figures.wait_p99_ms - 6) < 1e-6);
    emulated_free(&emulated);
}

static void test_sleeps_at_least(void **state)
{
    (void)state;
    struct emulated emulated;
    emulated_begin(&emulated, 0.003);
    for (int step = 0; step < 5; step++) {
        assert_true(emulated_step(&emulated));
    }
    assert_true(emulated.slept >= 4 * 0.003);
    struct emulated_figures figures = emulated_figures(&emulated);
    assert_true(figures.au_strict <= 1 && figures.au_mlperf >= figures.au_strict);
    emulated_free(&emulated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_count),
        cmocka_unit_test(test_both_formulas),
        cmocka_unit_test(test_many_steps),
        cmocka_unit_test(test_sleeps_at_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
