/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_capture: what the library recorded of one arm or run (sluice/trace.h), and the steps. Main
 * thread.
 */
#ifndef TOOL_TRACE_CAPTURE_H
#define TOOL_TRACE_CAPTURE_H

#include "steps.h"

#include <sluice/trace.h>

#define TRACE_THREAD_NAME 16

struct trace_capture {
    const char *name; /* of the arm; NULL: nothing was captured */
    sluice_trace_event *events;
    size_t count;
    uint64_t lost;     /* events that the rings had no space for */
    double whole_from; /* seconds, on clock_seconds' scale: since when there are all events */
    char (*threads)[TRACE_THREAD_NAME]; /* names, by the events' thread */
    uint32_t thread_count;
    struct bench_step *steps;
    size_t step_count;
};

/* Starts recording. False: reported. */
bool trace_capture_begin(void);
/* Ends it and fills `capture`. `steps` (NULL: there are none) is copied. False: reported. */
bool trace_capture_end(struct trace_capture *capture, const char *name,
                       const struct bench_steps *steps);
void trace_capture_free(struct trace_capture *capture);

#endif
