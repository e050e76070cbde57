/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the statistics of one arm, and of several arms compared, on made-up times. */
#include "test.h"

#include "../../tools/sluice/bench/compare.h"
#include "../../tools/sluice/bench/presets.h"

#include <math.h>
#include <string.h>

static const struct bench_step_setting emulated = {.step_s = 0.1, .rows = 8};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static struct bench_step_figures figures_of(const struct bench_step *at, size_t count,
                                            const struct bench_step_setting *setting)
{
    double scratch[64];
    struct bench_steps steps;
    assert_true(count <= 64 && bench_steps_begin(&steps, 1, count));
    for (size_t i = 0; i < count; i++) {
        bench_steps_add(&steps, &at[i]);
    }
    struct bench_step_figures figures = bench_steps_figures(&steps, setting, scratch);
    bench_steps_free(&steps);
    return figures;
}

TEST(test_nothing_to_count)
{
    const struct bench_step only = {.begin = 5, .end = 5.1}; /* the first step is excluded */
    struct bench_step_figures figures = figures_of(&only, 1, &emulated);
    assert_int_equal(figures.steps, 0);
    assert_true(isnan(figures.au_strict) && isnan(figures.wait_max_ms) && isnan(figures.idle));
}

/* Steps of 0.1 s that oversleep by 0.01 s; the waits are 0, 0.09 and 0.28 s: a window of 0.7 s. */
TEST(test_formulas)
{
    const struct bench_step at[] = {
        {1, 9, 9, 9, 10}, /* a long first step changes nothing */
        {10, 10, 10, 10, 10.11},
        {10.11, 10.20, 10.20, 10.20, 10.31},
        {10.31, 10.59, 10.59, 10.59, 10.7},
    };
    struct bench_step_figures figures = figures_of(at, 4, &emulated);
    assert_int_equal(figures.steps, 3);
    assert_true(near(figures.window_s, 0.7));
    assert_true(near(figures.au_strict, 0.3 / 0.7));
    assert_true(near(figures.au_mlperf, 0.33 / 0.7));
    assert_true(near(figures.idle, 1 - 0.3 / 0.7));
    assert_true(near(figures.data_idle, 0.37 / 0.7));
    assert_true(near(figures.rows_per_s, 24 / 0.7));
    assert_true(near(figures.wait_p50_ms, 90));
    assert_true(near(figures.wait_p99_ms, 280) && near(figures.wait_max_ms, 280));
    assert_true(near(figures.step_p50_ms, 200) && near(figures.step_p99_ms, 390));
    assert_true(near(figures.step_mean_ms, 700.0 / 3));
    struct bench_step_setting real = emulated;
    real.measured = true;
    figures = figures_of(at, 4, &real);
    assert_true(near(figures.idle, 1 - 0.33 / 0.7));
}

/* A wait that ends before the accelerator reaches the batch costs nothing. A stall on the stream
 * does. Time that is both is counted once. Idle time caused by the host itself does not count as
 * data. */
TEST(test_who_is_to_blame)
{
    struct bench_step at[2] = {{0, 0, 0, 0, 10}, {.end = 12}};
    const struct {
        double asked, got, reached, begin, blamed;
    } cases[] = {
        {9, 9.5, 10, 10, 0},            /* hidden behind the previous step */
        {9, 10.25, 10.25, 10.25, 0.25}, /* the host delivered the batch too late */
        {9, 9.5, 10, 10.5, 0.5},        /* queued in time, its copy was late */
        {9, 10.25, 10.25, 10.5, 0.5},   /* both, one after the other */
        {10.5, 10.5, 10.5, 10.5, 0},    /* the host slept; the data were ready */
        {10.5, 10.75, 10.75, 10.75, 0.25},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        at[1].asked = cases[i].asked;
        at[1].got = cases[i].got;
        at[1].reached = cases[i].reached;
        at[1].begin = cases[i].begin;
        struct bench_step_figures figures = figures_of(at, 2, &emulated);
        assert_true(near(figures.data_idle, cases[i].blamed / 2));
    }
}

static struct bench_repeat repeat_of(double base_ms, double ours_ms, double floor_ms, double supply)
{
    struct bench_repeat repeat = {.supply = supply};
    const double means[BENCH_ARMS] = {base_ms, ours_ms, floor_ms};
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        repeat.arms[arm].steps = 20;
        repeat.arms[arm].step_mean_ms = means[arm];
        repeat.arms[arm].au_strict = 100 / means[arm];
        repeat.arms[arm].idle = 1 - 100 / means[arm];
    }
    return repeat;
}

TEST(test_comparison)
{
    const struct bench_repeat repeats[] = {
        repeat_of(200, 101, 100, 96),
        repeat_of(180, 102, 100, 72),
        repeat_of(250, 100, 100, 160),
    };
    struct bench_comparison comparison;
    assert_true(bench_compare(repeats, 3, 0.1, 8, &comparison));
    assert_true(near(comparison.demand, 80));
    assert_true(near(comparison.recovered.median, 0.99));
    assert_true(near(comparison.recovered.min, 78.0 / 80) && near(comparison.recovered.max, 1));
    assert_true(near(comparison.idle_points.max, 60));
    assert_true(near(comparison.relative.max, 1));
    assert_true(near(comparison.supply_ratio.median, 1.2));
    assert_true(near(comparison.predicted.min, 0.9) && near(comparison.predicted.max, 1));
    assert_true(near(comparison.prediction_error.max, 100 * (100 / 102.0 - 0.9)));
    assert_int_equal(comparison.arms[ARM_SLUICE].steps, 20);
    assert_true(near(comparison.arms[ARM_SYNCHRONOUS].step_mean_ms.min, 180));
}

TEST(test_comparison_without_supply)
{
    const struct bench_repeat repeat = repeat_of(200, 101, 100, NAN);
    struct bench_comparison comparison;
    assert_true(bench_compare(&repeat, 1, 0.1, 8, &comparison));
    assert_true(isnan(comparison.predicted.median) && isnan(comparison.prediction_error.max));
    assert_true(near(comparison.recovered.median, 0.99));
}

TEST(test_spread)
{
    double odd[] = {3, 1, 2};
    double even[] = {4, 1, 3, 2};
    struct bench_spread spread = bench_spread_of(odd, 3);
    assert_true(spread.median == 2 && spread.min == 1 && spread.max == 3);
    spread = bench_spread_of(even, 4);
    assert_true(spread.median == 2.5 && spread.min == 1 && spread.max == 4);
    assert_true(isnan(bench_spread_of(odd, 0).median));
    double ranks[] = {5, 4, 3, 2, 1};
    assert_true(bench_percentile(ranks, 5, 0.5) == 3);
    assert_true(bench_percentile(ranks, 5, 0.99) == 5);
}

TEST(test_presets)
{
    for (int i = 0; preset_words[i] != NULL; i++) {
        const struct preset *preset = preset_get(i);
        assert_string_equal(preset->name, preset_words[i]);
        assert_true(preset->batch > 0 && preset->step_s > 0 && preset->au_passed < 1);
        assert_true(near(preset_step_s(preset, 0.25), 4 * preset->step_s));
    }
    assert_true(near(preset_get(0)->batch / preset_get(0)->step_s, 400 / 0.224));
}
