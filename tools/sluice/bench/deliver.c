/* SPDX-License-Identifier: Apache-2.0 */
/* sluice bench without steps: measures how fast batches come, and the cost of an image. */
#include "args.h"
#include "bench_report.h"
#include "bench_write.h"
#include "exit_code.h"
#include "full_decode.h"
#include "interrupt.h"
#include "memory_peak.h"
#include "rank_collect.h"
#include "report.h"
#include "run.h"
#include "units.h"

#include <math.h>

/* Runs rounds of the baseline before and after the measured run, to show drift. */
static void run_yardstick(struct full_decode *yardstick)
{
    for (int round = 0; round < 2 && !interrupt_pending(); round++) {
        full_decode_round(yardstick);
    }
}

static void write_json(const void *figures, FILE *stream)
{
    bench_report_json(figures, stream);
}

/* Default length with several ranks. */
static const double ranks_s = 5;

struct delivery {
    struct bench_job *job;
    struct gather *ranks; /* NULL: a single rank */
    struct bench_plan plan;
    struct bench_warm_up warm_up;
    struct full_decode yardstick;
    struct bench_result result;
    struct trace_capture capture;
};

static int show(const struct delivery *run, const struct bench_figures *figures)
{
    const struct bench_args *args = run->job->args;
    int code = TOOL_FINE;
    if (run->ranks != NULL) {
        code = rank_collect_show(run->ranks, figures, args->json);
    } else if (args->json) {
        bench_report_json(figures, stdout);
    } else {
        bench_report_text(figures);
    }
    const struct bench_files files = {.trace = args->trace, .report = args->report};
    const int written = bench_write_files(&files, write_json, figures, &run->capture, 1);
    return code != TOOL_FINE ? code : written;
}

static int measure(struct delivery *run)
{
    const struct bench_args *args = run->job->args;
    const bool trace = args->trace != NULL || args->report != NULL;
    if (trace && !trace_capture_begin()) {
        return TOOL_FAILED;
    }
    int code = bench_measure(&run->plan, &run->result);
    if (trace && !trace_capture_end(&run->capture, "delivery", NULL)) {
        return TOOL_FAILED;
    }
    return code;
}

static void choose_length(struct delivery *run)
{
    char text[32];
    if (run->ranks != NULL && run->plan.epochs == 0 && run->plan.seconds == 0) {
        run->plan.seconds = ranks_s; /* the same on all ranks, measured at the same time */
    }
    bench_choose_length(&run->plan, &run->warm_up);
    units_format_duration(text, sizeof text, bench_expected_s(&run->plan, &run->warm_up));
    report_note("warmed up; measuring for about %s", text);
}

static int measure_and_show(struct delivery *run)
{
    const double warm_up_mib = memory_peak_mib();
    memory_peak_reset();
    int code = measure(run);
    if (code != TOOL_FINE) {
        return code;
    }
    const double peak_mib = fmax(warm_up_mib, memory_peak_mib());
    if (run->ranks == NULL) {
        run_yardstick(&run->yardstick);
    }
    const struct bench_figures figures = {.setting = run->job->setting,
                                          .warm_up = &run->warm_up,
                                          .result = &run->result,
                                          .yardstick = &run->yardstick,
                                          .peak_rss_mib = peak_mib};
    code = show(run, &figures);
    return code == TOOL_FINE && run->result.interrupted ? TOOL_INTERRUPTED : code;
}

/* Measures at the same time as the other ranks, because they share disks, CPUs and caches. A
 * rank whose warm-up failed with `code` still meets the others, so that they need not wait for
 * it. */
static int measure_together(struct delivery *run, int code)
{
    const int met = gather_meet(run->ranks);
    code = code == TOOL_FINE ? met : code;
    if (code == TOOL_FINE) {
        code = measure_and_show(run);
    }
    if (code != TOOL_FINE && met == TOOL_FINE) {
        rank_collect_fail(run->ranks);
    }
    return code;
}

static int deliver(struct delivery *run)
{
    const struct bench_args *args = run->job->args;
    run->plan = (struct bench_plan){.source = run->job->source,
                                    .columns = run->job->setting.columns,
                                    .epochs = args->epochs,
                                    .seconds = args->seconds};
    const struct column_spec *picture = column_set_picture(run->job->setting.columns, 0);
    full_decode_begin(&run->yardstick, run->job->yardstick, picture == NULL ? NULL : picture->field,
                      run->job->samples);
    int code = bench_warm_up(&run->plan, &run->warm_up);
    if (code == TOOL_FINE) {
        choose_length(run);
        run->plan.source.options.quarantine_path = args->options.quarantine_path;
    }
    if (run->ranks != NULL && code != TOOL_INTERRUPTED) {
        return measure_together(run, code);
    }
    if (code != TOOL_FINE) {
        return code;
    }
    run_yardstick(&run->yardstick);
    return measure_and_show(run);
}

int bench_deliver(struct bench_job *job)
{
    struct delivery run = {.job = job};
    struct gather ranks;
    int code = TOOL_FINE;
    if (job->ranks.world_size > 1) {
        run.ranks = &ranks;
        code = gather_open(&ranks, &job->ranks, job->args->rank_files, job->args->rank_wait_s);
    }
    if (code == TOOL_FINE) {
        code = deliver(&run);
    }
    if (run.ranks != NULL) {
        gather_close(run.ranks);
    }
    trace_capture_free(&run.capture);
    return code;
}
