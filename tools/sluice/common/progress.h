/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress: the progress of a long command, on standard error: a bar with rate and time left, cut
 * to the width, on a terminal that can be drawn on, else a plain line every ten seconds. One thread
 * at a time (a lock of the caller's).
 */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *unit; /* "samples"; NULL: done and total are milliseconds */
    uint64_t first;   /* done already when the work began: not part of the rate */
    bool started;
    bool terminal;
    bool drawn;         /* a bar is on the terminal's last line */
    double begun, last; /* when the first was done; when something was shown */
};

void progress_begin(struct progress *progress, const char *unit);
/* Updates; `done` never decreases. Cheap: most calls print nothing. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);
/* Ends with the terminal's cursor on a new line. */
void progress_end(struct progress *progress);

/* Writes "12% 61/500 samples, 130/s, 3.4 s left", `elapsed` seconds after the work began. Rate
 * and time left only once enough is done. */
void progress_describe(const struct progress *progress, double elapsed, uint64_t done,
                       uint64_t total, char *text, size_t size);
/* Writes the bar with `text`, cut to `columns`. */
void progress_bar(uint64_t done, uint64_t total, const char *text, int columns, char *line,
                  size_t size);

#endif
