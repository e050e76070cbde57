/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

bool bench_steps_begin(struct bench_steps *steps, size_t skip, size_t counted)
{
    assert(skip > 0);
    *steps = (struct bench_steps){.skip = skip, .capacity = skip + counted};
    steps->at = calloc(steps->capacity, sizeof *steps->at);
    return steps->at != NULL;
}

void bench_steps_free(struct bench_steps *steps)
{
    free(steps->at);
    *steps = (struct bench_steps){0};
}

void bench_steps_add(struct bench_steps *steps, const struct bench_step *step)
{
    assert(steps->count < steps->capacity);
    steps->at[steps->count++] = *step;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double ranked(const double *sorted, size_t count, double part)
{
    double rank = ceil(part * (double)count);
    return sorted[rank < 1 ? 0 : (size_t)rank - 1];
}

double bench_percentile(double *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, compare);
    return ranked(values, count, part);
}

/* Returns the part of [from, to] that [begin, end] covers. */
static double overlap(double from, double to, double begin, double end)
{
    return fmax(0, fmin(to, end) - fmax(from, begin));
}

/* Returns the time between two steps in which the host, or the stream, waited for data. The host
 * requests a batch before the stream can reach it, so the two intervals are in order and at most
 * touch. */
static double data_gap(const struct bench_step *before, const struct bench_step *step)
{
    double host = overlap(before->end, step->begin, step->asked, step->got);
    double from = fmax(step->reached, fmax(step->got, before->end));
    return host + overlap(from, step->begin, step->reached, step->begin);
}

static void percentiles_of_steps(const struct bench_steps *steps, double *scratch,
                                 struct bench_step_figures *figures)
{
    size_t count = 0;
    for (size_t i = steps->skip; i < steps->count; i++) {
        scratch[count++] = (steps->at[i].end - steps->at[i - 1].end) * 1e3;
    }
    figures->step_p50_ms = bench_percentile(scratch, count, 0.5);
    figures->step_p99_ms = ranked(scratch, count, 0.99);
}

static void percentiles_of_waits(const struct bench_steps *steps, double *scratch,
                                 struct bench_step_figures *figures)
{
    size_t count = 0;
    for (size_t i = steps->skip; i < steps->count; i++) {
        scratch[count++] = (steps->at[i].got - steps->at[i].asked) * 1e3;
    }
    figures->wait_p50_ms = bench_percentile(scratch, count, 0.5);
    figures->wait_p99_ms = ranked(scratch, count, 0.99);
    figures->wait_max_ms = ranked(scratch, count, 1);
}

struct bench_step_figures bench_steps_figures(const struct bench_steps *steps,
                                              const struct bench_step_setting *setting,
                                              double *scratch)
{
    struct bench_step_figures figures = {0,   NAN, NAN, NAN, NAN, NAN, NAN,
                                         NAN, NAN, NAN, NAN, NAN, NAN};
    if (steps->count <= steps->skip) {
        return figures;
    }
    const size_t counted = steps->count - steps->skip;
    const double window = steps->at[steps->count - 1].end - steps->at[steps->skip - 1].end;
    double computed = 0;
    double starved = 0;
    for (size_t i = steps->skip; i < steps->count; i++) {
        computed += steps->at[i].end - steps->at[i].begin;
        starved += data_gap(&steps->at[i - 1], &steps->at[i]);
    }
    figures.steps = counted;
    figures.window_s = window;
    figures.step_mean_ms = window / (double)counted * 1e3;
    figures.rows_per_s = (double)counted * setting->rows / window;
    figures.au_strict = (double)counted * setting->step_s / window;
    figures.au_mlperf = computed / window;
    figures.idle = 1 - (setting->measured ? figures.au_mlperf : figures.au_strict);
    figures.data_idle = starved / window;
    percentiles_of_steps(steps, scratch, &figures);
    percentiles_of_waits(steps, scratch, &figures);
    return figures;
}
