/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report: the results of a delivery, as text and as JSON (docs/cli-json.md). Pure. */
#ifndef TOOL_BENCH_REPORT_H
#define TOOL_BENCH_REPORT_H

#include "full_decode.h"
#include "rank_figures.h"
#include "run.h"
#include "stats.h"

#include <stdint.h>
#include <stdio.h>

struct bench_figures {
    struct bench_setting setting;
    const struct bench_warm_up *warm_up;
    const struct bench_result *result;
    const struct full_decode *yardstick;
    double peak_rss_mib; /* of the loader's phases */
};

void bench_report_text(const struct bench_figures *figures);
/* Fills the statistics that a rank sends to rank 0, without those of the machine. */
void bench_report_rank(const struct bench_figures *figures, struct rank_figures *share);
void bench_report_json(const struct bench_figures *figures, FILE *stream);

#endif
