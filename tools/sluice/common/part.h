/* SPDX-License-Identifier: Apache-2.0 */
/* part: this process's part of shared work: given by the user (a number, or that of an array's
 * job), else by the launcher. Main thread. */
#ifndef TOOL_PART_H
#define TOOL_PART_H

#include "options.h"

#include <stdbool.h>
#include <stdint.h>

struct part {
    uint32_t part, parts; /* 0 of 1: all of it */
    uint32_t local_size;  /* processes on this machine; 0: unknown */
};

/* The row of the option table for it; `given` is a const char *, `is_common` a bool. */
#define PART_ROW(given, is_common)                                           \
    {                                                                        \
        "part", 0, OPTION_TEXT, &(given),                                    \
            .metavar = "auto|I/N", .common = (is_common),                    \
            .help = "part I of N; auto: of a job array [launcher's, or all]" \
    }

/* Chooses the part. `given` is "I/N", "auto", "auto/N" or NULL. Returns an exit code; errors are
 * reported. */
int part_choose(const char *given, struct part *part);

/* Warns if this is a job of an array and the user gave no part: then each job does all the work. */
void part_note_array(const char *given);

/* Returns the number of threads for this process if the user gave none: its CPUs, or its share
 * of the machine's; 0: the library's default. */
uint32_t part_workers(const struct part *part);

#endif
