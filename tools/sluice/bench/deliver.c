/* SPDX-License-Identifier: Apache-2.0 */
/* sluice bench without steps: how fast batches come, and what an image costs. */
#include "args.h"
#include "bench_report.h"
#include "bench_write.h"
#include "exit_code.h"
#include "full_decode.h"
#include "interrupt.h"
#include "memory_peak.h"
#include "report.h"
#include "run.h"
#include "units.h"

#include <math.h>

/* Rounds of the yardstick stand on both sides of the measured run, so that drift shows. */
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

static int show(const struct bench_job *job, const struct bench_figures *figures,
                const struct trace_capture *capture)
{
    if (job->args->json) {
        bench_report_json(figures, stdout);
    } else {
        bench_report_text(figures);
    }
    const struct bench_files files = {.trace = job->args->trace, .report = job->args->report};
    return bench_write_files(&files, write_json, figures, capture, 1);
}

static int measure(const struct bench_job *job, struct bench_plan *plan,
                   struct bench_result *result, struct trace_capture *capture)
{
    const bool trace = job->args->trace != NULL || job->args->report != NULL;
    if (trace && !trace_capture_begin()) {
        return TOOL_FAILED;
    }
    int code = bench_measure(plan, result);
    if (trace && !trace_capture_end(capture, "delivery", NULL)) {
        return TOOL_FAILED;
    }
    return code;
}

static void say_how_long(const struct bench_plan *plan, const struct bench_warm_up *warm_up)
{
    char text[32];
    units_format_duration(text, sizeof text, bench_expected_s(plan, warm_up));
    report_note("warmed up; measuring for about %s", text);
}

int bench_deliver(struct bench_job *job)
{
    struct bench_warm_up warm_up;
    struct full_decode yardstick;
    struct bench_result result;
    struct trace_capture capture = {0};
    struct bench_plan plan = {
        .source = job->source, .epochs = job->args->epochs, .seconds = job->args->seconds};
    const struct column_spec *picture = column_set_picture(job->setting.columns, 0);
    full_decode_begin(&yardstick, job->yardstick, picture == NULL ? NULL : picture->field,
                      job->samples);
    int code = bench_warm_up(&plan, &warm_up);
    if (code != TOOL_FINE) {
        return code;
    }
    const double warm_up_mib = memory_peak_mib();
    bench_choose_length(&plan, &warm_up);
    plan.source.options.quarantine_path = job->args->quarantine;
    say_how_long(&plan, &warm_up);
    run_yardstick(&yardstick);
    memory_peak_reset();
    code = measure(job, &plan, &result, &capture);
    if (code == TOOL_FINE) {
        const double peak_mib = fmax(warm_up_mib, memory_peak_mib());
        run_yardstick(&yardstick);
        const struct bench_figures figures = {.setting = job->setting,
                                              .warm_up = &warm_up,
                                              .result = &result,
                                              .yardstick = &yardstick,
                                              .peak_rss_mib = peak_mib};
        code = show(job, &figures, &capture);
        code = code == TOOL_FINE && result.interrupted ? TOOL_INTERRUPTED : code;
    }
    trace_capture_free(&capture);
    return code;
}
