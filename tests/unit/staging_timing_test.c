/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the consumer's stream by the device's clock: stalls where the copy is late, work where the
 * kernel is long, nothing lost and no waiting. Streams are made late by holding them. */
#include "clock.h"
#include "staging_rig.h"
#include "test.h"

#include <string.h>

#define BATCH 2U
#define IMAGE 64U
#define MS    INT64_C(1000000)
#define LONG  (20000 * MS)

static void open_rig(rig *r, uint32_t host_slots, uint32_t device_slots)
{
    const rig_options options = {.host_slots = host_slots,
                                 .device_slots = device_slots,
                                 .batch = BATCH,
                                 .image_bytes = IMAGE,
                                 .fake = {.seed = 1}};
    assert_int_equal(rig_open(r, RIG_FAKE, &options, NULL), SLUICE_OK);
}

static sl_staging_stats stats_of(rig *r)
{
    sl_staging_stats stats;
    memset(&stats, 0, sizeof(stats));
    sl_staging_get_stats(r->staging, &stats);
    return stats;
}

static sluice_batch *next(rig *r, uint64_t step)
{
    sluice_batch *batch = NULL;
    assert_true(rig_fill(r, 1, step, BATCH) >= 0);
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
    return batch;
}

static void work_for(void *ctx)
{
    const int64_t *ns = ctx;
    sl_sleep_until_ns(sl_now_ns() + (uint64_t)*ns);
}

/* Runs one step whose kernel takes `ns`. */
static void do_step(rig *r, uint64_t step, int64_t *ns)
{
    sluice_batch *batch = next(r, step);
    assert_int_equal(sl_staging_wait(batch, r->stream), SLUICE_OK);
    fake_kernel(r->fake, r->stream, batch->parts[RIG_IMAGE], work_for, ns);
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_OK);
}

static void close_rig(rig *r)
{
    assert_int_equal(rig_close(r), 0);
}

/* Steps are read when the consumer waits for a later batch; the first step only provides the
 * start. */
TEST(work_is_measured)
{
    enum { STEPS = 8 };
    rig r;
    int64_t took = 4 * MS;
    open_rig(&r, 4, 3);
    for (uint64_t step = 0; step < STEPS; step++) {
        do_step(&r, step, &took);
        fake_stream_synchronize(r.fake, r.stream);
    }
    const sl_staging_stats stats = stats_of(&r);
    assert_int_equal(stats.stream.steps, STEPS - 2); /* not the first, and the last is not read */
    const uint64_t steps = stats.stream.steps;
    assert_true(stats.stream.busy_ns >= steps * (uint64_t)took);
    assert_true(stats.stream.span_ns >= stats.stream.busy_ns + stats.stream.stall_ns);
    close_rig(&r);
}

TEST(stalls_are_measured)
{
    enum { STEPS = 6 };
    rig r;
    int64_t took = 0;
    open_rig(&r, 4, 3);
    for (uint64_t step = 0; step < STEPS; step++) {
        /* the copy is late, and the stream waits for it */
        fake_hold(r.fake, true);
        fake_hold_stream(r.fake, r.stream, false);
        do_step(&r, step, &took);
        sl_sleep_until_ns(sl_now_ns() + (uint64_t)(8 * MS));
        fake_hold(r.fake, false);
        fake_stream_synchronize(r.fake, r.stream);
    }
    const sl_staging_stats stats = stats_of(&r);
    assert_int_equal(stats.stream.steps, STEPS - 2);
    /* a stream that comes late to its wait sees less of the delay */
    assert_true(stats.stream.stall_ns >= stats.stream.steps * (uint64_t)(4 * MS));
    assert_true(stats.stream.span_ns >= stats.stream.busy_ns + stats.stream.stall_ns);
    close_rig(&r);
}

/* The host runs as far ahead as possible: every step gets its times, and no call waits for the
 * device. */
TEST(steps_far_behind_are_all_counted)
{
    enum { HOST = 16, DEVICE = 2, ROUNDS = 3 };
    rig r;
    int64_t took = 0;
    uint64_t step = 0;
    open_rig(&r, HOST, DEVICE);
    for (int round = 0; round < ROUNDS; round++) {
        fake_hold(r.fake, true);
        for (int i = 0; i < HOST; i++, step++) {
            do_step(&r, step, &took);
        }
        fake_hold(r.fake, false);
        fake_stream_synchronize(r.fake, r.stream);
    }
    do_step(&r, step, &took);
    assert_int_equal(stats_of(&r).stream.steps, ROUNDS * HOST - 1);
    close_rig(&r);
}

TEST(steps_without_streams_are_not_timed)
{
    rig r;
    open_rig(&r, 4, 3);
    for (uint64_t step = 0; step < 60; step++) {
        sluice_batch *batch = next(&r, step);
        if (step % 3 != 0) {
            assert_int_equal(sl_staging_wait(batch, r.stream), SLUICE_OK);
        }
        assert_int_equal(sl_staging_release(batch, step % 3 == 0, r.stream), SLUICE_OK);
    }
    const sl_staging_stats stats = stats_of(&r);
    assert_int_equal(stats.stream.steps, 0);
    assert_int_equal(stats.stream.span_ns, 0);
    /* all marks have been returned */
    int64_t took = 0;
    for (uint64_t step = 60; step < 64; step++) {
        do_step(&r, step, &took);
        fake_stream_synchronize(r.fake, r.stream);
    }
    assert_int_equal(stats_of(&r).stream.steps, 2);
    close_rig(&r);
}

TEST(the_first_wait_counts)
{
    rig r;
    open_rig(&r, 4, 3);
    struct CUstream_st *other = fake_stream_new(r.fake);
    for (uint64_t step = 0; step < 20; step++) {
        sluice_batch *batch = next(&r, step);
        assert_int_equal(sl_staging_wait(batch, r.stream), SLUICE_OK);
        assert_int_equal(sl_staging_wait(batch, other), SLUICE_OK);
        assert_int_equal(sl_staging_release(batch, true, r.stream), SLUICE_OK);
        fake_stream_synchronize(r.fake, r.stream);
    }
    assert_int_equal(stats_of(&r).stream.steps, 18);
    close_rig(&r);
}

TEST(a_captured_stream_costs_nothing)
{
    rig r;
    open_rig(&r, 4, 3);
    for (uint64_t step = 0; step < 40; step++) {
        sluice_batch *batch = next(&r, step);
        fake_refuse_streams(r.fake, true);
        assert_int_equal(sl_staging_wait(batch, r.stream), SLUICE_INVALID);
        fake_refuse_streams(r.fake, false);
        assert_int_equal(sl_staging_wait(batch, r.stream), SLUICE_OK);
        fake_refuse_streams(r.fake, true);
        assert_int_equal(sl_staging_release(batch, true, r.stream), SLUICE_INVALID);
        fake_refuse_streams(r.fake, false);
        assert_int_equal(sl_staging_release(batch, true, r.stream), SLUICE_OK);
        fake_stream_synchronize(r.fake, r.stream);
    }
    assert_int_equal(stats_of(&r).stream.steps, 38);
    close_rig(&r);
}

/* Everything else works without measurements. */
TEST(a_device_that_measures_nothing)
{
    rig r;
    int64_t took = 0;
    const rig_options options = {.host_slots = 4,
                                 .device_slots = 3,
                                 .batch = BATCH,
                                 .image_bytes = IMAGE,
                                 .fake = {.seed = 1, .no_time = true}};
    assert_int_equal(rig_open(&r, RIG_FAKE, &options, NULL), SLUICE_OK);
    for (uint64_t step = 0; step < 20; step++) {
        do_step(&r, step, &took);
        fake_stream_synchronize(r.fake, r.stream);
    }
    assert_int_equal(stats_of(&r).stream.steps, 0);
    close_rig(&r);
}

TEST(host_memory_has_no_stream)
{
    const rig_options options = {
        .host_slots = 2, .device_slots = 2, .batch = BATCH, .image_bytes = IMAGE};
    rig r;
    assert_int_equal(rig_open(&r, RIG_SHARED, &options, NULL), SLUICE_OK);
    for (uint64_t step = 0; step < 5; step++) {
        sluice_batch *batch = next(&r, step);
        assert_int_equal(sl_staging_wait(batch, NULL), SLUICE_OK);
        assert_int_equal(sl_staging_release(batch, true, NULL), SLUICE_OK);
    }
    const sl_staging_stats stats = stats_of(&r);
    assert_int_equal(stats.stream.steps, 0);
    assert_string_equal(stats.device, "host");
    assert_string_equal(stats.pinning, "none");
    assert_int_equal(stats.converts, 0);
    uint64_t waits = 0;
    for (size_t i = 0; i < SL_WAIT_BINS; i++) {
        waits += stats.host_waits[i];
    }
    assert_int_equal(waits, 5);
    assert_int_equal(stats.host_waits[0], 5); /* all were ready */
    assert_int_equal(rig_close(&r), 0);
}
