/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress: how far a long command is, on standard error: a bar with rate and time left, cut to the
 * width, where that is a terminal that can be drawn on, else a plain line every ten seconds. One
 * thread at a time (a lock of the caller's).
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
    bool drawn;         /* a bar stands on the terminal's last line */
    double begun, last; /* when the first was done; when something was shown */
};

void progress_begin(struct progress *progress, const char *unit);
/* `done` never falls. Cheap: most calls print nothing. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);
/* Leaves the terminal's cursor on a fresh line. */
void progress_end(struct progress *progress);

/* "12% 61/500 samples, 130/s, 3.4 s left", `elapsed` seconds after the work began. Rate and time
 * left only when enough is done to tell. */
void progress_describe(const struct progress *progress, double elapsed, uint64_t done,
                       uint64_t total, char *text, size_t size);
/* The bar with `text`, and no more than `columns` of it. */
void progress_bar(uint64_t done, uint64_t total, const char *text, int columns, char *line,
                  size_t size);

#endif
