/* SPDX-License-Identifier: Apache-2.0 */
/* trace_capture: the library's recording of one arm or run (sluice/trace.h), and the steps. Main
 * thread. */
#ifndef TOOL_TRACE_CAPTURE_H
#define TOOL_TRACE_CAPTURE_H

#include "steps.h"

#include <sluice/trace.h>

#define TRACE_THREAD_NAME 16

struct trace_capture {
    const char *name; /* of the arm; NULL: nothing was recorded */
    sluice_trace_event *events;
    size_t count;
    uint64_t lost;     /* events for which the rings had no space */
    double whole_from; /* seconds, on clock_seconds' scale: all events since then are recorded */
    char (*threads)[TRACE_THREAD_NAME]; /* names, by the events' thread */
    uint32_t thread_count;
    struct bench_step *steps;
    size_t step_count;
};

/* Starts recording. False: reported. */
bool trace_capture_begin(void);
/* Ends it and fills `capture`. `steps` (NULL: none) is copied. False: reported. */
bool trace_capture_end(struct trace_capture *capture, const char *name,
                       const struct bench_steps *steps);
void trace_capture_free(struct trace_capture *capture);

#endif
