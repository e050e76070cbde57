/* SPDX-License-Identifier: Apache-2.0 */
/* marks: the lines that a program writes about its own waiting (records.h). Pure except for reading
 * the stream. */
#ifndef TOOL_IDLE_MARKS_H
#define TOOL_IDLE_MARKS_H

#include "figures.h"

#include <stdint.h>
#include <stdio.h>

struct idle_marks_count {
    uint64_t good, wrong; /* lines */
};

/* Adds the marks to the trace, which is not finished yet. Skips an unfinished last line. */
struct idle_marks_count idle_marks_read(FILE *file, struct idle_trace *trace);

/* Converts times to CLOCK_MONOTONIC; false: no clock of this machine has such times. */
bool idle_marks_times(int64_t start, int64_t end, int64_t clock_offset, struct interval *times);

#endif
