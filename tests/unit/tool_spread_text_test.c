/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a spread is written: no range for a single value, and no sign without a number. */
#include "test.h"

#include "../../tools/sluice/bench/spread.h"

#include <math.h>

static void expect(double median, double min, double max, const char *words)
{
    char text[64];
    const struct bench_spread spread = {median, min, max};
    bench_spread_format(text, sizeof text, &spread, 100, 2);
    assert_string_equal(text, words);
}

static void test_spreads(void **state)
{
    expect(0.5, 0.25, 0.75, "50.00 (25.00..75.00)");
    expect(0.5, 0.5, 0.5, "50.00");
    expect(0.5, 0.499999, 0.500001, "50.00"); /* they print the same */
    expect(-0.00001, -0.00002, 0.00001, "0.00");
    expect(-0.0, -0.0, 0.01, "0.00 (0.00..1.00)");
    expect(-0.01, -0.02, 0, "-1.00 (-2.00..0.00)");
    expect(NAN, NAN, NAN, "-");
    char text[8];
    const struct bench_spread spread = {1, 0, 2};
    bench_spread_format(text, sizeof text, &spread, 1, 2);
    assert_string_equal(text, "1.00 (0"); /* cut off there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spreads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
