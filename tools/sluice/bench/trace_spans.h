/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_spans: a recording as intervals on tracks, for drawing: what each thread did, what each
 * slot held, what the consumer and the accelerator did. Pure except for memory.
 *
 * A slot's life encloses its phases: host slots FILL, then (with device memory) COPY; device slots,
 * or with host memory the same slots, READY and HELD. A life that had not ended when the recording
 * ended ends with it, or with its last step, which may end later. A dropped life (by start_epoch or
 * close) ends when the slot is used again.
 */
#ifndef TOOL_TRACE_SPANS_H
#define TOOL_TRACE_SPANS_H

#include "trace_capture.h"

enum trace_group {
    GROUP_STEPS,   /* track 0: the consumer; 1: the accelerator */
    GROUP_THREADS, /* track: number of the thread */
    GROUP_READS,   /* one track: reads overlap */
    GROUP_HOST_SLOTS,
    GROUP_DEVICE_SLOTS, /* none with host memory */
    TRACE_GROUPS
};

enum trace_span_kind {
    SPAN_WAIT,  /* the consumer waited for a batch */
    SPAN_STALL, /* the accelerator waited for a batch, by itself */
    SPAN_STEP,
    SPAN_READ,
    SPAN_DECODE,
    SPAN_AUGMENT,
    SPAN_BATCH, /* life in a slot */
    SPAN_FILL,
    SPAN_COPY,
    SPAN_READY,
    SPAN_HELD,
    TRACE_SPAN_KINDS
};

/* "steps", ...; "wait", ... */
extern const char *const trace_group_names[TRACE_GROUPS];
extern const char *const trace_span_names[TRACE_SPAN_KINDS];

struct trace_span {
    enum trace_group group;
    enum trace_span_kind kind;
    uint32_t track;
    double begin, end; /* seconds on clock_seconds' scale */
    uint64_t number;   /* of the step (WAIT, STALL, STEP), else of the batch */
    int64_t sample;    /* -1: not of a single sample */
    uint64_t bytes;    /* READ; else 0 */
};

struct trace_spans {
    struct trace_span *at; /* by group, track, begin; the enclosing span comes first */
    size_t count, capacity;
};

/* Makes the spans. False: no memory. Free in any case. */
bool trace_spans_make(struct trace_spans *spans, const struct trace_capture *capture);
void trace_spans_free(struct trace_spans *spans);

#endif
