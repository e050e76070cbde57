/* SPDX-License-Identifier: Apache-2.0 */
#include "arms.h"

#include "bottleneck.h"
#include "clock.h"
#include "exit_code.h"
#include "interrupt.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>

/* The synchronous arm holds both: one all the time, and the one that it works with. */
enum { SYNCHRONOUS_SLOTS = 2 };
/* Left out of the arms without a pipeline to fill. */
enum { SKIP_PLAIN = 2 };

const char *const bench_arm_names[BENCH_ARMS] = {"synchronous", "sluice", "resident"};

/* One arm of one repeat. */
struct arm {
    const struct bench_arms_plan *plan;
    struct bench_arms_result *result;
    struct bench_steps steps;
    uint64_t total;
};

/* A supply is measured for so long at least. */
static const double supply_s = 1;

static const uint32_t default_slots = 4, default_device_slots = 3;

/* What is ready before the first step is used up, and the loader in balance, after two laps of its
 * slots. */
static size_t skip_of(const sluice_loader_options *options)
{
    uint32_t host = options->prefetch > 0 ? options->prefetch : default_slots;
    uint32_t device = options->device_slots > 0 ? options->device_slots : default_device_slots;
    return 2 * (size_t)(host + device);
}

/* ---- the arms ---- */

/* `*batch` is the one before, which is given back as the next is asked for: with all slots held,
 * that is when its making begins. */
static int step_synchronously(struct arm *arm, struct bench_feed *feed, sluice_batch **batch)
{
    struct accelerator *accelerator = arm->plan->accelerator;
    const double asked = clock_seconds();
    sluice_batch_release(*batch);
    *batch = NULL;
    int code = bench_feed_next(feed, batch);
    if (code != TOOL_FINE) {
        return code;
    }
    code = accelerator->ops->copy(accelerator, *batch);
    if (code == TOOL_FINE) {
        code = accelerator->ops->step(accelerator, NULL, asked, clock_seconds());
    }
    return code == TOOL_FINE ? accelerator->ops->finish(accelerator) : code;
}

static int run_synchronous(struct arm *arm)
{
    struct bench_source source = *arm->plan->source;
    source.options.device = "host";
    source.options.prefetch = SYNCHRONOUS_SLOTS;
    struct bench_feed feed;
    sluice_batch *held[SYNCHRONOUS_SLOTS] = {NULL};
    int code = bench_feed_open(&source, &feed);
    for (uint32_t i = 0; i < SYNCHRONOUS_SLOTS && code == TOOL_FINE; i++) {
        code = bench_feed_next(&feed, &held[i]);
    }
    for (uint64_t i = 0; i < arm->total && code == TOOL_FINE; i++) {
        code = step_synchronously(arm, &feed, &held[0]);
    }
    for (uint32_t i = 0; i < SYNCHRONOUS_SLOTS; i++) {
        sluice_batch_release(held[i]);
    }
    bench_feed_close(&feed);
    return code;
}

static int step_sluice(struct arm *arm, struct bench_feed *feed)
{
    struct accelerator *accelerator = arm->plan->accelerator;
    sluice_batch *batch = NULL;
    const double asked = clock_seconds();
    int code = bench_feed_next(feed, &batch);
    return code != TOOL_FINE ? code
                             : accelerator->ops->step(accelerator, batch, asked, clock_seconds());
}

static int run_sluice(struct arm *arm)
{
    struct accelerator *accelerator = arm->plan->accelerator;
    struct bench_feed feed;
    sluice_loader_stats before = {.struct_size = sizeof before};
    sluice_loader_stats after;
    struct bottleneck_stages stages_before = {0};
    struct bottleneck_stages stages_after;
    double from = 0;
    int code = bench_feed_open(arm->plan->source, &feed);
    for (uint64_t i = 0; i < arm->total && code == TOOL_FINE; i++) {
        if (i == arm->steps.skip) {
            bench_loader_stats(feed.loader, &before, &stages_before);
            from = clock_seconds();
        }
        code = step_sluice(arm, &feed);
    }
    if (code == TOOL_FINE) {
        bench_loader_stats(feed.loader, &after, &stages_after);
        arm->result->seconds += clock_seconds() - from;
        bottleneck_add_stats(&arm->result->stats, &before, &after);
        bottleneck_add_stages(&arm->result->stages, &stages_before, &stages_after);
        code = accelerator->ops->finish(accelerator);
    } else if (feed.loader != NULL) {
        (void)accelerator->ops->finish(accelerator); /* batches may be in use there */
    }
    bench_feed_close(&feed);
    return code;
}

static int run_resident(struct arm *arm)
{
    struct accelerator *accelerator = arm->plan->accelerator;
    int code = TOOL_FINE;
    for (uint64_t i = 0; i < arm->total && code == TOOL_FINE; i++) {
        const double now = clock_seconds();
        code = interrupt_pending() ? TOOL_INTERRUPTED
                                   : accelerator->ops->step(accelerator, NULL, now, now);
    }
    return code == TOOL_FINE ? accelerator->ops->finish(accelerator) : code;
}

/* ---- repeats ---- */

static int out_of_memory(void)
{
    report("no memory for the record of the steps; try fewer --steps");
    return TOOL_FAILED;
}

static int compute_figures(const struct arm *arm, struct bench_step_figures *figures)
{
    const struct accelerator *accelerator = arm->plan->accelerator;
    double *scratch = calloc(arm->steps.count, sizeof *scratch);
    if (scratch == NULL) {
        return out_of_memory();
    }
    const struct bench_step_setting setting = {.step_s = accelerator->step_s,
                                               .measured = accelerator->real,
                                               .rows = arm->plan->source->options.batch_size};
    *figures = bench_steps_figures(&arm->steps, &setting, scratch);
    free(scratch);
    return TOOL_FINE;
}

static int run_arm(const struct bench_arms_plan *plan, enum bench_arm which,
                   struct bench_arms_result *result, struct bench_step_figures *figures)
{
    static int (*const runs[BENCH_ARMS])(struct arm *) = {run_synchronous, run_sluice,
                                                          run_resident};
    struct arm arm = {.plan = plan, .result = result};
    const size_t skip = which == ARM_SLUICE ? skip_of(&plan->source->options) : SKIP_PLAIN;
    if (!bench_steps_begin(&arm.steps, skip, plan->steps)) {
        return out_of_memory();
    }
    arm.total = skip + plan->steps;
    const bool trace = plan->trace && result->captures[which].name == NULL;
    int code = !trace || trace_capture_begin() ? TOOL_FINE : TOOL_FAILED;
    if (code == TOOL_FINE) {
        code = plan->accelerator->ops->begin(plan->accelerator, &arm.steps);
    }
    if (code == TOOL_FINE) {
        code = runs[which](&arm);
    }
    if (trace && !trace_capture_end(&result->captures[which], bench_arm_names[which], &arm.steps)) {
        code = TOOL_FAILED;
    }
    if (code == TOOL_FINE) {
        code = compute_figures(&arm, figures);
    }
    if (code == TOOL_FINE) {
        bench_steps_free(&result->steps[which]);
        result->steps[which] = arm.steps;
    } else {
        bench_steps_free(&arm.steps);
    }
    return code;
}

static int run_repeat(const struct bench_arms_plan *plan, struct bench_arms_result *result)
{
    struct bench_repeat *repeat = &result->repeats[result->done];
    double before = NAN;
    double after = NAN;
    int code = TOOL_FINE;
    for (uint64_t i = 0; i < BENCH_ARMS && code == TOOL_FINE; i++) {
        const enum bench_arm which = (enum bench_arm)((i + result->done) % BENCH_ARMS);
        const bool supply = plan->supply && which == ARM_SLUICE;
        code = supply ? bench_supply(plan->source, plan->steps / 2, &before) : TOOL_FINE;
        if (code == TOOL_FINE) {
            code = run_arm(plan, which, result, &repeat->arms[which]);
        }
        if (supply && code == TOOL_FINE) {
            code = bench_supply(plan->source, plan->steps / 2, &after);
        }
    }
    repeat->supply = (before + after) / 2;
    return code;
}

int bench_arms_run(const struct bench_arms_plan *plan, struct bench_arms_result *result)
{
    *result = (struct bench_arms_result){.from = clock_seconds()};
    result->repeats = calloc(plan->repeats, sizeof *result->repeats);
    if (result->repeats == NULL) {
        return out_of_memory();
    }
    int code = TOOL_FINE;
    while (result->done < plan->repeats && code == TOOL_FINE) {
        code = run_repeat(plan, result);
        result->done += code == TOOL_FINE;
    }
    result->to = clock_seconds();
    result->interrupted = code == TOOL_INTERRUPTED;
    if (result->interrupted && result->done == 0) {
        report("interrupted before the first repeat was whole: nothing was measured");
    } else if (result->interrupted) {
        code = TOOL_FINE;
    }
    return code;
}

void bench_arms_free(struct bench_arms_result *result)
{
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        bench_steps_free(&result->steps[arm]);
        trace_capture_free(&result->captures[arm]);
    }
    free(result->repeats);
    result->repeats = NULL;
}

/* ---- supply ---- */

int bench_supply(const struct bench_source *source, uint64_t batches, double *rows_per_s)
{
    const uint64_t skip = skip_of(&source->options);
    struct bench_feed feed;
    double from = 0;
    uint64_t rows = 0;
    uint64_t count = 0;
    int code = bench_feed_open(source, &feed);
    while (code == TOOL_FINE && (count < skip + batches || clock_seconds() < from + supply_s)) {
        sluice_batch *batch = NULL;
        code = bench_feed_next(&feed, &batch);
        if (code == TOOL_FINE) {
            rows += count >= skip ? sluice_batch_rows(batch) : 0;
            sluice_batch_release(batch);
            count++;
            from = count == skip ? clock_seconds() : from;
        }
    }
    *rows_per_s = (double)rows / (clock_seconds() - from);
    bench_feed_close(&feed);
    return code;
}
