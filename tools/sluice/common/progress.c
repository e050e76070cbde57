/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include "clock.h"
#include "report.h"
#include "terminal.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CELLS_MAX = 30, CELLS_MIN = 8, FRAME = 3 };

static const double terminal_period_s = 0.1;
static const double plain_period_s = 10;
/* Seconds until a rate is shown, and until the time left is shown, unless a tenth is done: the
 * first samples wait for caches, threads and files. */
static const double rate_s = 1, left_s = 5;

void progress_begin(struct progress *progress, const char *unit)
{
    *progress =
        (struct progress){.unit = unit, .terminal = terminal_can_draw() && !report_is_quiet()};
    progress->begun = clock_seconds();
    progress->last = progress->begun;
}

static void describe_left(double elapsed, uint64_t done, uint64_t open, char *text, size_t size)
{
    char left[32];
    const bool enough = elapsed >= left_s || (double)done >= 0.1 * (double)(done + open);
    text[0] = '\0';
    if (enough && elapsed >= rate_s && done > 0) {
        units_format_duration(left, sizeof left, (double)open * elapsed / (double)done);
        snprintf(text, size, ", %s left", left);
    }
}

void progress_describe(const struct progress *progress, double elapsed, uint64_t done,
                       uint64_t total, char *text, size_t size)
{
    char left[48];
    char rate[32] = "";
    const double part = total > 0 ? 100 * (double)done / (double)total : 0;
    if (progress->unit == NULL) {
        snprintf(text, size, "%3.0f%% %" PRIu64 "/%" PRIu64 " s", part, done / 1000,
                 (total + 999) / 1000);
        return;
    }
    const uint64_t own = done - progress->first;
    describe_left(elapsed, own, total - done, left, sizeof left);
    if (elapsed >= rate_s && own > 0) {
        snprintf(rate, sizeof rate, ", %.0f/s", (double)own / elapsed);
    }
    snprintf(text, size, "%3.0f%% %" PRIu64 "/%" PRIu64 " %s%s%s", part, done, total,
             progress->unit, rate, left);
}

void progress_bar(uint64_t done, uint64_t total, const char *text, int columns, char *line,
                  size_t size)
{
    char bar[CELLS_MAX + FRAME + 1] = "";
    /* The last column stays free: some terminals wrap to the next line there. */
    const size_t capacity = columns > 1 ? (size_t)columns : 2;
    const size_t taken = strlen(text) + FRAME + 1;
    const size_t spare = taken < capacity ? capacity - taken : 0;
    const size_t cells = spare < CELLS_MAX ? spare : CELLS_MAX;
    const size_t filled = total > 0 ? (size_t)((double)cells * (double)done / (double)total) : 0;
    if (cells >= CELLS_MIN) {
        bar[0] = '[';
        memset(bar + 1, '.', cells);
        memset(bar + 1, '#', filled);
        memcpy(bar + 1 + cells, "] ", 3);
    }
    snprintf(line, capacity < size ? capacity : size, "%s%s", bar, text);
}

static void draw(struct progress *progress, uint64_t done, uint64_t total, const char *text)
{
    char line[256];
    progress_bar(done, total, text, terminal_columns(), line, sizeof line);
    fprintf(stderr, "\r%s\x1b[K", line); /* ESC [ K clears what an earlier one left */
    fflush(stderr);
    terminal_put_bar();
    progress->drawn = true;
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
    const double now = clock_seconds();
    if (!progress->started || done <= progress->first) {
        progress->started = true;
        progress->first = done;
        progress->begun = now;
    }
    const double period = progress->terminal ? terminal_period_s : plain_period_s;
    const bool last_bar = progress->terminal && done == total;
    if ((now - progress->last < period && !last_bar) || done > total) {
        return;
    }
    progress->last = now;
    char text[160];
    progress_describe(progress, now - progress->begun, done, total, text, sizeof text);
    if (progress->terminal) {
        draw(progress, done, total, text);
    } else {
        report_note("%s", text);
    }
}

void progress_end(struct progress *progress)
{
    if (progress->drawn && terminal_take_bar()) {
        fputc('\n', stderr);
    }
    progress->drawn = false;
}
