/* SPDX-License-Identifier: Apache-2.0 */
/* sluice bench with steps: measures the accelerator's work, fed in three ways. */
#include "args.h"
#include "bench_write.h"
#include "compare_arms.h"
#include "compare_report.h"
#include "emulated.h"
#include "exit_code.h"
#include "gpu_driver.h"
#include "gpu_step.h"
#include "memory_peak.h"
#include "nvml.h"
#include "presets.h"
#include "report.h"
#include "run.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Default length of an arm in a repeat, when fed without waiting. */
static const double arm_s = 3;
static const uint64_t steps_least = 30;
static const uint64_t steps_most = 10000000;
static const double nvml_interval_s = 0.1;
/* Minimum batches for choosing a step by its ratio to the supply. */
static const uint64_t supply_batches = 20;

struct accelerated {
    struct bench_job *job;
    struct accelerator *accelerator;
    struct nvml_monitor *nvml; /* NULL: no GPU */
    struct bench_arms_plan plan;
    struct bench_arms_result result;
};

static bool is_gpu(const struct bench_job *job)
{
    const char *device = job->source.options.device;
    return device != NULL && strncmp(device, "cuda", strlen("cuda")) == 0;
}

static int choose_step(struct bench_job *job, double *step_s)
{
    const struct bench_args *args = job->args;
    *step_s = args->preset >= 0
                  ? preset_step_s(preset_get(args->preset), args->scale > 0 ? args->scale : 1)
                  : args->step_s;
    if (args->supply_ratio == 0) {
        return TOOL_FINE;
    }
    double supply = NAN;
    int code = bench_supply(&job->source, supply_batches, &supply);
    *step_s = args->supply_ratio * job->source.options.batch_size / supply;
    return code;
}

/* Chooses the steps of an arm in a repeat, unless --seconds sets them. */
static uint64_t choose_steps(const struct bench_job *job, double step_s)
{
    const struct bench_args *args = job->args;
    const double epoch = floor((double)job->samples / job->source.options.batch_size);
    double steps = fmax((double)steps_least, ceil(arm_s / step_s));
    if (args->steps > 0) {
        return args->steps;
    }
    if (args->epochs > 0) {
        steps = (double)args->epochs * epoch;
    }
    return (uint64_t)fmin((double)steps_most, fmax(1, steps));
}

static int open_accelerator(struct accelerated *run, double step_s)
{
    int code = TOOL_FINE;
    if (!is_gpu(run->job)) {
        run->accelerator = emulated_open(step_s, (uint32_t)run->job->args->ahead);
    } else {
        run->accelerator = gpu_step_open(run->job->source.options.device, step_s,
                                         (uint32_t)run->job->args->ahead, &code);
    }
    if (run->accelerator == NULL && code == TOOL_FINE) {
        report("out of memory for the accelerator");
        code = TOOL_FAILED;
    }
    return code;
}

static void watch_gpu(struct accelerated *run)
{
    char name[96];
    char address[32];
    const char *colon = strchr(run->job->source.options.device, ':');
    const unsigned ordinal = colon == NULL ? 0 : (unsigned)strtoul(colon + 1, NULL, 10);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"); // NOLINT(concurrency-mt-unsafe)
    gpu_driver_address(address, sizeof address, ordinal);
    nvml_device_name_at(name, sizeof name, visible, ordinal, address);
    run->nvml = nvml_start(name, nvml_interval_s);
}

static void write_json(const void *figures, FILE *stream)
{
    bench_arms_report_json(figures, stream);
}

static int show(struct accelerated *run, struct bench_arms_figures *figures)
{
    const struct bench_args *args = run->job->args;
    bench_arms_judge(figures);
    if (args->json) {
        bench_arms_report_json(figures, stdout);
    } else {
        bench_arms_report_text(figures);
    }
    const struct bench_files files = {.trace = args->trace, .report = args->report};
    return bench_write_files(&files, write_json, figures, run->result.captures, BENCH_ARMS);
}

static int conclude(struct accelerated *run)
{
    const struct bench_arms_result *result = &run->result;
    struct bench_comparison comparison;
    struct bench_environment environment;
    struct nvml_summary nvml;
    if (!bench_compare(result->repeats, bench_arms_shown(result), run->accelerator->step_s,
                       run->job->source.options.batch_size, &comparison)) {
        report("out of memory for the comparison");
        return TOOL_FAILED;
    }
    bench_environment_read(&environment);
    nvml_stop(run->nvml);
    nvml_summarise(run->nvml, result->from, result->to, &nvml);
    struct bench_arms_figures figures = {
        .setting = run->job->setting,
        .accelerator = run->accelerator,
        .preset = run->job->args->preset >= 0 ? preset_get(run->job->args->preset) : NULL,
        .result = result,
        .comparison = &comparison,
        .environment = &environment,
        .nvml = is_gpu(run->job) ? &nvml : NULL,
        .steps = run->plan.steps,
        .peak_rss_mib = memory_peak_mib(),
    };
    const int code = show(run, &figures);
    return code == TOOL_FINE && result->interrupted ? TOOL_INTERRUPTED : code;
}

static void plan_arms(struct accelerated *run, const struct bench_warm_up *warm_up)
{
    const struct bench_args *args = run->job->args;
    const bool supply = args->supply || args->supply_ratio > 0;
    struct bench_pace pace = {
        .step_s = run->accelerator->step_s, .batch_s = bench_batch_s(warm_up), .supply = supply};
    for (int arm = 0; arm < BENCH_ARMS; arm++) {
        pace.skip[arm] = bench_arms_skip(&run->job->source.options, (enum bench_arm)arm);
    }
    struct bench_length length = {.repeats = args->repeats};
    if (args->seconds > 0) {
        length = bench_pace_fit(&pace, args->seconds, args->repeats);
    } else {
        length.steps = choose_steps(run->job, pace.step_s);
    }
    run->plan = (struct bench_arms_plan){
        .source = &run->job->source,
        .accelerator = run->accelerator,
        .steps = length.steps,
        .repeats = length.repeats,
        .supply = supply,
        .trace = args->trace != NULL || args->report != NULL,
        .quarantine = args->options.quarantine_path,
        .pace = pace,
        .limit_s = args->seconds,
    };
}

static void say_how_long(const struct bench_arms_plan *plan)
{
    char text[32];
    const double all_s = (double)plan->repeats * bench_pace_repeat_s(&plan->pace, plan->steps);
    const bool shorter = plan->limit_s == 0 && all_s > 5;
    units_format_duration(text, sizeof text, all_s);
    report_note("about %s: %" PRIu64 " repeat%s of three arms, %" PRIu64
                " steps each; %sCtrl-C ends it and shows the results so far",
                text, plan->repeats, plan->repeats == 1 ? "" : "s", plan->steps,
                shorter ? "--seconds 5s makes it shorter, " : "");
}

static int run_arms(struct accelerated *run)
{
    say_how_long(&run->plan);
    int code = bench_arms_run(&run->plan, &run->result);
    if (code == TOOL_FINE) {
        code = conclude(run);
    }
    bench_arms_free(&run->result);
    return code;
}

int bench_accelerate(struct bench_job *job)
{
    struct accelerated run = {.job = job};
    struct bench_plan plan = {.source = job->source, .columns = job->setting.columns};
    struct bench_warm_up warm_up;
    double step_s = 0;
    int code = bench_warm_up(&plan, &warm_up);
    if (code == TOOL_FINE) {
        code = choose_step(job, &step_s);
    }
    if (code == TOOL_FINE) {
        code = open_accelerator(&run, step_s);
    }
    if (code == TOOL_FINE && is_gpu(job)) {
        watch_gpu(&run);
    }
    if (code == TOOL_FINE) {
        plan_arms(&run, &warm_up);
        code = run_arms(&run);
    }
    nvml_free(run.nvml);
    if (run.accelerator != NULL) {
        run.accelerator->ops->close(run.accelerator);
    }
    return code;
}
