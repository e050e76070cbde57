/* SPDX-License-Identifier: Apache-2.0 */
/* shares: the one table of what several ranks measured. Pure. */
#ifndef TOOL_BENCH_SHARES_H
#define TOOL_BENCH_SHARES_H

#include "share.h"
#include "stats.h"

#include <stdint.h>
#include <stdio.h>

struct bench_shares {
    struct bench_setting setting;
    const sluice_loader_stats *stats; /* rank 0's */
    const struct bench_share *ranks;  /* none failed */
    uint32_t count;                   /* >= 1 */
};

void bench_shares_text(const struct bench_shares *shares);
void bench_shares_json(const struct bench_shares *shares, FILE *stream);

#endif
