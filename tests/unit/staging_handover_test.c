/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the filler and the consumer may rely on, over every device. */
#include "clock.h"
#include "error.h"
#include "memory.h"
#include "staging_rig.h"
#include "test.h"
#include "thread.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 4
#define IMAGE 300
#define MS    INT64_C(1000000)
#define LONG  TEST_PATIENCE_NS /* only reached if something is broken */

static const rig_options usual = {.host_slots = 3,
                                  .device_slots = 2,
                                  .batch = BATCH,
                                  .image_bytes = IMAGE};

static void close_rig(rig *r)
{
    assert_int_equal(rig_close(r), 0);
}

static sluice_batch *next_ok(rig *r)
{
    sluice_batch *batch = NULL;
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
    assert_non_null(batch);
    return batch;
}

static bool is_readable(rig *r)
{
    struct pollfd poller = {.fd = sl_staging_fd(r->staging), .events = POLLIN};
    return poll(&poller, 1, 0) == 1;
}

/* ---- order and contents ---- */

static void pass_batches(rig *r)
{
    for (uint64_t step = 0; step < 20; step++) {
        assert_true(rig_fill(r, 6, step, step == 7 ? 0 : BATCH - step % 2) >= 0);
        sluice_batch *batch = next_ok(r);
        assert_int_equal(batch->facts.epoch, 6);
        assert_int_equal(batch->facts.step, step);
        assert_int_equal(batch->facts.rows, step == 7 ? 0 : BATCH - step % 2);
        assert_int_equal(rig_read(r, batch), 0);
        assert_int_equal(sl_staging_release(batch, step % 2 == 0, r->stream), SLUICE_OK);
    }
    assert_int_equal(sl_staging_begun(r->staging), 20);
    assert_int_equal(rig_taken(r), 20);
}

TEST(batches_arrive_whole_and_in_order)
{
    rig_on_each(pass_batches, &usual);
}

/* Slots fill in reverse order; batches still arrive in the order of begin. */
static void complete_backwards(rig *r)
{
    int slots[3];
    for (uint64_t step = 0; step < 3; step++) {
        slots[step] = rig_begin(r, step, BATCH);
        assert_true(slots[step] >= 0);
    }
    assert_int_equal(rig_begin(r, 3, BATCH), -1);
    sluice_batch *batch = NULL;
    rig_complete(r, slots[2], BATCH);
    rig_complete(r, slots[1], BATCH);
    rig_complete(r, slots[0], BATCH - 1);
    assert_int_equal(sl_staging_next(r->staging, 5 * MS, &batch, NULL), SLUICE_AGAIN);
    assert_null(batch);
    rig_complete(r, slots[0], 1);
    for (uint64_t step = 0; step < 3; step++) {
        batch = next_ok(r);
        assert_int_equal(batch->facts.step, step);
        assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
    }
}

TEST(order_is_that_of_begin)
{
    rig_on_each(complete_backwards, &usual);
}

static void hold_and_release_out_of_order(rig *r)
{
    sluice_batch *held[2];
    for (uint64_t step = 0; step < 2; step++) {
        rig_fill(r, 1, step, BATCH);
        held[step] = next_ok(r);
    }
    assert_int_equal(rig_read(r, held[1]), 0);
    assert_int_equal(sl_staging_release(held[1], true, r->stream), SLUICE_OK);
    rig_fill(r, 1, 2, BATCH);
    sluice_batch *third = next_ok(r);
    assert_int_equal(rig_read(r, held[0]), 0);
    assert_int_equal(rig_read(r, third), 0);
    assert_int_equal(sl_staging_release(third, false, NULL), SLUICE_OK);
    assert_int_equal(sl_staging_release(held[0], true, r->stream), SLUICE_OK);
}

TEST(batches_may_be_held_and_released_in_any_order)
{
    rig_on_each(hold_and_release_out_of_order, &usual);
}

static void hold_all(rig *r)
{
    const uint32_t slots = r->kind == RIG_SHARED ? 3 : 2;
    sluice_batch *held[3];
    sluice_batch *batch = NULL;
    for (uint64_t step = 0; step < slots; step++) {
        rig_fill(r, 1, step, BATCH);
        held[step] = next_ok(r);
    }
    if (r->kind != RIG_SHARED) { /* a shared device has no slot left to fill */
        rig_fill(r, 1, slots, BATCH);
    }
    assert_int_equal(sl_staging_next(r->staging, 20 * MS, &batch, NULL), SLUICE_AGAIN);
    for (uint32_t i = 0; i < slots; i++) {
        assert_int_equal(rig_read(r, held[i]), 0);
        assert_int_equal(sl_staging_release(held[i], false, NULL), SLUICE_OK);
    }
    if (r->kind == RIG_SHARED) {
        rig_fill(r, 1, slots, BATCH);
    }
    batch = next_ok(r);
    assert_int_equal(rig_read(r, batch), 0);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
}

TEST(a_consumer_that_holds_all_waits_in_vain)
{
    rig_on_each(hold_all, &usual);
}

/* ---- misuse by the consumer ---- */

static void release_twice(rig *r)
{
    rig_fill(r, 1, 0, BATCH);
    sluice_batch *batch = next_ok(r);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_STATE);
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_STATE);
    assert_int_equal(sl_staging_wait(batch, r->stream), SLUICE_STATE);
    rig_fill(r, 1, 1, BATCH);
    batch = next_ok(r);
    assert_int_equal(rig_read(r, batch), 0);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
}

TEST(a_second_release_is_refused)
{
    rig_on_each(release_twice, &usual);
}

TEST(host_memory_has_no_streams)
{
    int anything;
    struct CUstream_st *stream = (struct CUstream_st *)(void *)&anything;
    rig r;
    rig_must_open(&r, RIG_SHARED, &usual);
    rig_fill(&r, 1, 0, BATCH);
    sluice_batch *batch = next_ok(&r);
    assert_int_equal(sl_staging_wait(batch, stream), SLUICE_INVALID);
    assert_int_equal(sl_staging_wait(batch, NULL), SLUICE_OK);
    assert_int_equal(sl_staging_release(batch, true, stream), SLUICE_INVALID);
    assert_int_equal(rig_read(&r, batch), 0); /* still held */
    assert_int_equal(sl_staging_release(batch, true, NULL), SLUICE_OK);
    close_rig(&r);
}

TEST(a_captured_stream_is_refused_and_breaks_nothing)
{
    rig r;
    if (rig_late() == RIG_DEVICES) {
        return; /* this device cannot capture */
    }
    rig_must_open(&r, rig_late(), &usual);
    rig_fill(&r, 1, 0, BATCH);
    sluice_batch *batch = next_ok(&r);
    assert_int_equal(rig_read(&r, batch), 0);
    rig_capture(&r, true);
    const sluice_status refused = r.kind == RIG_FAKE ? SLUICE_INVALID : SLUICE_STATE;
    assert_int_equal(sl_staging_wait(batch, r.stream), refused);
    assert_int_equal(sl_staging_release(batch, true, r.stream), refused);
    rig_capture(&r, false);
    assert_int_equal(sl_staging_release(batch, true, r.stream), SLUICE_OK);
    rig_fill(&r, 1, 1, BATCH);
    batch = next_ok(&r);
    assert_int_equal(rig_read(&r, batch), 0);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
    close_rig(&r);
}

/* ---- what next returns, and the descriptor ---- */

static void expect_next(rig *r, sluice_status expected)
{
    sluice_batch *batch = NULL;
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(is_readable(r), expected != SLUICE_AGAIN);
    assert_int_equal(sl_staging_next(r->staging, 0, &batch, &error), expected);
    assert_int_equal(error.status, expected < 0 ? expected : 0);
    assert_true(expected >= 0 || error.text[0] != '\0');
    if (expected == SLUICE_OK) {
        assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
    }
}

static void wait_readable(rig *r)
{
    struct pollfd poller = {.fd = sl_staging_fd(r->staging), .events = POLLIN};
    assert_int_equal(poll(&poller, 1, 20000), 1);
}

static void follow_the_descriptor(rig *r)
{
    expect_next(r, SLUICE_AGAIN);
    sl_staging_set_end(r->staging, 0);
    expect_next(r, SLUICE_END);
    expect_next(r, SLUICE_END);
    sl_staging_set_end(r->staging, UINT64_MAX);
    expect_next(r, SLUICE_AGAIN);
    sl_staging_cancel(r->staging, true);
    expect_next(r, SLUICE_CANCELED);
    sl_staging_cancel(r->staging, false);
    expect_next(r, SLUICE_AGAIN);
    rig_fill(r, 1, 0, BATCH);
    wait_readable(r);
    sl_staging_cancel(r->staging, true); /* before anything else */
    expect_next(r, SLUICE_CANCELED);
    sl_staging_cancel(r->staging, false);
    sl_staging_set_end(r->staging, 0); /* the batch belongs to the next epoch */
    expect_next(r, SLUICE_END);
    sl_staging_set_end(r->staging, 1);
    expect_next(r, SLUICE_OK);
    expect_next(r, SLUICE_END);
}

TEST(descriptor_and_next_agree)
{
    rig_on_each(follow_the_descriptor, &usual);
}

static void fail_steps(rig *r)
{
    sluice_error first;
    sluice_error second;
    sl_error_set(&first, SLUICE_CORRUPT, "decode", "first");
    sl_error_set(&second, SLUICE_IO, "io", "second");
    int slot;
    first.sample = 77;
    rig_fill(r, 1, 0, BATCH);
    const int one = rig_begin(r, 1, BATCH);
    const int two = rig_begin(r, 2, BATCH);
    sl_staging_fail(r->staging, (uint32_t)two, &second);
    sl_staging_fail(r->staging, (uint32_t)one, &first);
    sl_staging_fail(r->staging, (uint32_t)one, &second); /* too late: the first error counts */
    wait_readable(r);
    expect_next(r, SLUICE_OK); /* earlier batches still arrive */
    expect_next(r, SLUICE_CORRUPT);
    rig_complete(r, one, BATCH);
    rig_complete(r, two, BATCH);
    sluice_batch *batch = NULL;
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, &error), SLUICE_CORRUPT);
    assert_string_equal(error.text, "first");
    assert_int_equal(error.sample, 77);
    expect_next(r, SLUICE_CORRUPT); /* not consumed */
    sl_staging_set_end(r->staging, 1);
    expect_next(r, SLUICE_END); /* it belongs to the next epoch */
    sl_staging_set_end(r->staging, UINT64_MAX);
    sl_staging_drain(r->staging);
    expect_next(r, SLUICE_AGAIN);
    rig_fill(r, 1, 3, BATCH);
    wait_readable(r);
    expect_next(r, SLUICE_OK);
    while ((slot = rig_begin(r, 4, BATCH)) < 0) {
        sl_sleep_until_ns(sl_now_ns() + MS / 10);
    }
    sl_staging_fail(r->staging, (uint32_t)slot, &second);
    expect_next(r, SLUICE_IO); /* the old failure is forgotten, the new one is not */
    rig_complete(r, slot, BATCH);
}

TEST(a_failed_step_is_reported_in_its_turn)
{
    rig_on_each(fail_steps, &usual);
}

static void time_out(rig *r)
{
    sluice_batch *batch = NULL;
    uint64_t start = sl_now_ns();
    assert_int_equal(sl_staging_next(r->staging, 30 * MS, &batch, NULL), SLUICE_AGAIN);
    uint64_t took = sl_now_ns() - start;
    assert_true(took >= 30 * MS && took < LONG);
    start = sl_now_ns();
    assert_int_equal(sl_staging_next(r->staging, 0, &batch, NULL), SLUICE_AGAIN);
    took = sl_now_ns() - start;
    assert_true(took < TEST_PATIENCE_NS);
    sl_staging_stats stats = {0};
    sl_staging_get_stats(r->staging, &stats);
    assert_true(stats.host_wait_ns >= 30 * MS);
    assert_int_equal(stats.host_wait_max_ns, 0); /* no batch has come */
    assert_int_equal(stats.ready_depth[0], 0);
    assert_int_equal(stats.uploads, 0);
    /* 30 ms fall into [16384, 32768) us, or slightly above */
    rig_fill(r, 1, 0, BATCH);
    wait_readable(r);
    sl_staging_release(next_ok(r), false, NULL);
    sl_staging_get_stats(r->staging, &stats);
    assert_true(stats.host_wait_max_ns >= 30 * MS);
    assert_int_equal(stats.ready_depth[0] + stats.ready_depth[1], 1);
    uint64_t waits = 0;
    for (size_t i = 15; i < SL_WAIT_BINS; i++) {
        waits += stats.host_waits[i];
    }
    assert_int_equal(waits, 1);
}

TEST(timeouts_are_kept)
{
    rig_on_each(time_out, &usual);
}

static void count_everything(rig *r)
{
    for (uint64_t step = 0; step < 2; step++) {
        rig_fill(r, 1, step, BATCH);
    }
    wait_readable(r);
    sluice_batch *first = next_ok(r);
    sluice_batch *second = next_ok(r);
    sl_staging_release(first, false, NULL);
    sl_staging_release(second, false, NULL);
    uint64_t samples = 0;
    sl_staging_stats stats = {0};
    sl_staging_get_stats(r->staging, &stats);
    const uint64_t *depth = stats.ready_depth;
    assert_int_equal(depth[0] + depth[1] + depth[2], 2);
    assert_true(depth[0] <= 1); /* one was ready at the first call */
    for (size_t i = 0; i < SL_DEPTH_BINS; i++) {
        samples += stats.upload_depth[i];
    }
    assert_int_equal(samples, 2);
    assert_int_equal(stats.uploads, 2);
}

TEST(statistics_add_up)
{
    rig_on_each(count_everything, &usual);
}

/* ---- another thread ends the wait ---- */

typedef struct waker {
    rig *rig;
    void (*wake)(rig *r);
    int slot; /* for complete_later */
    _Atomic bool done;
    sl_thread thread;
} waker;

static void wake_later(void *argument)
{
    const waker *w = argument;
    sl_sleep_until_ns(sl_now_ns() + 20 * MS);
    w->wake(w->rig);
}

static void expect_woken(rig *r, void (*wake)(rig *r), sluice_status expected)
{
    waker w = {.rig = r, .wake = wake};
    sluice_batch *batch = NULL;
    assert_int_equal(sl_thread_start(&w.thread, "waker", wake_later, &w, NULL), SLUICE_OK);
    const sluice_status status = sl_staging_next(r->staging, -1, &batch, NULL);
    sl_thread_join(&w.thread);
    assert_int_equal(status, expected);
    if (status == SLUICE_OK) {
        sl_staging_release(batch, false, NULL);
    }
}

static void wake_by_batch(rig *r)
{
    rig_fill(r, 1, 0, BATCH);
}

static void wake_by_end(rig *r)
{
    sl_staging_set_end(r->staging, 1);
}

static void wake_by_failure(rig *r)
{
    sluice_error error;
    sl_error_set(&error, SLUICE_IO, "io", "gone");
    const int slot = rig_begin(r, 1, BATCH);
    sl_staging_fail(r->staging, (uint32_t)slot, &error);
    rig_complete(r, slot, BATCH);
}

static void wake_by_cancel(rig *r)
{
    sl_staging_cancel(r->staging, true);
}

static void wake_by_close(rig *r)
{
    sl_staging_close(r->staging);
    r->staging = NULL;
}

static void let_go(rig *r)
{
    rig_hold(r, false);
}

static void wake_in_turn(rig *r)
{
    expect_woken(r, wake_by_batch, SLUICE_OK);
    expect_woken(r, wake_by_end, SLUICE_END);
    sl_staging_set_end(r->staging, UINT64_MAX);
    expect_woken(r, wake_by_failure, SLUICE_IO);
    sl_staging_drain(r->staging);
    expect_woken(r, wake_by_cancel, SLUICE_CANCELED);
    sl_staging_cancel(r->staging, false);
    expect_woken(r, wake_by_close, SLUICE_CANCELED);
}

TEST(a_waiting_consumer_is_woken)
{
    rig_on_each(wake_in_turn, &usual);
}

/* ---- drain ---- */

static void complete_later(void *argument)
{
    waker *w = argument;
    sl_sleep_until_ns(sl_now_ns() + 20 * MS);
    rig_complete(w->rig, w->slot, BATCH - 1);
    sl_sleep_until_ns(sl_now_ns() + 20 * MS);
    atomic_store_explicit(&w->done, true, memory_order_relaxed);
    rig_complete(w->rig, w->slot, 1);
}

static void drain_all(rig *r)
{
    rig_fill(r, 1, 0, BATCH);
    sluice_batch *held = next_ok(r);
    rig_fill(r, 1, 1, BATCH);
    wait_readable(r);
    waker w = {.rig = r};
    while ((w.slot = rig_begin(r, 2, BATCH)) < 0) {
        sl_sleep_until_ns(sl_now_ns() + MS / 10);
    }
    assert_int_equal(sl_thread_start(&w.thread, "filler", complete_later, &w, NULL), SLUICE_OK);
    sl_staging_drain(r->staging);
    const bool done = atomic_load_explicit(&w.done, memory_order_relaxed);
    sl_thread_join(&w.thread);
    assert_true(done);
    assert_int_equal(sl_staging_begun(r->staging), 3);
    assert_int_equal(rig_taken(r), 3);
    expect_next(r, SLUICE_AGAIN);
    assert_int_equal(rig_read(r, held), 0); /* not affected */
    for (uint64_t step = 3; step < 8; step++) {
        assert_true(rig_fill(r, 2, step, BATCH) >= 0);
        sluice_batch *batch = next_ok(r);
        assert_int_equal(batch->facts.step, step);
        assert_int_equal(rig_read(r, batch), 0);
        assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_OK);
        sl_staging_drain(r->staging); /* nothing to drain */
    }
    assert_int_equal(sl_staging_release(held, false, NULL), SLUICE_OK);
}

TEST(drain_drops_what_was_not_taken)
{
    rig_on_each(drain_all, &usual);
}

/* A drained slot may be filled immediately: its copy is done. */
static void drain_under_copies(rig *r)
{
    rig_hold(r, true);
    for (uint64_t step = 0; step < 3; step++) {
        rig_fill(r, 1, step, BATCH);
    }
    wait_readable(r);
    waker w = {.rig = r, .wake = r->kind >= RIG_FAKE ? let_go : wake_by_end};
    assert_int_equal(sl_thread_start(&w.thread, "waker", wake_later, &w, NULL), SLUICE_OK);
    sl_staging_drain(r->staging);
    int slots[3];
    for (uint64_t step = 3; step < 6; step++) {
        slots[step - 3] = rig_begin(r, step, BATCH);
    }
    sl_thread_join(&w.thread);
    for (int i = 0; i < 3; i++) {
        assert_true(slots[i] >= 0);
        rig_complete(r, slots[i], BATCH);
    }
}

TEST(drain_waits_for_copies)
{
    rig_on_each(drain_under_copies, &usual);
}

/* ---- life ---- */

static void close_with_held(rig *r)
{
    sl_budget budget;
    sl_budget_init(&budget, UINT64_MAX);
    rig_options options = usual;
    options.budget = &budget;
    rig second;
    rig_must_open(&second, r->kind, &options);
    assert_true(sl_budget_used(&budget) >= (uint64_t)3 * BATCH * IMAGE);
    rig_fill(&second, 1, 0, BATCH);
    rig_fill(&second, 1, 1, BATCH);
    rig_begin(&second, 2, BATCH); /* never completed */
    sluice_batch *batches[2] = {next_ok(&second), next_ok(&second)};
    sl_staging_close(second.staging);
    second.staging = NULL;
    assert_int_equal(sl_budget_used(&budget), 0);
    assert_int_equal(rig_read(&second, batches[0]), 0);
    assert_int_equal(sl_staging_release(batches[0], true, second.stream), SLUICE_OK);
    assert_int_equal(sl_staging_release(batches[0], false, NULL), SLUICE_STATE);
    assert_int_equal(rig_read(&second, batches[1]), 0);
    assert_true(sl_staging_is_ours(batches[1]->staging));
    uint32_t parts;
    assert_string_equal(sl_staging_parts(batches[1]->staging, &parts)[RIG_MASK].name, "mask");
    assert_int_equal(parts, RIG_PARTS);
    assert_int_equal(sl_staging_release(batches[1], true, second.stream), SLUICE_OK);
    close_rig(&second);
}

TEST(held_batches_outlive_the_loader)
{
    rig_on_each(close_with_held, &usual);
}

static void tell_facts(rig *r)
{
    assert_int_equal(sl_staging_device_type(r->staging),
                     r->kind >= RIG_FAKE ? SLUICE_DEVICE_TYPE_CUDA : SLUICE_DEVICE_TYPE_CPU);
    assert_int_equal(sl_staging_device_number(r->staging), 0);
    assert_true(sl_staging_is_ours(r->staging));
}

TEST(a_child_knows_that_it_is_none_of_its)
{
    rig r;
    rig_must_open(&r, RIG_SHARED, &usual);
    const pid_t child = fork();
    if (child == 0) {
        _exit(sl_staging_is_ours(r.staging) ? 1 : 0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close_rig(&r);
}

TEST(facts_are_told)
{
    rig_on_each(tell_facts, &usual);
    sl_staging_close(NULL);
}

typedef struct empties {
    _Atomic uint32_t calls;
    rig *rig;
} empties;

/* Begins a batch inside the callback, as the loader does: no lock may be held. */
static void begin_again(void *ctx)
{
    empties *e = ctx;
    atomic_fetch_add_explicit(&e->calls, 1, memory_order_relaxed);
    if (e->rig->staging != NULL) {
        (void)sl_staging_begun(e->rig->staging);
    }
}

TEST(emptied_slots_are_told)
{
    for
        RIG_EACH(kind)
        {
            rig r;
            empties e = {.rig = &r};
            rig_options options = usual;
            options.on_empty = begin_again;
            options.ctx = &e;
            rig_must_open(&r, kind, &options);
            for (uint64_t step = 0; step < 5; step++) {
                rig_fill(&r, 1, step, BATCH);
                sluice_batch *batch = next_ok(&r);
                assert_int_equal(rig_read(&r, batch), 0);
                sl_staging_release(batch, true, r.stream);
                while (atomic_load_explicit(&e.calls, memory_order_relaxed) <= step) {
                    sl_sleep_until_ns(sl_now_ns() + MS / 10);
                }
            }
            rig_fill(&r, 1, 5, BATCH);
            sl_staging_drain(r.staging);
            while (atomic_load_explicit(&e.calls, memory_order_relaxed) < 6) {
                sl_sleep_until_ns(sl_now_ns() + MS / 10);
            }
            close_rig(&r);
        }
}

/* A slow callback. */
static void dawdle(void *ctx)
{
    _Atomic int *state = ctx;
    atomic_store_explicit(state, 1, memory_order_relaxed);
    sl_sleep_until_ns(sl_now_ns() + 50 * MS);
    atomic_store_explicit(state, 2, memory_order_relaxed);
}

static void release_batch(void *ctx)
{
    sl_staging_release(ctx, false, NULL);
}

TEST(close_waits_for_callbacks)
{
    for
        RIG_EACH(kind)
        {
            rig r;
            _Atomic int progress;
            atomic_init(&progress, 0);
            rig_options options = usual;
            options.on_empty = dawdle;
            options.ctx = &progress;
            rig_must_open(&r, kind, &options);
            rig_fill(&r, 1, 0, BATCH);
            sluice_batch *batch = next_ok(&r);
            sl_thread releaser = {.running = 0};
            assert_int_equal(sl_thread_start(&releaser, "releaser", release_batch, batch, NULL),
                             SLUICE_OK);
            while (atomic_load_explicit(&progress, memory_order_relaxed) == 0) {
                sl_sleep_until_ns(sl_now_ns() + MS / 10);
            }
            sl_staging_close(r.staging);
            const int at = atomic_load_explicit(&progress, memory_order_relaxed);
            r.staging = NULL;
            sl_thread_join(&releaser);
            assert_int_equal(at, 2);
            close_rig(&r);
        }
}

static void steady(rig *r)
{
    for (uint64_t step = 0; step < 50; step++) {
        const uint64_t before = sl_memory_allocations();
        rig_fill(r, 1, step, BATCH);
        sluice_batch *batch = next_ok(r);
        sl_staging_wait(batch, r->stream);
        sl_staging_release(batch, true, r->stream);
        assert_int_equal(sl_memory_allocations(), before);
        while (rig_begin(r, step + 1, 0) < 0) {
            sl_sleep_until_ns(sl_now_ns() + MS / 10);
        }
        sl_staging_release(next_ok(r), false, NULL);
    }
}

TEST(steady_state_allocates_nothing)
{
    rig_on_each(steady, &usual);
}

int main(void)
{
    const int skipped = rig_skip();
    if (skipped != 0) {
        return skipped;
    }
    return test_run(NULL, NULL);
}
