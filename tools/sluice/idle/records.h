/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: reads the files of libsluice_inject.so and the program in one folder, and sorts them by
 * device. Nothing in the files is trusted: invalid data is counted or named, never followed.
 *
 * Marks are text, one a line, times in nanoseconds of CLOCK_MONOTONIC, in a file "marks.PID" that
 * the program itself writes:
 *   wait START END    the host waited for data
 *   stall START END   the stream waited for data that was not on the device yet
 *   step WHEN         a training step ended
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
    struct idle_header header; /* its strings end; all zero if the file has none */
    int pid;
    uint64_t records; /* read and used */
    uint64_t wrong_records, wrong_marks, marks;
    char problem[192]; /* with the file; "": none */
};

struct idle_device {
    char name[64]; /* its name for nvml_start */
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

/* Reads everything and finishes the traces. False: `reason` is the cause (no folder, no memory). */
bool idle_run_read(struct idle_run *run, const char *folder, char *reason, size_t bytes);
void idle_run_free(struct idle_run *run);

#endif
