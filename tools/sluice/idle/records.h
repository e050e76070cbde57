/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: reads what libsluice_inject.so and the program wrote into one folder, and sorts it
 * by device. Nothing in the files is trusted: what is wrong is counted or named, never followed.
 *
 * Marks are text, one a line, times in nanoseconds of CLOCK_MONOTONIC, in a file "marks.PID" that
 * the program itself writes:
 *   wait START END    the host waited for data
 *   stall START END   the stream stood still for data that was not on the device yet
 *   step WHEN         a step of the training ended
 * They belong to the devices on which the process of that number ran kernels.
 */
#ifndef TOOL_IDLE_RECORDS_H
#define TOOL_IDLE_RECORDS_H

#include "../../inject/idle_format.h"
#include "figures.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDLE_DEVICES_MAX = IDLE_DEVICES_NAMED };

/* A process that started CUDA. */
struct idle_process {
    struct idle_header header; /* its strings end; all zero where the file has none */
    int pid;
    uint64_t records; /* read and used */
    uint64_t wrong_records, wrong_marks, marks;
    char problem[192]; /* with the file, "" when there is none */
};

struct idle_device {
    char name[64]; /* what nvml_start calls it */
    struct idle_trace trace;
    unsigned processes;
};

struct idle_run {
    struct idle_process *processes;
    size_t process_count;
    struct idle_device *devices; /* by the order of their first record */
    size_t device_count;
    uint64_t stray_marks; /* files of processes that ran no kernel */
};

/* Reads all and finishes the traces. False: `reason` says why (no folder, no memory). */
bool idle_run_read(struct idle_run *run, const char *folder, char *reason, size_t bytes);
void idle_run_free(struct idle_run *run);

#endif
