/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing: the pool of device events, and what they measure. Any thread; the mutex is not held
 * during device calls. Nothing waits for an event.
 */
#include "timing.h"

#include "error.h"
#include "memory.h"
#include "thread.h"

#include <assert.h>

/* For steps that are over and not read yet. */
enum { SPARE_MARKS = 2 };

struct sl_timing_mark {
    sl_event *begin, *there, *end;
    sl_timing_mark *next; /* in the list of free marks, or of ended ones */
};

struct sl_timing {
    sl_device *device;
    sl_timing_mark *marks;
    uint32_t count;
    sl_event *last_end; /* of the step read last; swapped with the mark's */

    pthread_mutex_t mutex;
    /* under mutex */
    sl_timing_mark *free;
    sl_timing_mark *first, *last; /* ended, in order */
    bool reading;                 /* a thread is reading, and owns last_end */
    bool any;                     /* last_end is recorded */
    sl_timing_sums sums;
};

static sluice_status open_event(sl_timing *timing, sl_event **event, sluice_error *error)
{
    return timing->device->ops->event_open(timing->device, SL_EVENT_TIMED, event, error);
}

static sluice_status open_mark(sl_timing *timing, sl_timing_mark *mark, sluice_error *error)
{
    sluice_status status = open_event(timing, &mark->begin, error);
    if (status == SLUICE_OK) {
        status = open_event(timing, &mark->there, error);
    }
    if (status == SLUICE_OK) {
        status = open_event(timing, &mark->end, error);
    }
    mark->next = timing->free;
    timing->free = mark;
    return status;
}

sluice_status sl_timing_open(sl_timing **timing, sl_device *device, uint32_t steps,
                             sluice_error *error)
{
    *timing = NULL;
    sl_timing *made = sl_calloc(1, sizeof(*made));
    const uint32_t count = steps + SPARE_MARKS;
    sl_timing_mark *marks = sl_calloc(count, sizeof(*marks));
    if (made == NULL || marks == NULL) {
        sl_free(made);
        sl_free(marks);
        return sl_no_memory(error, "staging", "for timing");
    }
    made->device = device;
    made->marks = marks;
    made->count = count;
    sl_mutex_init(&made->mutex);
    sluice_status status = open_event(made, &made->last_end, error);
    for (uint32_t i = 0; i < count && status == SLUICE_OK; i++) {
        status = open_mark(made, &marks[i], error);
    }
    if (status != SLUICE_OK) {
        sl_timing_close(made);
        return status;
    }
    *timing = made;
    return SLUICE_OK;
}

static void timing_close_event(const sl_timing *timing, sl_event *event)
{
    if (event != NULL) {
        timing->device->ops->event_close(timing->device, event);
    }
}

void sl_timing_close(sl_timing *timing)
{
    if (timing == NULL) {
        return;
    }
    for (uint32_t i = 0; i < timing->count; i++) {
        timing_close_event(timing, timing->marks[i].begin);
        timing_close_event(timing, timing->marks[i].there);
        timing_close_event(timing, timing->marks[i].end);
    }
    timing_close_event(timing, timing->last_end);
    sl_mutex_destroy(&timing->mutex);
    sl_free(timing->marks);
    sl_free(timing);
}

sl_timing_mark *sl_timing_take(sl_timing *timing)
{
    sl_lock(&timing->mutex);
    sl_timing_mark *mark = timing->free;
    if (mark != NULL) {
        timing->free = mark->next;
    }
    sl_unlock(&timing->mutex);
    return mark;
}

void sl_timing_drop(sl_timing *timing, sl_timing_mark *mark)
{
    sl_lock(&timing->mutex);
    mark->next = timing->free;
    timing->free = mark;
    sl_unlock(&timing->mutex);
}

static sluice_status timing_record(sl_timing *timing, sl_event *event, struct CUstream_st *stream,
                                   sluice_error *error)
{
    return timing->device->ops->event_record(timing->device, event, stream, error);
}

sluice_status sl_timing_begin(sl_timing *timing, sl_timing_mark *mark, struct CUstream_st *stream,
                              sluice_error *error)
{
    return timing_record(timing, mark->begin, stream, error);
}

sluice_status sl_timing_there(sl_timing *timing, sl_timing_mark *mark, struct CUstream_st *stream,
                              sluice_error *error)
{
    return timing_record(timing, mark->there, stream, error);
}

sluice_status sl_timing_end(sl_timing *timing, sl_timing_mark *mark, struct CUstream_st *stream,
                            sluice_error *error)
{
    const sluice_status status = timing_record(timing, mark->end, stream, error);
    if (status != SLUICE_OK) {
        return status;
    }
    mark->next = NULL;
    sl_lock(&timing->mutex);
    if (timing->first == NULL) {
        timing->first = mark;
    } else {
        timing->last->next = mark;
    }
    timing->last = mark;
    sl_unlock(&timing->mutex);
    return SLUICE_OK;
}

/* ---- reading ---- */

/* What one step adds to the sums. */
typedef struct step_times {
    uint64_t stall_ns, busy_ns, span_ns;
} step_times;

/* Returns whether the device is past a step: its beginning may be on another stream than its
 * end. */
static sluice_status ask_whether(const sl_timing *timing, const sl_timing_mark *mark,
                                 sluice_error *error)
{
    sl_device *const device = timing->device;
    const sluice_status status = device->ops->event_query(device, mark->end, error);
    return status == SLUICE_OK ? device->ops->event_query(device, mark->there, error) : status;
}

/* Queries the device. AGAIN while it is not past the step's end. */
static sluice_status ask(const sl_timing *timing, const sl_timing_mark *mark, bool any,
                         step_times *times, sluice_error *error)
{
    sl_device *const device = timing->device;
    const sl_device_ops *ops = device->ops;
    sluice_status status = ask_whether(timing, mark, error);
    if (status == SLUICE_OK) {
        status = ops->event_elapsed(device, mark->there, mark->end, &times->busy_ns, error);
    }
    if (status == SLUICE_OK) {
        status = ops->event_elapsed(device, mark->begin, mark->there, &times->stall_ns, error);
    }
    if (status == SLUICE_OK && any) {
        status = ops->event_elapsed(device, timing->last_end, mark->end, &times->span_ns, error);
    }
    return status;
}

/* Takes the first mark, whose step is over, off the list. */
static void count_locked(sl_timing *timing, const step_times *times)
{
    sl_timing_mark *mark = timing->first;
    timing->first = mark->next;
    if (timing->any) {
        timing->sums.steps++;
        timing->sums.stall_ns += times->stall_ns;
        timing->sums.busy_ns += times->busy_ns;
        timing->sums.span_ns += times->span_ns;
    }
    timing->any = true;
    sl_event *end = mark->end;
    mark->end = timing->last_end;
    timing->last_end = end;
    mark->next = timing->free;
    timing->free = mark;
}

sluice_status sl_timing_read(sl_timing *timing, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sl_lock(&timing->mutex);
    if (timing->reading) {
        sl_unlock(&timing->mutex);
        return SLUICE_OK;
    }
    timing->reading = true;
    while (timing->first != NULL && status == SLUICE_OK) {
        const sl_timing_mark *mark = timing->first;
        const bool any = timing->any;
        step_times times = {0};
        sl_unlock(&timing->mutex);
        status = ask(timing, mark, any, &times, error);
        sl_lock(&timing->mutex);
        if (status == SLUICE_OK) {
            count_locked(timing, &times);
        }
    }
    timing->reading = false;
    sl_unlock(&timing->mutex);
    return status == SLUICE_AGAIN ? SLUICE_OK : status;
}

void sl_timing_get(sl_timing *timing, sl_timing_sums *sums)
{
    sl_lock(&timing->mutex);
    *sums = timing->sums;
    sl_unlock(&timing->mutex);
}
