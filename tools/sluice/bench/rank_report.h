/* SPDX-License-Identifier: Apache-2.0 */
/* rank_report: the single table of results of several ranks. Pure. */
#ifndef TOOL_BENCH_RANK_REPORT_H
#define TOOL_BENCH_RANK_REPORT_H

#include "rank_figures.h"
#include "stats.h"

#include <stdint.h>
#include <stdio.h>

struct rank_report {
    struct bench_setting setting;
    const sluice_loader_stats *stats; /* rank 0's */
    const struct rank_figures *ranks; /* none failed */
    uint32_t count;                   /* >= 1 */
};

void rank_report_text(const struct rank_report *report);
void rank_report_json(const struct rank_report *report, FILE *stream);

#endif
