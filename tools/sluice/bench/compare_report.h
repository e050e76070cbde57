/* SPDX-License-Identifier: Apache-2.0 */
/* compare_report: the results of the arms, as text and as JSON (docs/cli-json.md). Pure. */
#ifndef TOOL_BENCH_COMPARE_REPORT_H
#define TOOL_BENCH_COMPARE_REPORT_H

#include "compare.h"
#include "environment.h"
#include "nvml.h"
#include "presets.h"
#include "stats.h"

struct bench_arms_figures {
    struct bench_setting setting;
    const struct accelerator *accelerator;
    const struct preset *preset; /* NULL: none was requested */
    const struct bench_arms_result *result;
    const struct bench_comparison *comparison;
    const struct bench_environment *environment;
    const struct nvml_summary *nvml; /* NULL: no GPU */
    uint64_t steps;                  /* counted in an arm, of a whole repeat */
    double peak_rss_mib;
    char verdict[800]; /* the limiting stage, and the cause */
    char advice[320];  /* how long steps wait for data, and the remedy */
};

/* Fills figures->verdict and advice from the rest. */
void bench_arms_judge(struct bench_arms_figures *figures);
void bench_arms_report_text(const struct bench_arms_figures *figures);
void bench_arms_report_json(const struct bench_arms_figures *figures, FILE *stream);

#endif
