/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const struct bench_spread none = {NAN, NAN, NAN};

struct bench_spread bench_spread_of(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) {
            return none;
        }
    }
    if (count == 0) {
        return none;
    }
    const double most = bench_percentile(values, count, 1); /* sorts */
    const double high = values[count / 2];
    const double low = count % 2 == 1 ? high : values[count / 2 - 1];
    const struct bench_spread spread = {.median = (low + high) / 2, .min = values[0], .max = most};
    return spread;
}

/* Computes the value of one repeat in a comparison. */
typedef double (*measure)(const struct bench_repeat *repeat, double demand);

static double idle_points(const struct bench_repeat *repeat, double demand)
{
    (void)demand;
    return 100 * (repeat->arms[ARM_SYNCHRONOUS].idle - repeat->arms[ARM_SLUICE].idle);
}

static double relative(const struct bench_repeat *repeat, double demand)
{
    (void)demand;
    return 1 - repeat->arms[ARM_SLUICE].idle / repeat->arms[ARM_SYNCHRONOUS].idle;
}

static double recovered(const struct bench_repeat *repeat, double demand)
{
    (void)demand;
    const double base = repeat->arms[ARM_SYNCHRONOUS].step_mean_ms;
    return (base - repeat->arms[ARM_SLUICE].step_mean_ms) /
           (base - repeat->arms[ARM_RESIDENT].step_mean_ms);
}

static double supply(const struct bench_repeat *repeat, double demand)
{
    (void)demand;
    return repeat->supply;
}

static double supply_ratio(const struct bench_repeat *repeat, double demand)
{
    return repeat->supply / demand;
}

/* fmin would hide a NaN. */
static double predicted(const struct bench_repeat *repeat, double demand)
{
    const double ratio = repeat->supply / demand;
    return ratio > 1 ? 1 : ratio;
}

static double prediction_error(const struct bench_repeat *repeat, double demand)
{
    return 100 * (repeat->arms[ARM_SLUICE].au_strict - predicted(repeat, demand));
}

struct table {
    const struct bench_repeat *repeats;
    uint64_t count;
    double demand;
    double *values;
};

static struct bench_spread spread_of_measure(const struct table *table, measure function)
{
    for (uint64_t i = 0; i < table->count; i++) {
        table->values[i] = function(&table->repeats[i], table->demand);
    }
    return bench_spread_of(table->values, table->count);
}

static struct bench_spread spread_of_field(const struct table *table, int arm, size_t offset)
{
    for (uint64_t i = 0; i < table->count; i++) {
        const char *figures = (const char *)&table->repeats[i].arms[arm];
        table->values[i] = *(const double *)(const void *)(figures + offset);
    }
    return bench_spread_of(table->values, table->count);
}

static struct bench_arm_spreads spreads_of_arm(const struct table *table, int arm)
{
#define FIELD(name) .name = spread_of_field(table, arm, offsetof(struct bench_step_figures, name))
    return (struct bench_arm_spreads){.steps =
                                          table->count > 0 ? table->repeats[0].arms[arm].steps : 0,
                                      FIELD(step_mean_ms),
                                      FIELD(step_p50_ms),
                                      FIELD(step_p99_ms),
                                      FIELD(rows_per_s),
                                      FIELD(au_strict),
                                      FIELD(au_mlperf),
                                      FIELD(idle),
                                      FIELD(data_idle),
                                      FIELD(wait_p50_ms),
                                      FIELD(wait_p99_ms),
                                      FIELD(wait_max_ms)};
#undef FIELD
}

bool bench_compare(const struct bench_repeat *repeats, uint64_t count, double step_s, uint32_t rows,
                   struct bench_comparison *comparison)
{
    struct table table = {.repeats = repeats, .count = count, .demand = rows / step_s};
    table.values = calloc(count + 1, sizeof *table.values);
    if (table.values == NULL) {
        return false;
    }
    comparison->demand = table.demand;
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        comparison->arms[arm] = spreads_of_arm(&table, arm);
    }
    comparison->idle_points = spread_of_measure(&table, idle_points);
    comparison->relative = spread_of_measure(&table, relative);
    comparison->recovered = spread_of_measure(&table, recovered);
    comparison->supply = spread_of_measure(&table, supply);
    comparison->supply_ratio = spread_of_measure(&table, supply_ratio);
    comparison->predicted = spread_of_measure(&table, predicted);
    comparison->prediction_error = spread_of_measure(&table, prediction_error);
    free(table.values);
    return true;
}
