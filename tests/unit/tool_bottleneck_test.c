/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence of `sluice bench` from recorded statistics. */
#include "../../tools/sluice/bottleneck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t second_ns = 1000000000;

/* Ten seconds of two workers. */
static sluice_loader_stats stats_of(uint64_t decode_s, uint64_t augment_s)
{
    sluice_loader_stats stats = {.struct_size = sizeof stats, .workers = 2};
    strcpy(stats.io_backend, "pread");
    stats.decode.busy_ns = decode_s * second_ns;
    stats.augment.busy_ns = augment_s * second_ns;
    stats.decode.depth[16] = 100; /* full */
    return stats;
}

static struct bottleneck_run run_of(const sluice_loader_stats *stats)
{
    return (struct bottleneck_run){.stats = stats, .seconds = 10, .processors = 2};
}

static void expect(const struct bottleneck_run *run, enum bottleneck kind, const char *words)
{
    char text[320];
    assert_int_equal(bottleneck_find(run), kind);
    bottleneck_describe(run, text, sizeof text);
    assert_non_null(strstr(text, words));
    assert_true(strlen(text) < sizeof text - 1);
}

static void test_queue_fill(void **state)
{
    (void)state;
    sluice_stage_stats stage = {0};
    assert_true(bottleneck_queue_fill(&stage) == 0);
    stage.depth[0] = 3;
    assert_true(bottleneck_queue_fill(&stage) == 0);
    stage.depth[16] = 1;
    assert_true(bottleneck_queue_fill(&stage) == 0.25);
    stage.depth[16] = 3;
    assert_true(bottleneck_queue_fill(&stage) == 0.5);
    stage.depth[0] = 0;
    assert_true(bottleneck_queue_fill(&stage) == 1);
}

static void test_workers_limit(void **state)
{
    (void)state;
    sluice_loader_stats stats = stats_of(15, 4);
    struct bottleneck_run run = run_of(&stats);
    expect(&run, BOTTLENECK_DECODE, "decoding limits: the 2 workers are busy 95 %");
    expect(&run, BOTTLENECK_DECODE, "79 % of that decoding and 21 % augmenting");
    expect(&run, BOTTLENECK_DECODE, "only more processors");
    run.processors = 8;
    expect(&run, BOTTLENECK_DECODE, "more --workers");
    stats = stats_of(8, 10);
    expect(&run, BOTTLENECK_AUGMENT, "augmenting limits");
}

static void test_reading_limits(void **state)
{
    (void)state;
    sluice_loader_stats stats = stats_of(5, 2);
    stats.decode.depth[16] = 5;
    stats.decode.depth[0] = 95;
    struct bottleneck_run run = run_of(&stats);
    run.wait_share = 0.9;
    assert_true(bottleneck_queue_empty(&stats.decode) == 0.95);
    expect(&run, BOTTLENECK_READ,
           "busy only 35 % of the time and find their queue empty for 95 % of the samples (pread)");
}

/* Recorded: free slots kept the queue at a quarter of its capacity, and no worker starved. */
static void test_bounded_by_slots(void **state)
{
    (void)state;
    static const uint64_t depth[SLUICE_HISTOGRAM_BINS] = {65, 66, 65, 68, 1494, 42};
    sluice_loader_stats stats = stats_of(5, 2);
    memcpy(stats.decode.depth, depth, sizeof depth);
    struct bottleneck_run run = run_of(&stats);
    expect(&run, BOTTLENECK_NONE, "no stage is busy");
    stats = stats_of(14, 5);
    memcpy(stats.decode.depth, depth, sizeof depth);
    expect(&run, BOTTLENECK_DECODE, "decoding limits");
}

static void test_upload_limits(void **state)
{
    (void)state;
    sluice_loader_stats stats = stats_of(5, 2);
    stats.upload.busy_ns = 9 * second_ns;
    struct bottleneck_run run = run_of(&stats);
    expect(&run, BOTTLENECK_UPLOAD, "90 %");
}

static void test_consumer_limits(void **state)
{
    (void)state;
    sluice_loader_stats stats = stats_of(5, 2);
    struct bottleneck_run run = run_of(&stats);
    run.step_s = 0.1;
    run.wait_share = 0.01;
    expect(&run, BOTTLENECK_CONSUMER, "waited for data 1.0 % of the time");
    /* A consumer that waits is not the limit, however long its step is. */
    run.wait_share = 0.3;
    expect(&run, BOTTLENECK_NONE, "no stage is busy");
    /* Without an emulated step nothing can be the consumer's fault. */
    run.step_s = 0;
    run.wait_share = 0;
    expect(&run, BOTTLENECK_NONE, "workers 35 %");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_fill),     cmocka_unit_test(test_workers_limit),
        cmocka_unit_test(test_reading_limits), cmocka_unit_test(test_bounded_by_slots),
        cmocka_unit_test(test_upload_limits),  cmocka_unit_test(test_consumer_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
