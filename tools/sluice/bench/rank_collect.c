/* SPDX-License-Identifier: Apache-2.0 */
#include "ranked.h"

#include "exit_code.h"
#include "report.h"
#include "shares.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int give(struct gather *gather, struct bench_share *share)
{
    char text[GATHER_TEXT_MAX];
    bench_share_write(share, text, sizeof text);
    return gather_give(gather, text);
}

void ranked_fail(struct gather *gather)
{
    struct bench_share share = {.failed = true};
    if (gather->rank != 0) {
        (void)give(gather, &share);
    }
}

static int take(struct gather *gather, uint32_t rank, struct bench_share *share)
{
    char text[GATHER_TEXT_MAX];
    const int code = gather_take(gather, rank, text);
    if (code != TOOL_FINE) {
        return code;
    }
    if (!bench_share_read(text, share)) {
        report("rank %" PRIu32 " gave no figures: is it of another version?", rank);
        return TOOL_FAILED;
    }
    if (share->failed) {
        report("rank %" PRIu32 " failed: it said why", rank);
        return TOOL_FAILED;
    }
    return TOOL_FINE;
}

static int show_all(struct gather *gather, const struct bench_figures *figures,
                    const struct bench_share *own, bool as_json)
{
    struct bench_share *ranks = calloc(gather->world_size, sizeof *ranks);
    if (ranks == NULL) {
        report("no memory for the figures of %" PRIu32 " ranks", gather->world_size);
        return TOOL_FAILED;
    }
    ranks[0] = *own;
    int code = TOOL_FINE;
    for (uint32_t rank = 1; rank < gather->world_size && code == TOOL_FINE; rank++) {
        code = take(gather, rank, &ranks[rank]);
    }
    const struct bench_shares shares = {.setting = figures->setting,
                                        .stats = &figures->result->stats,
                                        .ranks = ranks,
                                        .count = gather->world_size};
    if (code == TOOL_FINE && as_json) {
        bench_shares_json(&shares, stdout);
    } else if (code == TOOL_FINE) {
        bench_shares_text(&shares);
    }
    free(ranks);
    return code;
}

int ranked_show(struct gather *gather, const struct bench_figures *figures, bool as_json)
{
    struct bench_share own = {0};
    bench_report_share(figures, &own);
    if (gethostname(own.machine, sizeof own.machine) != 0) {
        snprintf(own.machine, sizeof own.machine, "unknown");
    }
    own.machine[sizeof own.machine - 1] = '\0';
    return gather->rank == 0 ? show_all(gather, figures, &own, as_json) : give(gather, &own);
}
