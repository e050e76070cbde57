/* SPDX-License-Identifier: Apache-2.0 */
/* share: what one of several ranks measured, and as text for another process. Pure. */
#ifndef TOOL_BENCH_SHARE_H
#define TOOL_BENCH_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_share {
    char machine[64];
    uint64_t samples;
    double seconds, rows_per_s, delivered_per_s; /* the last in bytes */
    double cpu_ms;                               /* a row */
    double first_batch_ms, peak_rss_mib;
    bool failed; /* it said why; nothing else is set */
    char verdict[400];
};

/* As text for another process of this program, and back. False: it is no such text. */
void bench_share_write(const struct bench_share *share, char *text, size_t bytes);
bool bench_share_read(const char *text, struct bench_share *share);

#endif
