/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures: how long a GPU had nothing to do, from a record of what ran on it when, and which
 * part of that the data caused. Pure arithmetic over one device; docs/idle.md explains the figures.
 *
 * With W the window, P the program's own kernels, K all kernels (P, sluice's, NCCL's), M copies and
 * fills, H the host's waits for data and D the stream's stalls for it, |.| the length of a union:
 *   SM idle        1 - |K| / |W|          compute idle  1 - |P| / |W|
 *   data-caused    |(W - P) & (H + D)| / |W|              other idle    compute idle - data-caused
 *   exposed copy   |M - K| / |W|
 * H and D are known only where the program writes marks; without them only a lower bound of the
 * data-caused part is known: the GPU computed nothing while a copy from the host to it was running.
 */
#ifndef TOOL_IDLE_FIGURES_H
#define TOOL_IDLE_FIGURES_H

#include "intervals.h"

/* The activity of one device; times in nanoseconds of one clock. All zero is an empty trace. */
struct idle_trace {
    struct interval_set program, sluice, nccl;    /* kernels */
    struct interval_set copies_in, copies, fills; /* host to device; other copies; memsets */
    struct interval_set waits, stalls;            /* marks */
    int64_t *steps;                               /* marks: the ends of steps */
    size_t step_count, step_capacity;
    uint64_t kernels, memory_operations, wait_marks, stall_marks;
    bool failed; /* no memory for a step */
};

/* The part of the trace to examine. */
struct idle_window_options {
    double skip_s;       /* from the first kernel on; below 0: choose */
    double length_s;     /* 0: to the end of the last kernel */
    uint64_t skip_steps; /* if there are step marks and skip_s is below 0 */
};

struct idle_window {
    int64_t start, end;
    double skipped_s; /* from the first kernel's beginning */
    uint64_t steps;   /* whole steps inside; the window's borders are then step marks */
};

struct idle_figures {
    struct idle_window window;
    double sm_idle, compute_idle, exposed_copy, exposed_copy_in; /* fractions of the window */
    double idle_in_copy_in;         /* compute idle while a copy from the host ran */
    double data_idle, other_idle;   /* only with marks */
    double wait_share, stall_share; /* |H| / |W|, |D| / |W|; only with marks */
    double step_p50_s, step_p99_s;  /* only with two or more step marks */
    bool has_marks;
};

void idle_trace_step(struct idle_trace *trace, int64_t when);
/* Sorts everything; called once, after the last record. False: no memory. */
bool idle_trace_finish(struct idle_trace *trace);
void idle_trace_free(struct idle_trace *trace);

/*
 * Chooses the window of a finished trace. If the caller sets no skip: skips `skip_steps` steps if
 * there are at least twice as many, else a quarter of the time, at most 10 s. False: no kernel of
 * the program ran in it (`*window` is then the whole trace).
 */
bool idle_choose_window(const struct idle_trace *trace, const struct idle_window_options *options,
                        struct idle_window *window);

/* Computes the results of a finished trace and a window that is not empty. False: no memory. */
bool idle_compute(const struct idle_trace *trace, const struct idle_window *window,
                  struct idle_figures *figures);

#endif
