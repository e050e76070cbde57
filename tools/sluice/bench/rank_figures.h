/* SPDX-License-Identifier: Apache-2.0 */
/* rank_figures: the results of one of several ranks, and their text form for another process.
 * Pure. */
#ifndef TOOL_BENCH_RANK_FIGURES_H
#define TOOL_BENCH_RANK_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_figures {
    char machine[64];
    uint64_t samples;
    double seconds, rows_per_s, delivered_per_s; /* the last in bytes */
    double cpu_ms;                               /* a row */
    double first_batch_ms, peak_rss_mib;
    bool failed; /* the rank reported an error; nothing else is set */
    char verdict[800];
};

/* Write the text for another process of this program, and read it. False: invalid text. */
void rank_figures_write(const struct rank_figures *figures, char *text, size_t bytes);
bool rank_figures_read(const char *text, struct rank_figures *figures);

#endif
