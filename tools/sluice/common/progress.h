/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress: how far a long command is, on standard error: a bar with rate and time left where that
 * is a terminal, else a plain line every ten seconds. One thread at a time (a lock of the
 * caller's).
 */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *unit; /* "samples" */
    uint64_t first;   /* done already at the first update: not part of the rate */
    bool started;
    bool terminal;
    bool drawn; /* a bar stands on the terminal's last line */
    double start, last;
};

void progress_begin(struct progress *progress, const char *unit);
/* `done` never falls. Cheap: most calls print nothing. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);
/* Leaves the terminal's cursor on a fresh line. */
void progress_end(struct progress *progress);

#endif
