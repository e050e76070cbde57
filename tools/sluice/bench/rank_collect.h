/* SPDX-License-Identifier: Apache-2.0 */
/* rank_collect: a delivery that several ranks measure at the same time: rank 0 shows all
 * results, the others report only errors. Main thread. Functions return exit codes. */
#ifndef TOOL_BENCH_RANK_COLLECT_H
#define TOOL_BENCH_RANK_COLLECT_H

#include "bench_report.h"
#include "gather.h"

#include <stdbool.h>

/* On a rank that measured: sends its results to rank 0, which waits for all and shows them. */
int rank_collect_show(struct gather *gather, const struct bench_figures *figures, bool as_json);

/* On a rank that failed after the ranks met: informs rank 0. */
void rank_collect_fail(struct gather *gather);

#endif
