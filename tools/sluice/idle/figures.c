/* SPDX-License-Identifier: Apache-2.0 */
/* Set arithmetic over sorted intervals. Main thread; pure except for memory. */
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ns_per_s = 1e9;
enum { FIRST_STEPS = 256 };
static const double skip_max_s = 10;

void idle_trace_step(struct idle_trace *trace, int64_t when)
{
    if (trace->step_count == trace->step_capacity) {
        size_t capacity = trace->step_capacity == 0 ? FIRST_STEPS : trace->step_capacity * 2;
        int64_t *steps = reallocarray(trace->steps, capacity, sizeof *steps);
        if (steps == NULL) {
            trace->failed = true;
            return;
        }
        trace->steps = steps;
        trace->step_capacity = capacity;
    }
    trace->steps[trace->step_count++] = when;
}

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

enum { SETS = 8 };

static void list_sets(struct idle_trace *trace, struct interval_set *sets[SETS])
{
    struct interval_set *all[SETS] = {&trace->program,   &trace->sluice, &trace->nccl,
                                      &trace->copies_in, &trace->copies, &trace->fills,
                                      &trace->waits,     &trace->stalls};
    memcpy(sets, all, sizeof all);
}

bool idle_trace_finish(struct idle_trace *trace)
{
    struct interval_set *sets[SETS];
    list_sets(trace, sets);
    for (size_t i = 0; i < SETS; i++) {
        intervals_normalise(sets[i]);
        trace->failed = trace->failed || sets[i]->failed;
    }
    if (trace->step_count > 1) {
        qsort(trace->steps, trace->step_count, sizeof *trace->steps, by_value);
    }
    return !trace->failed;
}

void idle_trace_free(struct idle_trace *trace)
{
    struct interval_set *sets[SETS];
    list_sets(trace, sets);
    for (size_t i = 0; i < SETS; i++) {
        intervals_free(sets[i]);
    }
    free(trace->steps);
    *trace = (struct idle_trace){0};
}

static int64_t ns_of(double seconds)
{
    return llround(seconds * ns_per_s);
}

/* Returns the index of the first step mark at or after `when`. */
static size_t find_step(const struct idle_trace *trace, int64_t when)
{
    size_t place = 0;
    while (place < trace->step_count && trace->steps[place] < when) {
        place++;
    }
    return place;
}

/* Moves the borders to step marks inside, if there are at least two. */
static void snap_to_steps(const struct idle_trace *trace, struct idle_window *window)
{
    size_t first = find_step(trace, window->start);
    size_t behind = find_step(trace, window->end);
    if (behind < trace->step_count && trace->steps[behind] == window->end) {
        behind++;
    }
    if (behind < first + 2) {
        return;
    }
    window->start = trace->steps[first];
    window->end = trace->steps[behind - 1];
    window->steps = behind - first - 1;
}

static int64_t default_start(const struct idle_trace *trace,
                             const struct idle_window_options *options, struct interval whole)
{
    size_t first = find_step(trace, whole.start);
    /* With few steps, at most half may be dropped. */
    if (trace->step_count - first > 2 * options->skip_steps + 1) {
        return trace->steps[first + options->skip_steps];
    }
    int64_t quarter = (whole.end - whole.start) / 4;
    int64_t most = ns_of(skip_max_s);
    return whole.start + (quarter < most ? quarter : most);
}

bool idle_choose_window(const struct idle_trace *trace, const struct idle_window_options *options,
                        struct idle_window *window)
{
    *window = (struct idle_window){0};
    const struct interval_set *program = &trace->program;
    if (program->count == 0) {
        return false;
    }
    struct interval whole = {program->items[0].start, program->items[program->count - 1].end};
    int64_t start = options->skip_s < 0 ? default_start(trace, options, whole)
                                        : whole.start + ns_of(options->skip_s);
    int64_t end = whole.end;
    if (options->length_s > 0 && start + ns_of(options->length_s) < end) {
        end = start + ns_of(options->length_s);
    }
    struct interval_set inside = intervals_clip(program, start, end);
    bool any = inside.count > 0;
    intervals_free(&inside);
    *window = any ? (struct idle_window){.start = start, .end = end}
                  : (struct idle_window){.start = whole.start, .end = whole.end};
    if (any) {
        snap_to_steps(trace, window);
    }
    window->skipped_s = (double)(window->start - whole.start) / ns_per_s;
    return any;
}

/* Computes *a = *a operation *b. */
static void replace(struct interval_set *a, const struct interval_set *b,
                    enum interval_operation operation)
{
    struct interval_set result = intervals_combine(a, b, operation);
    intervals_free(a);
    *a = result;
}

enum { WINDOW_SETS = 8 };

/* The sets of one window that the results are computed from. */
struct sets {
    struct interval_set kernels, program, idle, copies, copies_in, marks, waits, stalls;
};

static void make_sets(const struct idle_trace *trace, const struct idle_window *window,
                      struct sets *sets)
{
    int64_t start = window->start;
    int64_t end = window->end;
    struct interval_set whole = {0};
    intervals_add(&whole, start, end);
    sets->program = intervals_clip(&trace->program, start, end);
    sets->kernels = intervals_combine(&sets->program, &trace->sluice, INTERVALS_UNION);
    replace(&sets->kernels, &trace->nccl, INTERVALS_UNION);
    replace(&sets->kernels, &whole, INTERVALS_INTERSECTION);
    sets->idle = intervals_combine(&whole, &sets->program, INTERVALS_DIFFERENCE);
    sets->copies_in = intervals_clip(&trace->copies_in, start, end);
    sets->copies = intervals_combine(&trace->copies, &trace->fills, INTERVALS_UNION);
    replace(&sets->copies, &whole, INTERVALS_INTERSECTION);
    replace(&sets->copies, &sets->copies_in, INTERVALS_UNION);
    sets->waits = intervals_clip(&trace->waits, start, end);
    sets->stalls = intervals_clip(&trace->stalls, start, end);
    sets->marks = intervals_combine(&sets->waits, &sets->stalls, INTERVALS_UNION);
    intervals_free(&whole);
}

static bool free_sets(struct sets *sets)
{
    struct interval_set *all[WINDOW_SETS] = {&sets->kernels, &sets->program,   &sets->idle,
                                             &sets->copies,  &sets->copies_in, &sets->marks,
                                             &sets->waits,   &sets->stalls};
    bool fine = true;
    for (size_t i = 0; i < WINDOW_SETS; i++) {
        fine = fine && !all[i]->failed;
        intervals_free(all[i]);
    }
    return fine;
}

/* Returns the length of a combination. */
static double measure(const struct interval_set *a, const struct interval_set *b,
                      enum interval_operation operation, bool *fine)
{
    struct interval_set result = intervals_combine(a, b, operation);
    double length = (double)intervals_length(&result);
    *fine = *fine && !result.failed;
    intervals_free(&result);
    return length;
}

static bool step_times(const struct idle_trace *trace, struct idle_figures *figures)
{
    size_t count = (size_t)figures->window.steps;
    if (count == 0) {
        return true;
    }
    size_t first = find_step(trace, figures->window.start);
    int64_t *times = calloc(count, sizeof *times);
    if (times == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        times[i] = trace->steps[first + i + 1] - trace->steps[first + i];
    }
    qsort(times, count, sizeof *times, by_value);
    size_t middle = (count - 1) / 2;
    size_t late = (count * 99 - 1) / 100;
    figures->step_p50_s = (double)times[middle] / ns_per_s;
    figures->step_p99_s = (double)times[late] / ns_per_s;
    free(times);
    return true;
}

bool idle_compute(const struct idle_trace *trace, const struct idle_window *window,
                  struct idle_figures *figures)
{
    *figures = (struct idle_figures){.window = *window};
    double span = (double)(window->end - window->start);
    struct sets sets;
    make_sets(trace, window, &sets);
    bool fine = true;
    /* A mark of zero length counts, too: it means that there was no wait. */
    figures->has_marks = trace->wait_marks + trace->stall_marks > 0;
    figures->sm_idle = 1 - (double)intervals_length(&sets.kernels) / span;
    figures->compute_idle = 1 - (double)intervals_length(&sets.program) / span;
    figures->exposed_copy =
        measure(&sets.copies, &sets.kernels, INTERVALS_DIFFERENCE, &fine) / span;
    figures->exposed_copy_in =
        measure(&sets.copies_in, &sets.kernels, INTERVALS_DIFFERENCE, &fine) / span;
    figures->idle_in_copy_in =
        measure(&sets.idle, &sets.copies_in, INTERVALS_INTERSECTION, &fine) / span;
    if (figures->has_marks) {
        figures->data_idle = measure(&sets.idle, &sets.marks, INTERVALS_INTERSECTION, &fine) / span;
        figures->other_idle = figures->compute_idle - figures->data_idle;
        figures->wait_share = (double)intervals_length(&sets.waits) / span;
        figures->stall_share = (double)intervals_length(&sets.stalls) / span;
    }
    fine = step_times(trace, figures) && fine;
    return free_sets(&sets) && fine;
}
