/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_collect.h"

#include "exit_code.h"
#include "rank_report.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int give(struct gather *gather, struct rank_figures *own)
{
    char text[GATHER_TEXT_MAX];
    rank_figures_write(own, text, sizeof text);
    return gather_give(gather, text);
}

void rank_collect_fail(struct gather *gather)
{
    struct rank_figures own = {.failed = true};
    if (gather->rank != 0) {
        (void)give(gather, &own);
    }
}

static int take(struct gather *gather, uint32_t rank, struct rank_figures *own)
{
    char text[GATHER_TEXT_MAX];
    const int code = gather_take(gather, rank, text);
    if (code != TOOL_FINE) {
        return code;
    }
    if (!rank_figures_read(text, own)) {
        report("rank %" PRIu32 " sent no results: does it run another version?", rank);
        return TOOL_FAILED;
    }
    if (own->failed) {
        report("rank %" PRIu32 " failed: see its own error", rank);
        return TOOL_FAILED;
    }
    return TOOL_FINE;
}

static int show_all(struct gather *gather, const struct bench_figures *figures,
                    const struct rank_figures *own, bool as_json)
{
    struct rank_figures *ranks = calloc(gather->world_size, sizeof *ranks);
    if (ranks == NULL) {
        report("out of memory for the results of %" PRIu32 " ranks", gather->world_size);
        return TOOL_FAILED;
    }
    ranks[0] = *own;
    int code = TOOL_FINE;
    for (uint32_t rank = 1; rank < gather->world_size && code == TOOL_FINE; rank++) {
        code = take(gather, rank, &ranks[rank]);
    }
    const struct rank_report all = {.setting = figures->setting,
                                    .stats = &figures->result->stats,
                                    .ranks = ranks,
                                    .count = gather->world_size};
    if (code == TOOL_FINE && as_json) {
        rank_report_json(&all, stdout);
    } else if (code == TOOL_FINE) {
        rank_report_text(&all);
    }
    free(ranks);
    return code;
}

int rank_collect_show(struct gather *gather, const struct bench_figures *figures, bool as_json)
{
    struct rank_figures own = {0};
    bench_report_rank(figures, &own);
    if (gethostname(own.machine, sizeof own.machine) != 0) {
        snprintf(own.machine, sizeof own.machine, "unknown");
    }
    own.machine[sizeof own.machine - 1] = '\0';
    return gather->rank == 0 ? show_all(gather, figures, &own, as_json) : give(gather, &own);
}
