/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_capture.h"

#include "report.h"

#include <stdlib.h>
#include <string.h>

/* Rings for all workers of a large machine; unused pages cost nothing. A batch of 256 is 512
 * events of its workers. */
enum { THREADS = 256, EVENTS = 16384 };

bool trace_capture_begin(void)
{
    sluice_status status = sluice_trace_start(THREADS, EVENTS);
    if (status < 0) {
        report("cannot record the trace: %s", sluice_status_name(status));
        return false;
    }
    return true;
}

static bool copy_events(struct trace_capture *capture)
{
    capture->count = sluice_trace_read(NULL, 0, 0, &capture->lost);
    capture->events = calloc(capture->count + 1, sizeof *capture->events);
    if (capture->events == NULL) {
        return false;
    }
    sluice_trace_read(capture->events, sizeof *capture->events, capture->count, NULL);
    return true;
}

static bool copy_threads(struct trace_capture *capture)
{
    for (size_t i = 0; i < capture->count; i++) {
        if (capture->events[i].thread >= capture->thread_count) {
            capture->thread_count = capture->events[i].thread + 1;
        }
    }
    capture->threads = calloc(capture->thread_count + 1, sizeof *capture->threads);
    for (uint32_t i = 0; capture->threads != NULL && i < capture->thread_count; i++) {
        sluice_trace_get_thread_name(i, capture->threads[i], sizeof capture->threads[i]);
    }
    return capture->threads != NULL;
}

/* Finds the time from which all events are recorded: a full ring has lost those before its first
 * event. */
static bool find_whole(struct trace_capture *capture)
{
    struct of_thread {
        size_t events;
        uint64_t first_ns;
    } *threads = calloc(capture->thread_count + 1, sizeof *threads);
    if (threads == NULL) {
        return false;
    }
    for (size_t i = 0; i < capture->count; i++) {
        struct of_thread *of = &threads[capture->events[i].thread];
        const uint64_t begin = capture->events[i].begin_ns;
        of->first_ns = of->events++ == 0 || begin < of->first_ns ? begin : of->first_ns;
    }
    for (uint32_t i = 0; i < capture->thread_count; i++) {
        if (threads[i].events >= EVENTS &&
            (double)threads[i].first_ns * 1e-9 > capture->whole_from) {
            capture->whole_from = (double)threads[i].first_ns * 1e-9;
        }
    }
    free(threads);
    return true;
}

static bool copy_steps(struct trace_capture *capture, const struct bench_steps *steps)
{
    capture->step_count = steps == NULL ? 0 : steps->count;
    capture->steps = calloc(capture->step_count + 1, sizeof *capture->steps);
    if (capture->steps != NULL && steps != NULL) {
        memcpy(capture->steps, steps->at, capture->step_count * sizeof *capture->steps);
    }
    return capture->steps != NULL;
}

bool trace_capture_end(struct trace_capture *capture, const char *name,
                       const struct bench_steps *steps)
{
    sluice_trace_stop();
    *capture = (struct trace_capture){.name = name};
    bool fine = copy_events(capture) && copy_threads(capture) && find_whole(capture) &&
                copy_steps(capture, steps);
    sluice_trace_discard();
    if (!fine) {
        trace_capture_free(capture);
        report("out of memory for the trace of %s; try fewer --steps", name);
    }
    return fine;
}

void trace_capture_free(struct trace_capture *capture)
{
    free(capture->events);
    free(capture->threads);
    free(capture->steps);
    *capture = (struct trace_capture){0};
}
