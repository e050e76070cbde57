/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the idle statistics with a count of single nanoseconds and with cases worked out by
 * hand. */
#include "test.h"

#include "../../tools/sluice/idle/figures.h"

#include <math.h>
#include <string.h>

enum { SPAN = 400, KINDS = 8, ROUNDS = 1500 };
enum { PROGRAM, SLUICE, NCCL, COPY_IN, COPY, FILL, WAIT, STALL };

static uint32_t seed = 777;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static struct interval_set *set_of(struct idle_trace *trace, int kind)
{
    struct interval_set *sets[KINDS] = {&trace->program,   &trace->sluice, &trace->nccl,
                                        &trace->copies_in, &trace->copies, &trace->fills,
                                        &trace->waits,     &trace->stalls};
    return sets[kind];
}

static void near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9) {
        print_error("%.12f instead of %.12f\n", found, expected);
    }
    assert_true(fabs(found - expected) <= 1e-9);
}

/* Classifies each nanosecond of the window: the work active then, and the statistics it counts
 * for. */
static void expect_counted(bool on[KINDS][SPAN], const struct idle_window *window,
                           const struct idle_figures *figures)
{
    double count[8] = {0};
    for (int64_t i = window->start; i < window->end; i++) {
        bool kernel = on[PROGRAM][i] || on[SLUICE][i] || on[NCCL][i];
        bool memory = on[COPY_IN][i] || on[COPY][i] || on[FILL][i];
        bool mark = on[WAIT][i] || on[STALL][i];
        count[0] += !kernel;
        count[1] += !on[PROGRAM][i];
        count[2] += memory && !kernel;
        count[3] += on[COPY_IN][i] && !kernel;
        count[4] += on[COPY_IN][i] && !on[PROGRAM][i];
        count[5] += mark && !on[PROGRAM][i];
        count[6] += on[WAIT][i];
        count[7] += on[STALL][i];
    }
    double span = (double)(window->end - window->start);
    near(figures->sm_idle, count[0] / span);
    near(figures->compute_idle, count[1] / span);
    near(figures->exposed_copy, count[2] / span);
    near(figures->exposed_copy_in, count[3] / span);
    near(figures->idle_in_copy_in, count[4] / span);
    if (figures->has_marks) {
        near(figures->data_idle, count[5] / span);
        near(figures->other_idle, (count[1] - count[5]) / span);
        near(figures->wait_share, count[6] / span);
        near(figures->stall_share, count[7] / span);
    }
}

static void fill(struct idle_trace *trace, bool on[KINDS][SPAN])
{
    for (int kind = 0; kind < KINDS; kind++) {
        uint32_t count = draw(kind == PROGRAM ? 30 : 8);
        for (uint32_t i = 0; i < count; i++) {
            int64_t start = draw(SPAN - 30);
            int64_t end = start + draw(30);
            intervals_add(set_of(trace, kind), start, end);
            for (int64_t at = start; at < end; at++) {
                on[kind][at] = true;
            }
        }
    }
}

TEST(test_against_counting)
{
    for (int round = 0; round < ROUNDS; round++) {
        static bool on[KINDS][SPAN];
        memset(on, 0, sizeof on);
        struct idle_trace trace = {0};
        fill(&trace, on);
        trace.wait_marks = draw(2);
        assert_true(idle_trace_finish(&trace));
        struct idle_window window = {.start = draw(SPAN / 2)};
        window.end = window.start + 1 + draw(SPAN / 2 - 1);
        struct idle_figures figures;
        assert_true(idle_compute(&trace, &window, &figures));
        assert_int_equal(figures.has_marks, trace.wait_marks > 0);
        expect_counted(on, &window, &figures);
        idle_trace_free(&trace);
    }
}

/* A step of 100 ns, ten times: 60 ns of kernel, then the host waits 30 ns for data, while a kernel
 * of sluice runs for 5 ns and a copy for the last 20 ns of the wait; then 10 ns of nothing. */
static void make_steps(struct idle_trace *trace, int64_t origin)
{
    for (int64_t i = 0; i < 10; i++) {
        int64_t at = origin + i * 100;
        intervals_add(&trace->program, at, at + 60);
        intervals_add(&trace->waits, at + 60, at + 90);
        intervals_add(&trace->sluice, at + 60, at + 65);
        intervals_add(&trace->copies_in, at + 70, at + 90);
        idle_trace_step(trace, at + 100);
        trace->wait_marks++;
    }
    intervals_add(&trace->program, origin + 1000, origin + 1001);
}

TEST(test_steps_by_hand)
{
    struct idle_trace trace = {0};
    make_steps(&trace, 5000);
    assert_true(idle_trace_finish(&trace));
    struct idle_window_options options = {.skip_s = -1, .skip_steps = 2};
    struct idle_window window;
    assert_true(idle_choose_window(&trace, &options, &window));
    assert_int_equal(window.start, 5300);
    assert_int_equal(window.end, 6000);
    assert_int_equal(window.steps, 7);
    struct idle_figures figures;
    assert_true(idle_compute(&trace, &window, &figures));
    assert_true(figures.has_marks);
    near(figures.compute_idle, 0.40);
    near(figures.sm_idle, 0.35);
    near(figures.data_idle, 0.30);
    near(figures.other_idle, 0.10);
    near(figures.exposed_copy, 0.20);
    near(figures.idle_in_copy_in, 0.20);
    near(figures.step_p50_s, 100e-9);
    near(figures.step_p99_s, 100e-9);
    idle_trace_free(&trace);
}

/* A wait that the GPU did not notice, because it still had work, is not idle time. */
TEST(test_hidden_wait)
{
    struct idle_trace trace = {0};
    intervals_add(&trace.program, 0, 1000);
    intervals_add(&trace.waits, 100, 900);
    trace.wait_marks = 1;
    assert_true(idle_trace_finish(&trace));
    struct idle_window window = {.start = 0, .end = 1000};
    struct idle_figures figures;
    assert_true(idle_compute(&trace, &window, &figures));
    near(figures.data_idle, 0);
    near(figures.wait_share, 0.8);
    idle_trace_free(&trace);
}

TEST(test_no_marks)
{
    struct idle_trace trace = {0};
    intervals_add(&trace.program, 0, 50);
    intervals_add(&trace.program, 80, 100);
    intervals_add(&trace.copies_in, 55, 80);
    assert_true(idle_trace_finish(&trace));
    struct idle_window window = {.start = 0, .end = 100};
    struct idle_figures figures;
    assert_true(idle_compute(&trace, &window, &figures));
    assert_false(figures.has_marks);
    near(figures.compute_idle, 0.3);
    near(figures.idle_in_copy_in, 0.25);
    idle_trace_free(&trace);
}

TEST(test_window_by_time)
{
    const int64_t second = 1000000000;
    struct idle_trace trace = {0};
    struct idle_window window;
    struct idle_window_options choose = {.skip_s = -1, .skip_steps = 10};
    assert_true(idle_trace_finish(&trace));
    assert_false(idle_choose_window(&trace, &choose, &window));
    for (int64_t i = 0; i < 100; i++) {
        intervals_add(&trace.program, i * second, i * second + second / 2);
    }
    assert_true(idle_trace_finish(&trace));
    assert_true(idle_choose_window(&trace, &choose, &window)); /* a quarter exceeds 10 s */
    assert_int_equal(window.start, 10 * second);
    assert_int_equal(window.end, 99 * second + second / 2);
    struct idle_window_options part = {.skip_s = 20, .length_s = 30};
    assert_true(idle_choose_window(&trace, &part, &window));
    assert_int_equal(window.start, 20 * second);
    assert_int_equal(window.end, 50 * second);
    near(window.skipped_s, 20);
    struct idle_window_options late = {.skip_s = 1000};
    assert_false(idle_choose_window(&trace, &late, &window));
    assert_int_equal(window.start, 0);
    idle_trace_free(&trace);
}
