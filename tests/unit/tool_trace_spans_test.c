/* SPDX-License-Identifier: Apache-2.0 */
/* Tests recordings as intervals: the lives of slots, with and without device memory, complete and
 * cut off. */
#include "test.h"

#include "../../tools/sluice/bench/trace_spans.h"

#include <math.h>

/* Times in milliseconds. */
static sluice_trace_event moment(sluice_trace_kind kind, uint64_t ms, uint64_t ticket,
                                 uint32_t slot)
{
    return (sluice_trace_event){.begin_ns = ms * 1000000,
                                .end_ns = ms * 1000000,
                                .ticket = ticket,
                                .sample = -1,
                                .kind = (uint32_t)kind,
                                .slot = slot};
}

static sluice_trace_event work(sluice_trace_kind kind, uint64_t from, uint64_t to, uint64_t ticket)
{
    sluice_trace_event event = moment(kind, from, ticket, 0);
    event.end_ns = to * 1000000;
    event.sample = 7;
    event.thread = 1;
    return event;
}

static struct trace_spans spans_of(sluice_trace_event *events, size_t count)
{
    const struct trace_capture capture = {.name = "test", .events = events, .count = count};
    struct trace_spans spans;
    assert_true(trace_spans_make(&spans, &capture));
    for (size_t i = 0; i < spans.count; i++) {
        assert_true(spans.at[i].end >= spans.at[i].begin);
    }
    return spans;
}

/* Checks that there is one such span, with these ends in milliseconds. */
static void expect(const struct trace_spans *spans, enum trace_group group,
                   enum trace_span_kind kind, uint64_t number, double begin, double end)
{
    size_t found = 0;
    for (size_t i = 0; i < spans->count; i++) {
        const struct trace_span *span = &spans->at[i];
        if (span->group == group && span->kind == kind && span->number == number) {
            assert_true(fabs(span->begin * 1e3 - begin) < 1e-6);
            assert_true(fabs(span->end * 1e3 - end) < 1e-6);
            found++;
        }
    }
    assert_int_equal(found, 1);
}

static size_t count_kind(const struct trace_spans *spans, enum trace_span_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++) {
        count += spans->at[i].kind == kind;
    }
    return count;
}

/* Two batches through slot 0, out of order, as threads write them. */
TEST(test_host_memory)
{
    sluice_trace_event events[] = {
        moment(SLUICE_TRACE_TAKEN, 50, 0, 0), moment(SLUICE_TRACE_FREE, 90, 0, 0),
        moment(SLUICE_TRACE_FILL, 90, 4, 0),  moment(SLUICE_TRACE_FILL, 10, 0, 0),
        moment(SLUICE_TRACE_FULL, 30, 0, 0),  moment(SLUICE_TRACE_READY, 30, 0, 0),
        work(SLUICE_TRACE_DECODE, 12, 20, 0), work(SLUICE_TRACE_AUGMENT, 20, 22, 0),
        work(SLUICE_TRACE_READ, 5, 120, 0),
    };
    /* The lock prevents a slot from being freed and refilled within the clock's resolution. */
    events[2].begin_ns++;
    events[2].end_ns++;
    struct trace_spans spans = spans_of(events, sizeof events / sizeof *events);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_BATCH, 0, 10, 90);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_FILL, 0, 10, 30);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_READY, 0, 30, 50);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_HELD, 0, 50, 90);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_BATCH, 4, 90.000001, 120); /* cut off by the end */
    expect(&spans, GROUP_HOST_SLOTS, SPAN_FILL, 4, 90.000001, 120);
    expect(&spans, GROUP_THREADS, SPAN_DECODE, 0, 12, 20);
    expect(&spans, GROUP_THREADS, SPAN_AUGMENT, 0, 20, 22);
    expect(&spans, GROUP_READS, SPAN_READ, 0, 5, 120);
    assert_int_equal(count_kind(&spans, SPAN_COPY), 0);
    assert_int_equal(spans.count, 9);
    trace_spans_free(&spans);
}

TEST(test_device_memory)
{
    sluice_trace_event events[] = {
        moment(SLUICE_TRACE_FILL, 10, 3, 1),  moment(SLUICE_TRACE_FULL, 30, 3, 1),
        moment(SLUICE_TRACE_COPY, 35, 3, 1),  moment(SLUICE_TRACE_READY, 36, 3, 2),
        moment(SLUICE_TRACE_DONE, 45, 3, 1),  moment(SLUICE_TRACE_FILL, 46, 7, 1),
        moment(SLUICE_TRACE_TAKEN, 60, 3, 2), moment(SLUICE_TRACE_FREE, 70, 3, 2),
    };
    struct trace_spans spans = spans_of(events, sizeof events / sizeof *events);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_BATCH, 3, 10, 45);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_FILL, 3, 10, 30);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_COPY, 3, 35, 45);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_BATCH, 7, 46, 70);
    expect(&spans, GROUP_DEVICE_SLOTS, SPAN_BATCH, 3, 36, 70);
    expect(&spans, GROUP_DEVICE_SLOTS, SPAN_READY, 3, 36, 60);
    expect(&spans, GROUP_DEVICE_SLOTS, SPAN_HELD, 3, 60, 70);
    trace_spans_free(&spans);
}

/* The ring kept only the newest events; a cancelled batch has no end of its own. */
TEST(test_cut_and_dropped)
{
    sluice_trace_event events[] = {
        moment(SLUICE_TRACE_FREE, 5, 1, 0),   moment(SLUICE_TRACE_FULL, 6, 2, 3),
        moment(SLUICE_TRACE_TAKEN, 7, 2, 3),  moment(SLUICE_TRACE_FREE, 8, 2, 3),
        moment(SLUICE_TRACE_FILL, 10, 8, 0),  moment(SLUICE_TRACE_FILL, 20, 9, 0),
        moment(SLUICE_TRACE_FULL, 25, 9, 0),  moment(SLUICE_TRACE_FREE, 30, 9, 64),
        moment(SLUICE_TRACE_READY, 40, 9, 0), moment((sluice_trace_kind)77, 40, 9, 0),
    };
    struct trace_spans spans = spans_of(events, sizeof events / sizeof *events);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_BATCH, 8, 10, 20);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_BATCH, 9, 20, 40);
    assert_int_equal(count_kind(&spans, SPAN_BATCH), 2);
    trace_spans_free(&spans);
}

/* In file order: by group, track and start, with the enclosing span before the enclosed one. */
TEST(test_order)
{
    sluice_trace_event events[] = {
        moment(SLUICE_TRACE_FILL, 10, 0, 1), moment(SLUICE_TRACE_FILL, 10, 1, 0),
        moment(SLUICE_TRACE_FULL, 30, 0, 1), moment(SLUICE_TRACE_TAKEN, 30, 0, 1),
        moment(SLUICE_TRACE_FREE, 40, 0, 1), work(SLUICE_TRACE_DECODE, 12, 20, 0),
    };
    struct bench_step step = {
        .asked = 0.03, .got = 0.031, .reached = 0.031, .begin = 0.031, .end = 0.04};
    const struct trace_capture capture = {
        .name = "test", .events = events, .count = 6, .steps = &step, .step_count = 1};
    struct trace_spans spans;
    assert_true(trace_spans_make(&spans, &capture));
    for (size_t i = 1; i < spans.count; i++) {
        const struct trace_span *a = &spans.at[i - 1];
        const struct trace_span *b = &spans.at[i];
        assert_true(a->group <= b->group);
        assert_true(a->group < b->group || a->track <= b->track);
        const bool same = a->group == b->group && a->track == b->track;
        assert_true(!same || a->begin <= b->begin);
        assert_true(!same || a->begin < b->begin || a->end >= b->end);
    }
    expect(&spans, GROUP_STEPS, SPAN_WAIT, 0, 30, 31);
    expect(&spans, GROUP_STEPS, SPAN_STEP, 0, 31, 40);
    trace_spans_free(&spans);
}

/* The last step ends after the library's last event: the batch is held until then. */
TEST(test_lives_go_on_to_the_last_step)
{
    sluice_trace_event events[] = {
        moment(SLUICE_TRACE_FILL, 10, 0, 1),
        moment(SLUICE_TRACE_FULL, 20, 0, 1),
        moment(SLUICE_TRACE_TAKEN, 30, 0, 1),
        moment(SLUICE_TRACE_FILL, 31, 1, 0),
    };
    struct bench_step step = {
        .asked = 0.03, .got = 0.03, .reached = 0.03, .begin = 0.03, .end = 0.09};
    const struct trace_capture capture = {
        .name = "test", .events = events, .count = 4, .steps = &step, .step_count = 1};
    struct trace_spans spans;
    assert_true(trace_spans_make(&spans, &capture));
    expect(&spans, GROUP_HOST_SLOTS, SPAN_HELD, 0, 30, 90);
    expect(&spans, GROUP_HOST_SLOTS, SPAN_FILL, 1, 31, 90);
    trace_spans_free(&spans);
}
