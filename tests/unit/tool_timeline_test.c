/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the timeline of a page: every lane extends to the end of the drawing, regardless of the
 * amount of data, and everything drawn was recorded completely. */
#include "test.h"

#include "../../tools/sluice/bench/trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 5, SPANS_MAX = 40000, LANES = 64 };

/* Values of a page. */
static struct {
    double ms;
    size_t count;
    double first[LANES], last[LANES]; /* per thread: first begin, last end */
    size_t of[LANES];
} page;

/* All events are work on threads. */
static void read_page(const char *text)
{
    memset(&page, 0, sizeof page);
    const char *at = strstr(text, "\"ms\":");
    assert_non_null(at);
    page.ms = strtod(at + strlen("\"ms\":"), NULL);
    for (at = strstr(at, "\n["); at != NULL; at = strstr(at + 1, "\n[")) {
        double numbers[5]; /* group, kind, track, begin, end */
        char *rest = NULL;
        const char *from = at + strlen("\n[");
        for (int i = 0; i < 5; i++) {
            numbers[i] = strtod(from, &rest);
            assert_true(rest > from && *rest == ',');
            from = rest + 1;
        }
        const size_t track = (size_t)numbers[2];
        const double begin = numbers[3];
        const double end = numbers[4];
        assert_true(track < LANES && begin < page.ms && end > 0);
        if (numbers[0] == 1) {
            page.first[track] = page.of[track] == 0 ? begin : page.first[track];
            page.last[track] = end;
            page.of[track]++;
            page.count++;
        }
    }
}

static void draw(const struct trace_capture *capture)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    assert_non_null(memory);
    assert_true(trace_file_write_timeline(memory, capture, 1));
    assert_int_equal(fclose(memory), 0);
    read_page(text);
    free(text);
}

/* Threads that work without a pause from 0 to `ms`, in pieces of `piece_us`. */
static struct trace_capture busy(uint64_t ms, uint64_t piece_us)
{
    struct trace_capture capture = {.name = "test", .thread_count = THREADS};
    const size_t each = (size_t)(ms * 1000 / piece_us);
    capture.events = calloc(each * THREADS, sizeof *capture.events);
    assert_non_null(capture.events);
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        for (size_t i = 0; i < each; i++) {
            capture.events[capture.count++] =
                (sluice_trace_event){.begin_ns = i * piece_us * 1000,
                                     .end_ns = (i + 1) * piece_us * 1000,
                                     .kind = SLUICE_TRACE_DECODE,
                                     .thread = thread,
                                     .sample = 1};
        }
    }
    return capture;
}

static void expect_whole_lanes(double piece_ms)
{
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        assert_true(page.of[thread] > 0);
        assert_true(page.first[thread] <= 0);
        assert_true(page.last[thread] >= page.ms - 0.001);
        assert_true(page.last[thread] <= page.ms + piece_ms);
    }
}

TEST(lanes_go_to_the_end_however_many_spans_there_are)
{
    for (uint64_t piece_us = 20; piece_us < 50000; piece_us *= 7) {
        struct trace_capture capture = busy(1000, piece_us);
        draw(&capture);
        expect_whole_lanes((double)piece_us / 1000);
        assert_true(page.count <= 4000 + THREADS);
        assert_true(page.ms > 10 && page.ms < 300.001);
        trace_capture_free(&capture);
    }
}

/* Shorter than a page usually draws: nothing is drawn past the end. */
TEST(the_window_ends_with_the_recording)
{
    struct trace_capture capture = busy(100, 1000);
    draw(&capture);
    expect_whole_lanes(1);
    assert_true(page.ms > 99.9 && page.ms < 100.1);
    trace_capture_free(&capture);
}

TEST(steps_are_drawn_from_where_all_is_known)
{
    struct trace_capture capture = busy(1000, 500);
    capture.step_count = 100;
    capture.steps = calloc(capture.step_count, sizeof *capture.steps);
    assert_non_null(capture.steps);
    for (size_t i = 0; i < capture.step_count; i++) {
        const double at = (double)i / 100;
        capture.steps[i] = (struct bench_step){
            .asked = at, .got = at, .reached = at, .begin = at, .end = at + 0.01};
    }
    draw(&capture);
    expect_whole_lanes(0.5);
    assert_true(page.ms > 119.9 && page.ms < 120.1); /* twelve steps */
    /* Thread 0 recorded so much that its first 0.8 s were lost. */
    size_t kept = 0;
    for (size_t i = 0; i < capture.count; i++) {
        const sluice_trace_event *event = &capture.events[i];
        if (event->thread != 0 || event->begin_ns >= 800000000) {
            capture.events[kept++] = *event;
        }
    }
    capture.count = kept;
    capture.whole_from = 0.8;
    draw(&capture);
    expect_whole_lanes(0.5);
    assert_true(page.ms > 119.9 && page.ms < 120.1);
    trace_capture_free(&capture);
}
