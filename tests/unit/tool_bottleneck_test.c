/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the verdict of `sluice bench` on recorded statistics. */
#include "test.h"

#include "../../tools/sluice/bench/bottleneck.h"

#include <string.h>

static const uint64_t second_ns = 1000000000;

struct recorded {
    sluice_loader_stats all;
    struct bottleneck_stages in;
};

/* Ten seconds of two workers. */
static struct recorded stats_of(uint64_t decode_s, uint64_t augment_s)
{
    struct recorded stats = {.all = {.struct_size = sizeof stats.all, .workers = 2}};
    strcpy(stats.all.io_backend, "pread");
    stats.in.decode.busy_ns = decode_s * second_ns;
    stats.in.augment.busy_ns = augment_s * second_ns;
    stats.in.decode.depth[16] = 100; /* full */
    return stats;
}

static struct bottleneck_run run_of(const struct recorded *stats)
{
    return (struct bottleneck_run){.stats = &stats->all,
                                   .stages = &stats->in,
                                   .batches = BOTTLENECK_BATCHES_LEAST,
                                   .seconds = 10,
                                   .processors = 2};
}

static void expect(const struct bottleneck_run *run, enum bottleneck kind, const char *words)
{
    char text[400];
    assert_int_equal(bottleneck_find(run), kind);
    bottleneck_describe(run, text, sizeof text);
    assert_non_null(strstr(text, words));
    assert_true(strlen(text) < sizeof text - 1);
}

TEST(test_queue_fill)
{
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

TEST(test_workers_limit)
{
    struct recorded stats = stats_of(15, 4);
    struct bottleneck_run run = run_of(&stats);
    expect(&run, BOTTLENECK_DECODE,
           "decode-bound: 2 of 2 workers busy 95 % (79 % of that decoding), reads idle; only more "
           "cores would help");
    run.packing = "a third less";
    expect(&run, BOTTLENECK_DECODE,
           "reads idle; packing (`sluice pack`) would help: a third less; so would more cores");
    run.packing = "";
    expect(&run, BOTTLENECK_DECODE, "packing (`sluice pack`) would help; so would more cores");
    run.processors = 8;
    expect(&run, BOTTLENECK_DECODE, "would help; more --workers would help (8 processors)");
    run.packing = NULL;
    expect(&run, BOTTLENECK_DECODE, "more --workers would help (8 processors)");
    stats.in.read.busy_ns = 4 * second_ns;
    expect(&run, BOTTLENECK_DECODE, "reads in flight 40 % of the time");
    stats = stats_of(8, 10);
    expect(&run, BOTTLENECK_AUGMENT, "augment-bound");
    run.packing = ""; /* packing only helps decoding */
    run.processors = 2;
    expect(&run, BOTTLENECK_AUGMENT, "only more cores would help");
}

/* Regardless of the shares: those of so few steps belong to a pipeline that is still filling. */
TEST(test_few_batches_are_no_verdict)
{
    struct recorded stats = stats_of(15, 4);
    struct bottleneck_run run = run_of(&stats);
    run.batches = BOTTLENECK_BATCHES_LEAST - 1;
    expect(&run, BOTTLENECK_UNKNOWN, "too few steps for a verdict: 9 of 10");
    run.consumer = CONSUMER_EMULATED;
    run.advice = "compressed";
    expect(&run, BOTTLENECK_UNKNOWN, "too few steps for a verdict: 9 of 10");
    run.batches = 0;
    expect(&run, BOTTLENECK_UNKNOWN, "0 of 10");
    run.batches = BOTTLENECK_BATCHES_LEAST;
    expect(&run, BOTTLENECK_CONSUMER, "accelerator-bound");
}

/* 19 s of work for 1900 rows: 10 ms per row; 510 rows/s would take 5.1 cores. */
TEST(test_cores_missing)
{
    struct recorded stats = stats_of(15, 4);
    stats.all.samples = 1900;
    struct bottleneck_run run = run_of(&stats);
    run.consumer = CONSUMER_EMULATED;
    run.data_idle = 0.6;
    run.rows_per_s = 510;
    expect(&run, BOTTLENECK_DECODE, "3.1 more cores would feed this step");
    run.rows_per_s = 190;
    expect(&run, BOTTLENECK_DECODE, "they could just feed this step");
    run.processors = 4;
    expect(&run, BOTTLENECK_DECODE, "more --workers");
}

static void expect_advice(const struct bottleneck_run *run, const char *line)
{
    char text[320];
    bottleneck_advise(run, text, sizeof text);
    assert_string_equal(text, line);
}

/* The numbers are those of test_cores_missing. */
TEST(test_advice_is_one_line_that_says_what_to_do)
{
    struct recorded stats = stats_of(15, 4);
    stats.all.samples = 1900;
    struct bottleneck_run run = run_of(&stats);
    run.consumer = CONSUMER_EMULATED;
    run.data_idle = 0.603;
    run.rows_per_s = 510;
    expect_advice(&run, "the accelerator would wait for data 60.3 % of the time; decoding limits: "
                        "use 3.1 more CPU cores");
    run.packing = "a third less";
    expect_advice(&run, "the accelerator would wait for data 60.3 % of the time; decoding limits: "
                        "pack the dataset (`sluice pack`), or use 3.1 more CPU cores");
    run.processors = 8;
    run.packing = NULL;
    run.consumer = CONSUMER_GPU;
    expect_advice(&run, "the GPU waited for data 60.3 % of the time; decoding limits: give more "
                        "--workers (of 8 CPUs)");
    run.data_idle = 0.004;
    expect_advice(&run, "the GPU waited for data 0.4 % of the time; data loading keeps up, there "
                        "is nothing to do");
    run.batches = BOTTLENECK_BATCHES_LEAST - 1;
    expect_advice(&run, "too few steps for a verdict: 9 of 10; give more --steps or --seconds");

    stats = stats_of(4, 15);
    stats.all.samples = 1900;
    run = run_of(&stats);
    run.consumer = CONSUMER_EMULATED;
    run.data_idle = 0.1;
    run.rows_per_s = 190;
    run.packing = "";
    expect_advice(&run, "the accelerator would wait for data 10.0 % of the time; augmentation just "
                        "about keeps up: run nothing else on these CPUs");

    stats = stats_of(5, 2);
    stats.in.decode.depth[16] = 5;
    stats.in.decode.depth[0] = 95;
    run.files = true;
    expect_advice(&run, "the accelerator would wait for data 10.0 % of the time; reading limits: "
                        "pack the dataset (`sluice pack`), or use faster storage");
    stats.all.unpack_ns = 9 * second_ns;
    expect_advice(&run, "the accelerator would wait for data 10.0 % of the time; unpacking limits: "
                        "pack the dataset (`sluice pack`)");
    stats.in.upload.busy_ns = 9 * second_ns;
    expect_advice(&run, "the accelerator would wait for data 10.0 % of the time; copies to the "
                        "device limit: use a smaller --dtype");
    stats = stats_of(5, 2);
    expect_advice(&run, "the accelerator would wait for data 10.0 % of the time; no stage is busy "
                        "all the time: measure longer (--seconds 30s), with nothing else running");
}

TEST(test_reading_limits)
{
    struct recorded stats = stats_of(5, 2);
    stats.in.decode.depth[16] = 5;
    stats.in.decode.depth[0] = 95;
    struct bottleneck_run run = run_of(&stats);
    run.data_idle = 0.9;
    assert_true(bottleneck_queue_empty(&stats.in.decode) == 0.95);
    expect(&run, BOTTLENECK_READ,
           "read-bound: workers busy only 35 %, their queue empty for 95 % of the samples (pread); "
           "faster storage would help");
    run.files = true;
    expect(&run, BOTTLENECK_READ,
           "faster storage or packed shards (`sluice pack`), which are read in long pieces, would "
           "help");
    run.files = false;
    run.advice = "compressed: pack";
    expect(&run, BOTTLENECK_READ, "faster storage would help; it is compressed: pack");
    stats = stats_of(15, 4);
    expect(&run, BOTTLENECK_DECODE, "only more cores would help; it is compressed: pack");
}

/* Recorded: free slots kept the queue at a quarter of its capacity, and no worker starved. */
TEST(test_bounded_by_slots)
{
    static const uint64_t depth[SLUICE_HISTOGRAM_BINS] = {65, 66, 65, 68, 1494, 42};
    struct recorded stats = stats_of(5, 2);
    memcpy(stats.in.decode.depth, depth, sizeof depth);
    struct bottleneck_run run = run_of(&stats);
    expect(&run, BOTTLENECK_NONE, "no stage is busy");
    stats = stats_of(14, 5);
    memcpy(stats.in.decode.depth, depth, sizeof depth);
    expect(&run, BOTTLENECK_DECODE, "decode-bound");
}

TEST(test_copies_limit)
{
    struct recorded stats = stats_of(5, 2);
    stats.in.upload.busy_ns = 9 * second_ns;
    stats.in.upload.items = 123;
    strcpy(stats.all.pinning, "pageable");
    struct bottleneck_run run = run_of(&stats);
    run.consumer = CONSUMER_GPU;
    run.data_idle = 0.3;
    expect(&run, BOTTLENECK_COPY,
           "copy-bound: copies to the device in flight 90 % of the time, 12.3 batches/s, slots "
           "pinned: pageable");
}

TEST(test_consumer_limits)
{
    struct recorded stats = stats_of(5, 2);
    struct bottleneck_run run = run_of(&stats);
    run.consumer = CONSUMER_GPU;
    run.data_idle = 0.004;
    expect(&run, BOTTLENECK_CONSUMER, "GPU-bound: data-caused idle 0.4 % (workers busy 35 %)");
    run.consumer = CONSUMER_EMULATED;
    expect(&run, BOTTLENECK_CONSUMER, "accelerator-bound (emulated): data-caused idle 0.4 %");
    /* A consumer that waits is not the limit, however long its step is. */
    run.data_idle = 0.3;
    expect(&run, BOTTLENECK_NONE, "no stage is busy");
    /* Without steps, the consumer cannot be the cause. */
    run.consumer = CONSUMER_FREE;
    run.data_idle = 0;
    expect(&run, BOTTLENECK_NONE, "workers 35 %");
}

TEST(test_stats_of_windows)
{
    struct recorded sum = {.all = {.struct_size = sizeof sum.all}};
    struct recorded before = stats_of(5, 2);
    struct recorded after = stats_of(9, 3);
    before.all.samples = 100;
    after.all.samples = 250;
    before.all.ready_depth[3] = 1;
    after.all.ready_depth[3] = 8;
    after.in.decode.depth[16] = 400;
    for (uint64_t window = 1; window <= 2; window++) {
        bottleneck_add_stats(&sum.all, &before.all, &after.all);
        bottleneck_add_stages(&sum.in, &before.in, &after.in);
        assert_int_equal(sum.all.samples, window * 150);
        assert_int_equal(sum.in.decode.busy_ns, window * 4 * second_ns);
        assert_int_equal(sum.in.augment.busy_ns, window * second_ns);
        assert_int_equal(sum.in.decode.depth[16], window * 300);
        assert_int_equal(sum.all.ready_depth[3], window * 7);
        assert_int_equal(sum.all.workers, 2);
        assert_string_equal(sum.all.io_backend, "pread");
    }
}
