/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_collect: a delivery that several ranks measure at the same time: rank 0 shows all of it, the
 * others say nothing but what went wrong. Main thread. Functions return exit codes.
 */
#ifndef TOOL_BENCH_RANK_COLLECT_H
#define TOOL_BENCH_RANK_COLLECT_H

#include "bench_report.h"
#include "gather.h"

#include <stdbool.h>

/* Of a rank that measured: hands its figures to rank 0, which waits for all and shows them. */
int rank_collect_show(struct gather *gather, const struct bench_figures *figures, bool as_json);

/* Of one that could not, after the ranks met: lets rank 0 know. */
void rank_collect_fail(struct gather *gather);

#endif
