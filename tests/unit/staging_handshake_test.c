/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the handshake with the device: the fake device finds no fault when all waits are present,
 * and finds one when any of the three waits is missing. Streams are made late by holding them, so
 * nothing depends on luck. */
#include "clock.h"
#include "staging_rig.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define BATCH 4
#define IMAGE 64
#define MS    INT64_C(1000000)
#define LONG  (20000 * MS)

typedef struct late_reader {
    rig_view view;
    uint64_t step;
    uint32_t bad, runs;
} late_reader;

static void read_late(void *ctx)
{
    late_reader *r = ctx;
    r->bad += rig_bad_rows(&r->view, IMAGE, r->step, BATCH);
    r->runs++;
}

static void open_rig(rig *r, fake_options fake, uint32_t host_slots, uint32_t device_slots)
{
    const rig_options options = {.host_slots = host_slots,
                                 .device_slots = device_slots,
                                 .batch = BATCH,
                                 .image_bytes = IMAGE,
                                 .fake = fake};
    assert_int_equal(rig_open(r, rig_late(), &options, NULL), SLUICE_OK);
}

/* Takes the next batch, queues a kernel that reads it and releases the batch after the kernel. */
static void consume(rig *r, late_reader *reader)
{
    sluice_batch *batch = NULL;
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
    assert_int_equal(sl_staging_wait(batch, r->stream), SLUICE_OK);
    *reader = (late_reader){.view = rig_view_of(batch->parts), .step = batch->facts.step};
    rig_kernel(r, r->stream, &reader->view, read_late, reader);
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_OK);
}

static void expect_violation(rig *r, const char *expected)
{
    char first[160];
    snprintf(first, sizeof(first), "%s", rig_first_violation(r));
    const uint64_t violations = rig_close(r);
    assert_true(violations > 0);
    assert_non_null(strstr(first, expected));
}

/* With one device slot and three host slots, the consumer and the copier run far ahead of streams
 * that pause for a while; the final contents are right. */
TEST(the_host_runs_ahead_of_the_device)
{
    rig r;
    late_reader readers[3];
    open_rig(&r, (fake_options){.seed = 1}, 3, 1);
    rig_hold(&r, true);
    for (uint64_t step = 0; step < 3; step++) {
        assert_true(rig_fill(&r, 1, step, BATCH) >= 0);
        consume(&r, &readers[step]);
    }
    assert_int_equal(rig_begin(&r, 3, BATCH), -1); /* every host slot waits for its copy */
    assert_int_equal(rig_copies(&r), 0);
    rig_hold(&r, false);
    rig_synchronize(&r, r.stream);
    for (uint64_t step = 0; step < 3; step++) {
        assert_int_equal(readers[step].runs, 1);
        assert_int_equal(readers[step].bad, 0);
    }
    assert_int_equal(rig_copies(&r), 3);
    assert_int_equal(rig_close(&r), 0);
}

TEST(a_copy_that_waits_for_no_release_is_caught)
{
    rig r;
    late_reader readers[2];
    /* The consumer's stream is late; the copies are not. */
    open_rig(&r, (fake_options){.seed = 2, .ignore_releases = true}, 2, 1);
    for (uint64_t step = 0; step < 2; step++) {
        assert_true(rig_fill(&r, 1, step, BATCH) >= 0);
        if (step == 0) {
            rig_hold_stream(&r, r.stream, true);
        }
        consume(&r, &readers[step]);
    }
    while (rig_copies(&r) < 2) {
        sl_sleep_until_ns(sl_now_ns() + MS);
    }
    rig_hold_stream(&r, r.stream, false);
    rig_synchronize(&r, r.stream);
    expect_violation(&r, "still has to read");
}

TEST(a_kernel_that_waits_for_no_copy_is_caught)
{
    rig r;
    late_reader reader;
    open_rig(&r, (fake_options){.seed = 3, .ignore_ready = true}, 2, 2);
    rig_hold(&r, true);
    rig_hold_stream(&r, r.stream, false);
    assert_true(rig_fill(&r, 1, 0, BATCH) >= 0);
    consume(&r, &reader);
    rig_synchronize(&r, r.stream);
    rig_hold(&r, false);
    expect_violation(&r, r.kind == RIG_FAKE
                             ? "kernel on a batch that is not ready"
                             : "read of memory that earlier work still has to write");
}

TEST(a_host_slot_that_is_filled_under_its_copy_is_caught)
{
    rig r;
    open_rig(&r, (fake_options){.seed = 4, .events_lie = true}, 1, 2);
    rig_hold(&r, true);
    for (uint64_t step = 0; step < 2; step++) {
        assert_true(rig_fill(&r, 1, step, BATCH) >= 0);
        sluice_batch *batch = NULL;
        assert_int_equal(sl_staging_next(r.staging, LONG, &batch, NULL), SLUICE_OK);
        assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
    }
    rig_hold(&r, false);
    while (rig_copies(&r) < 2) {
        sl_sleep_until_ns(sl_now_ns() + MS);
    }
    expect_violation(&r, "source changed before it was copied");
}

/* ---- the other checks of the fake device, driven by hand ---- */

static sl_device *open_fake(fake_device **fake)
{
    *fake = fake_device_new(&(fake_options){.seed = 5});
    return fake_device_get(*fake);
}

static void expect_first(fake_device *fake, const char *expected)
{
    assert_true(fake_violations(fake) > 0);
    assert_string_equal(fake_first_violation(fake), expected);
    fake_device_free(fake);
}

TEST(unregistered_memory_is_caught)
{
    fake_device *fake;
    sl_device *device = open_fake(&fake);
    void *memory;
    char source[64] = {0};
    assert_int_equal(device->ops->memory_open(device, 64, &memory, NULL), SLUICE_OK);
    assert_int_equal(device->ops->copy_to_device(device, memory, source, 64, NULL, NULL),
                     SLUICE_OK);
    expect_first(fake, "copy from memory that is not registered");
}

TEST(an_unrecorded_event_is_caught)
{
    fake_device *fake;
    sl_device *device = open_fake(&fake);
    sl_event *event;
    assert_int_equal(device->ops->event_open(device, SL_EVENT_ORDER, &event, NULL), SLUICE_OK);
    assert_int_equal(device->ops->stream_wait(device, NULL, event, NULL), SLUICE_OK);
    expect_first(fake, "wait for an event never recorded");
}

TEST(a_host_wait_for_the_wrong_event_is_caught)
{
    fake_device *fake;
    sl_device *device = open_fake(&fake);
    sl_event *event;
    assert_int_equal(device->ops->event_open(device, SL_EVENT_ORDER, &event, NULL), SLUICE_OK);
    assert_int_equal(device->ops->event_record(device, event, NULL, NULL), SLUICE_OK);
    assert_int_equal(device->ops->event_synchronize(device, event, NULL), SLUICE_OK);
    expect_first(fake, "host wait for an event that is not made for it");
}

TEST(a_leak_is_caught)
{
    fake_device *fake;
    sl_device *device = open_fake(&fake);
    void *memory;
    assert_int_equal(device->ops->memory_open(device, 64, &memory, NULL), SLUICE_OK);
    sl_device_close(device);
    expect_first(fake, "device memory left open");
}

TEST(use_after_close_is_caught)
{
    fake_device *fake;
    sl_device *device = open_fake(&fake);
    sl_event *event;
    assert_int_equal(device->ops->event_open(device, SL_EVENT_HOST, &event, NULL), SLUICE_OK);
    device->ops->event_close(device, event);
    assert_int_equal(device->ops->event_record(device, event, NULL, NULL), SLUICE_OK);
    expect_first(fake, "record of a closed event");
}

int main(void)
{
    const int skipped = rig_skip_late();
    if (skipped != 0) {
        return skipped;
    }
    return test_run(NULL, NULL);
}
