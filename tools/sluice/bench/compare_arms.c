/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the arms one after the other, repeat by repeat, and keeps the times of their steps. Main
 * thread.
 */
#include "compare_arms.h"

#include "bottleneck.h"
#include "clock.h"
#include "exit_code.h"
#include "interrupt.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>

/* The synchronous arm holds both: one all the time, and the one it works with. */
enum { SYNCHRONOUS_SLOTS = 2 };
/* Steps left out of the arms that have no pipeline to fill. */
enum { SKIP_PLAIN = 2 };

const char *const bench_arm_names[BENCH_ARMS] = {"synchronous", "sluice", "resident"};

/* One arm of one repeat. */
struct arm {
    const struct bench_arms_plan *plan;
    struct bench_arms_result *result;
    struct bench_steps steps;
    uint64_t total;
    struct progress *progress;
    double past_s, expected_s; /* of all arms: before this one, and of this one, as expected */
};

static const uint32_t default_slots = 4, default_device_slots = 3;

/* Returns the steps after which the batches made before the first step are used up, and the
 * loader is in balance: two laps of its slots. */
uint64_t bench_arms_skip(const sluice_loader_options *options, enum bench_arm arm)
{
    if (arm != ARM_SLUICE) {
        return SKIP_PLAIN;
    }
    uint32_t host = options->prefetch > 0 ? options->prefetch : default_slots;
    uint32_t device = options->device_slots > 0 ? options->device_slots : default_device_slots;
    return 2 * ((uint64_t)host + device);
}

/* ---- the arms ---- */

static void show_progress(const struct arm *arm, uint64_t step)
{
    const struct bench_arms_plan *plan = arm->plan;
    const double all = (double)plan->repeats * bench_pace_repeat_s(&plan->pace, plan->steps);
    const double done = arm->past_s + arm->expected_s * (double)step / (double)arm->total;
    progress_update(arm->progress, (uint64_t)(fmin(done, all) * 1e3), (uint64_t)(all * 1e3));
}

/* Runs a step. `*batch` is the previous one, released when the next is requested: with all slots
 * held, that is when the next one's decoding begins. */
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
        show_progress(arm, i);
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
    struct bench_source source = *arm->plan->source;
    source.options.quarantine_path = arm->plan->quarantine;
    int code = bench_feed_open(&source, &feed);
    for (uint64_t i = 0; i < arm->total && code == TOOL_FINE; i++) {
        if (i == arm->steps.skip) {
            bench_loader_stats(feed.loader, &before, &stages_before);
            from = clock_seconds();
        }
        code = step_sluice(arm, &feed);
        show_progress(arm, i);
    }
    if ((code == TOOL_FINE || code == TOOL_INTERRUPTED) && from > 0) {
        bench_loader_stats(feed.loader, &after, &stages_after);
        arm->result->seconds += clock_seconds() - from;
        bottleneck_add_stats(&arm->result->stats, &before, &after);
        bottleneck_add_stages(&arm->result->stages, &stages_before, &stages_after);
    }
    if (feed.loader != NULL) { /* after a failure, too: batches may be in use there */
        const int finished = accelerator->ops->finish(accelerator);
        code = code == TOOL_FINE ? finished : code;
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
        show_progress(arm, i);
    }
    if (code != TOOL_FINE && code != TOOL_INTERRUPTED) {
        return code;
    }
    const int finished = accelerator->ops->finish(accelerator);
    return code == TOOL_FINE ? finished : code;
}

/* ---- repeats ---- */

static int out_of_memory(void)
{
    report("out of memory for the record of the steps; try fewer --steps");
    return TOOL_FAILED;
}

static int compute_figures(const struct arm *arm, struct bench_step_figures *figures)
{
    const struct accelerator *accelerator = arm->plan->accelerator;
    double *scratch = calloc(arm->steps.count + 1, sizeof *scratch);
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

/* Keeps the steps and computes their results. */
static int keep_steps(struct arm *arm, enum bench_arm which, struct bench_step_figures *figures)
{
    struct bench_steps *last = &arm->result->steps[which];
    const int code = compute_figures(arm, figures);
    if (code == TOOL_FINE) {
        bench_steps_free(last);
        *last = arm->steps;
        arm->steps = (struct bench_steps){0};
    }
    return code;
}

static int run_on_record(struct arm *arm, enum bench_arm which, struct bench_step_figures *figures)
{
    static int (*const runs[BENCH_ARMS])(struct arm *) = {run_synchronous, run_sluice,
                                                          run_resident};
    struct bench_arms_result *result = arm->result;
    const struct bench_arms_plan *plan = arm->plan;
    const bool trace = plan->trace && result->captures[which].name == NULL;
    int code = !trace || trace_capture_begin() ? TOOL_FINE : TOOL_FAILED;
    if (code == TOOL_FINE) {
        code = plan->accelerator->ops->begin(plan->accelerator, &arm->steps);
    }
    if (code == TOOL_FINE) {
        code = runs[which](arm);
    }
    if (trace &&
        !trace_capture_end(&result->captures[which], bench_arm_names[which], &arm->steps)) {
        code = TOOL_FAILED;
    }
    /* If the first repeat is interrupted, its measured part counts. */
    const bool some = code == TOOL_INTERRUPTED && result->done == 0;
    if (code == TOOL_FINE || some) {
        const int kept = keep_steps(arm, which, figures);
        code = kept == TOOL_FINE ? code : kept;
        result->part = result->part || (some && kept == TOOL_FINE && figures->steps > 0);
    }
    return code;
}

static int run_arm(const struct bench_arms_plan *plan, enum bench_arm which,
                   struct bench_arms_result *result, struct arm *arm)
{
    const uint64_t skip = bench_arms_skip(&plan->source->options, which);
    if (!bench_steps_begin(&arm->steps, (size_t)skip, (size_t)plan->steps)) {
        return out_of_memory();
    }
    arm->total = skip + plan->steps;
    arm->expected_s = bench_pace_arm_s(&plan->pace, which, plan->steps);
    const int code = run_on_record(arm, which, &result->repeats[result->done].arms[which]);
    bench_steps_free(&arm->steps);
    arm->past_s += arm->expected_s;
    return code;
}

static int run_repeat(struct arm *arm)
{
    const struct bench_arms_plan *plan = arm->plan;
    struct bench_arms_result *result = arm->result;
    double before = NAN;
    double after = NAN;
    int code = TOOL_FINE;
    for (uint64_t i = 0; i < BENCH_ARMS && code == TOOL_FINE; i++) {
        const enum bench_arm which = (enum bench_arm)((i + result->done) % BENCH_ARMS);
        const bool supply = plan->supply && which == ARM_SLUICE;
        code = supply ? bench_supply(plan->source, plan->steps / 2, &before) : TOOL_FINE;
        if (code == TOOL_FINE) {
            code = run_arm(plan, which, result, arm);
        }
        /* A whole arm before the interrupted one counts, too. */
        result->part = result->part || (code == TOOL_FINE && result->done == 0);
        if (supply && code == TOOL_FINE) {
            code = bench_supply(plan->source, plan->steps / 2, &after);
        }
    }
    result->repeats[result->done].supply = (before + after) / 2;
    return code;
}

/* Returns whether the requested time has space for another repeat, give or take a tenth. */
static bool has_time(const struct bench_arms_plan *plan, const struct bench_arms_result *result)
{
    const double past = clock_seconds() - result->from;
    return plan->limit_s == 0 || result->done == 0 ||
           past * (1 + 1 / (double)result->done) <= 1.1 * plan->limit_s;
}

static bool begin_repeats(const struct bench_arms_plan *plan, struct bench_arms_result *result)
{
    *result = (struct bench_arms_result){.from = clock_seconds()};
    result->repeats = calloc(plan->repeats, sizeof *result->repeats);
    if (result->repeats == NULL) {
        return false;
    }
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        const struct bench_steps none = {0};
        const struct bench_step_setting setting = {.step_s = plan->accelerator->step_s};
        result->repeats[0].arms[arm] = bench_steps_figures(&none, &setting, NULL);
    }
    return true;
}

int bench_arms_run(const struct bench_arms_plan *plan, struct bench_arms_result *result)
{
    struct progress progress;
    struct arm arm = {.plan = plan, .result = result, .progress = &progress};
    if (!begin_repeats(plan, result)) {
        return out_of_memory();
    }
    progress_begin(&progress, NULL);
    int code = TOOL_FINE;
    while (result->done < plan->repeats && code == TOOL_FINE && has_time(plan, result)) {
        code = run_repeat(&arm);
        result->done += code == TOOL_FINE;
    }
    progress_end(&progress);
    result->to = clock_seconds();
    result->part = result->part && result->done == 0;
    result->interrupted = code == TOOL_INTERRUPTED;
    if (result->interrupted && bench_arms_shown(result) == 0) {
        report("interrupted before a step was counted: nothing was measured");
    } else if (result->interrupted) {
        code = TOOL_FINE;
    }
    return code;
}

uint64_t bench_arms_shown(const struct bench_arms_result *result)
{
    return result->done > 0 ? result->done : result->part;
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
    const uint64_t skip = bench_arms_skip(&source->options, ARM_SLUICE);
    struct bench_feed feed;
    double from = 0;
    uint64_t rows = 0;
    uint64_t count = 0;
    int code = bench_feed_open(source, &feed);
    while (code == TOOL_FINE &&
           (count < skip + batches || clock_seconds() < from + bench_supply_least_s)) {
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
