/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part: which part of the work is this process's, of several that do it together: as the user says
 * (a number, or that of an array's job), else as the launcher does. Main thread.
 */
#ifndef TOOL_PART_H
#define TOOL_PART_H

#include "options.h"

#include <stdbool.h>
#include <stdint.h>

struct part {
    uint32_t part, parts; /* 0 of 1: all of it */
    uint32_t local_size;  /* processes on this machine; 0: not known */
};

/* The row of the option table for it; `given` is a const char *, `is_common` a bool. */
#define PART_ROW(given, is_common)                                           \
    {                                                                        \
        "part", 0, OPTION_TEXT, &(given),                                    \
            .metavar = "auto|I/N", .common = (is_common),                    \
            .help = "part I of N; auto: of a job array [launcher's, or all]" \
    }

/* `given` is "I/N", "auto", "auto/N" or NULL. An exit code; what is wrong is reported. */
int part_choose(const char *given, struct part *part);

/* Says so, where this is a job of an array and the user gave no part: then each job does all. */
void part_note_array(const char *given);

/* Threads for this process where the user gave no number: its processors, or its share of the
 * machine's; 0: as the library likes. */
uint32_t part_workers(const struct part *part);

#endif
