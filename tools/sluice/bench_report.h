/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report: the figures of a benchmark, for people and as JSON (keys: docs/cli.md). Pure. */
#ifndef TOOL_BENCH_REPORT_H
#define TOOL_BENCH_REPORT_H

#include "bench_run.h"
#include "full_decode.h"

#include <stdint.h>

struct bench_figures {
    const char *dataset; /* its path */
    const struct bench_plan *plan;
    const struct bench_warm_up *warm_up;
    struct bench_result *result; /* its record of steps is sorted */
    const struct full_decode *yardstick;
    double peak_rss_mib; /* of the loader's phases */
    uint32_t processors;
};

void bench_report_text(const struct bench_figures *figures);
void bench_report_json(const struct bench_figures *figures);

#endif
