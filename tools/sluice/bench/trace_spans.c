/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the moments of a recording into spans, slot by slot. Main thread; at the end, spans are
 * sorted by their beginnings. */
#include "trace_spans.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const trace_group_names[TRACE_GROUPS] = {"steps", "threads", "reads", "slots",
                                                     "device slots"};
const char *const trace_span_names[TRACE_SPAN_KINDS] = {
    "wait", "stall", "step", "read", "decode", "augment", "batch", "fill", "copy", "ready", "held"};

enum { SLOTS = 64 }; /* maximum of sluice_loader_options.prefetch and .device_slots */

/* The current life of a slot, as far as it is known. */
struct life {
    double begin;       /* NaN: none */
    double full, taken; /* NaN: not yet; full: FULL or COPY of a host slot, READY of a device's */
    uint64_t ticket;
};

struct maker {
    struct trace_spans *spans;
    struct life host[SLOTS], device[SLOTS];
    bool has_device; /* memory of its own */
    double last;     /* end of the recording */
};

static const struct life no_life = {.begin = NAN, .full = NAN, .taken = NAN};

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static void add(struct maker *maker, const struct trace_span *span)
{
    struct trace_spans *spans = maker->spans;
    assert(spans->count < spans->capacity);
    spans->at[spans->count++] = *span;
}

/* Adds a phase of `life`: on its track, of its batch. */
static void add_phase(struct maker *maker, const struct trace_span *life, enum trace_span_kind kind,
                      double begin, double end)
{
    if (begin <= end) { /* both are known */
        struct trace_span phase = *life;
        phase.kind = kind;
        phase.begin = begin;
        phase.end = end;
        add(maker, &phase);
    }
}

/* ---- lives of slots ---- */

static void end_host(struct maker *maker, uint32_t slot, double when)
{
    struct life *life = &maker->host[slot];
    const struct trace_span whole = {
        .group = GROUP_HOST_SLOTS, .track = slot, .number = life->ticket, .sample = -1};
    const double full = isnan(life->full) ? when : life->full;
    const double taken = isnan(life->taken) ? when : life->taken;
    add_phase(maker, &whole, SPAN_BATCH, life->begin, when);
    add_phase(maker, &whole, SPAN_FILL, life->begin, full);
    if (maker->has_device) {
        add_phase(maker, &whole, SPAN_COPY, isnan(life->begin) ? NAN : life->taken, when);
    } else if (!isnan(life->begin)) {
        add_phase(maker, &whole, SPAN_READY, life->full, taken);
        add_phase(maker, &whole, SPAN_HELD, life->taken, when);
    }
    *life = no_life;
}

static void end_device(struct maker *maker, uint32_t slot, double when)
{
    struct life *life = &maker->device[slot];
    const struct trace_span whole = {
        .group = GROUP_DEVICE_SLOTS, .track = slot, .number = life->ticket, .sample = -1};
    const double taken = isnan(life->taken) ? when : life->taken;
    add_phase(maker, &whole, SPAN_BATCH, life->begin, when);
    add_phase(maker, &whole, SPAN_READY, life->begin, taken);
    add_phase(maker, &whole, SPAN_HELD, isnan(life->begin) ? NAN : life->taken, when);
    *life = no_life;
}

static void host_moment(struct maker *maker, const sluice_trace_event *event, double when)
{
    struct life *life = &maker->host[event->slot];
    switch (event->kind) {
    case SLUICE_TRACE_FILL:
        end_host(maker, event->slot, when);
        life->begin = when;
        life->ticket = event->ticket;
        break;
    case SLUICE_TRACE_FULL:
        life->full = when;
        break;
    case SLUICE_TRACE_COPY:
        life->taken = when;
        break;
    default:
        end_host(maker, event->slot, when);
        break;
    }
}

static void device_moment(struct maker *maker, const sluice_trace_event *event, double when)
{
    struct life *life = maker->has_device ? &maker->device[event->slot] : &maker->host[event->slot];
    if (event->kind == SLUICE_TRACE_TAKEN) {
        life->taken = when;
    } else if (!maker->has_device) {
        if (event->kind == SLUICE_TRACE_FREE) {
            end_host(maker, event->slot, when);
        }
    } else {
        end_device(maker, event->slot, when);
        if (event->kind == SLUICE_TRACE_READY) {
            life->begin = when;
            life->ticket = event->ticket;
        }
    }
}

/* ---- everything else ---- */

static void work(struct maker *maker, const sluice_trace_event *event)
{
    static const enum trace_span_kind kinds[] = {
        [SLUICE_TRACE_READ] = SPAN_READ,
        [SLUICE_TRACE_DECODE] = SPAN_DECODE,
        [SLUICE_TRACE_AUGMENT] = SPAN_AUGMENT,
    };
    const bool read = event->kind == SLUICE_TRACE_READ;
    add(maker, &(struct trace_span){.group = read ? GROUP_READS : GROUP_THREADS,
                                    .kind = kinds[event->kind],
                                    .track = read ? 0 : event->thread,
                                    .begin = seconds(event->begin_ns),
                                    .end = seconds(event->end_ns),
                                    .number = event->ticket,
                                    .sample = event->sample,
                                    .bytes = event->bytes});
}

static void use_event(struct maker *maker, const sluice_trace_event *event)
{
    const double when = seconds(event->begin_ns);
    if (event->kind <= SLUICE_TRACE_AUGMENT) {
        work(maker, event);
    } else if (event->slot < SLOTS && event->kind <= SLUICE_TRACE_DONE) {
        host_moment(maker, event, when);
    } else if (event->slot < SLOTS && event->kind <= SLUICE_TRACE_FREE) {
        device_moment(maker, event, when);
    }
}

static void use_step(struct maker *maker, const struct bench_step *step, uint64_t number)
{
    struct trace_span span = {.group = GROUP_STEPS, .number = number, .sample = -1};
    span.kind = SPAN_WAIT;
    span.begin = step->asked;
    span.end = step->got;
    add(maker, &span);
    span.track = 1;
    span.kind = SPAN_STALL;
    span.begin = fmin(step->reached, step->begin);
    span.end = step->begin;
    add(maker, &span);
    span.kind = SPAN_STEP;
    span.begin = step->begin;
    span.end = step->end;
    add(maker, &span);
}

/* Sorts by time; at the same time by kind, in the order of a slot's life. */
static int compare_events(const void *left, const void *right)
{
    const sluice_trace_event *a = left;
    const sluice_trace_event *b = right;
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_spans(const void *left, const void *right)
{
    const struct trace_span *a = left;
    const struct trace_span *b = right;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    if (a->begin < b->begin || a->begin > b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    /* The later end encloses; a life encloses its phases even if they have the same length. */
    if (a->end < b->end || a->end > b->end) {
        return a->end > b->end ? -1 : 1;
    }
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static void find_facts(struct maker *maker, const struct trace_capture *capture)
{
    for (size_t i = 0; i < capture->count; i++) {
        const sluice_trace_event *event = &capture->events[i];
        maker->last = fmax(maker->last, seconds(event->end_ns));
        maker->has_device = maker->has_device || event->kind == SLUICE_TRACE_COPY;
    }
    for (size_t i = 0; i < capture->step_count; i++) {
        maker->last = fmax(maker->last, capture->steps[i].end);
    }
}

bool trace_spans_make(struct trace_spans *spans, const struct trace_capture *capture)
{
    /* A moment ends at most one life, which is four spans; so does each slot at the end. */
    const size_t capacity = 4 * (capture->count + (size_t)2 * SLOTS) + 3 * capture->step_count;
    *spans = (struct trace_spans){.capacity = capacity};
    spans->at = calloc(capacity, sizeof *spans->at);
    sluice_trace_event *sorted = calloc(capture->count + 1, sizeof *sorted);
    if (spans->at == NULL || sorted == NULL) {
        free(sorted);
        return false;
    }
    struct maker maker = {.spans = spans};
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        maker.host[slot] = no_life;
        maker.device[slot] = no_life;
    }
    find_facts(&maker, capture);
    memcpy(sorted, capture->events, capture->count * sizeof *sorted);
    qsort(sorted, capture->count, sizeof *sorted, compare_events);
    for (size_t i = 0; i < capture->count; i++) {
        use_event(&maker, &sorted[i]);
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        end_host(&maker, slot, maker.last);
        end_device(&maker, slot, maker.last);
    }
    for (size_t i = 0; i < capture->step_count; i++) {
        use_step(&maker, &capture->steps[i], i);
    }
    free(sorted);
    qsort(spans->at, spans->count, sizeof *spans->at, compare_spans);
    return true;
}

void trace_spans_free(struct trace_spans *spans)
{
    free(spans->at);
    *spans = (struct trace_spans){0};
}
