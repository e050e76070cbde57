/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include "clock.h"
#include "report.h"
#include "units.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR_CELLS = 30 };

static const double terminal_period_s = 0.1;
static const double plain_period_s = 10;

void progress_begin(struct progress *progress, const char *unit)
{
    *progress = (struct progress){.unit = unit, .terminal = isatty(STDERR_FILENO) == 1};
    progress->start = clock_seconds();
    progress->last = progress->start;
}

/* "12% 61/500 samples, 130/s, 3.4 s left" */
static void describe(const struct progress *progress, uint64_t done, uint64_t total, char *text,
                     size_t size)
{
    double elapsed = clock_seconds() - progress->start;
    double rate = elapsed > 0 ? (double)(done - progress->first) / elapsed : 0;
    char left[32] = "?";
    if (rate > 0) {
        units_format_duration(left, sizeof left, (double)(total - done) / rate);
    }
    snprintf(text, size, "%3.0f%% %llu/%llu %s, %.0f/s, %s left",
             total > 0 ? 100 * (double)done / (double)total : 0, (unsigned long long)done,
             (unsigned long long)total, progress->unit, rate, left);
}

static void draw_bar(struct progress *progress, uint64_t done, uint64_t total, const char *text)
{
    char bar[BAR_CELLS + 1];
    uint64_t filled = total > 0 ? (uint64_t)((double)BAR_CELLS * (double)done / (double)total) : 0;
    for (uint64_t i = 0; i < BAR_CELLS; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[BAR_CELLS] = '\0';
    fprintf(stderr, "\r[%s] %s\x1b[K", bar, text); /* ESC [ K clears what an earlier bar left */
    fflush(stderr);
    progress->drawn = true;
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
    double now = clock_seconds();
    if (!progress->started) {
        progress->started = true;
        progress->first = done;
    }
    double period = progress->terminal ? terminal_period_s : plain_period_s;
    bool last_bar = progress->terminal && done == total;
    if ((now - progress->last < period && !last_bar) || done > total) {
        return;
    }
    progress->last = now;
    char text[160];
    describe(progress, done, total, text, sizeof text);
    if (progress->terminal) {
        draw_bar(progress, done, total, text);
    } else {
        report("%s", text);
    }
}

void progress_end(struct progress *progress)
{
    if (progress->drawn) {
        fputc('\n', stderr);
        progress->drawn = false;
    }
}
