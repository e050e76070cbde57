/* SPDX-License-Identifier: Apache-2.0 */
/* Tests several holders of one batch: its slot waits for all of them and for all of their
 * streams. */
#include "clock.h"
#include "error.h"
#include "staging_rig.h"
#include "test.h"
#include "thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define BATCH   4U
#define IMAGE   200U
#define MS      INT64_C(1000000)
#define LONG    (20000 * MS) /* only reached if something is broken */
#define STREAMS 6U           /* more than a slot's events */

/* One slot, so that a caller who needs another waits for it. */
static const rig_options narrow = {.host_slots = 1,
                                   .device_slots = 1,
                                   .batch = BATCH,
                                   .image_bytes = IMAGE,
                                   .fake = {.seed = 7, .delay_us = 50}};

static void close_rig(rig *r)
{
    assert_int_equal(rig_close(r), 0);
}

static sluice_batch *next_ok(rig *r, uint64_t step)
{
    sluice_batch *batch = NULL;
    assert_true(rig_fill(r, 1, step, BATCH) >= 0);
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
    assert_int_equal(batch->facts.step, step);
    return batch;
}

static void expect_none(rig *r)
{
    sluice_batch *batch = NULL;
    assert_int_equal(sl_staging_next(r->staging, 3 * MS, &batch, NULL), SLUICE_AGAIN);
}

/* ---- counting ---- */

static void hold_thrice(rig *r)
{
    for (uint64_t step = 0; step < 8; step++) {
        sluice_batch *batch = next_ok(r, step);
        assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
        assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
        if (r->kind != RIG_SHARED) { /* a shared device holds the slot itself */
            rig_fill(r, 1, step + 1, BATCH);
        }
        for (int holder = 0; holder < 3; holder++) {
            expect_none(r);
            assert_int_equal(rig_try_fill(r, 1, step + 1, BATCH), -1);
            assert_int_equal(rig_read(r, batch), 0);
            assert_int_equal(sl_staging_release(batch, holder % 2 == 0, r->stream), SLUICE_OK);
        }
        if (r->kind != RIG_SHARED) {
            step++;
            assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
            assert_int_equal(rig_read(r, batch), 0);
            assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
        }
    }
}

TEST(a_slot_waits_for_every_holder)
{
    rig_on_each(hold_thrice, &narrow);
}

static void misuse(rig *r)
{
    sluice_batch *batch = next_ok(r, 0);
    assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
    assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_OK);
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_OK);
    assert_int_equal(sl_staging_retain(batch), SLUICE_STATE);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_STATE);
    assert_int_equal(sl_staging_wait(batch, r->stream), SLUICE_STATE);
    batch = next_ok(r, 1);
    assert_int_equal(rig_read(r, batch), 0);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
}

TEST(what_nobody_holds_cannot_be_retained)
{
    rig_on_each(misuse, &narrow);
}

static void outlive(rig *r)
{
    rig second;
    rig_must_open(&second, r->kind, &narrow);
    sluice_batch *batch = next_ok(&second, 0);
    assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
    sl_staging_close(second.staging);
    second.staging = NULL;
    assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
    for (int holder = 0; holder < 3; holder++) {
        assert_int_equal(rig_read(&second, batch), 0);
        assert_int_equal(sl_staging_release(batch, holder != 1, second.stream), SLUICE_OK);
    }
    close_rig(&second);
}

TEST(holders_outlive_the_loader)
{
    rig_on_each(outlive, &narrow);
}

/* ---- streams ---- */

/* Reads the batch on one stream. */
typedef struct reader {
    struct CUstream_st *stream;
    rig_view view;
    uint64_t step;
    uint32_t bad;
} reader;

static void read_batch(void *ctx)
{
    reader *this = ctx;
    this->bad = rig_bad_rows(&this->view, IMAGE, this->step, BATCH);
}

static void begin_reading(rig *r, sluice_batch *batch, reader *this)
{
    this->view = rig_view_of(batch->parts);
    this->step = batch->facts.step;
    this->bad = BATCH;
    assert_int_equal(sl_staging_wait(batch, this->stream), SLUICE_OK);
    rig_kernel(r, this->stream, &this->view, read_batch, this);
}

/* Every stream is held with its kernel pending, then released one after the other: the next copy
 * follows the last of them, whichever it is. */
static void wait_for_all_streams(rig *r, reader *readers, uint32_t count, uint32_t first)
{
    sluice_batch *batch = next_ok(r, 0);
    assert_int_equal(rig_read(r, batch), 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(i == 0 ? SLUICE_OK : sl_staging_retain(batch), SLUICE_OK);
        rig_hold_stream(r, readers[i].stream, true);
        begin_reading(r, batch, &readers[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(sl_staging_release(batch, true, readers[i].stream), SLUICE_OK);
    }
    rig_fill(r, 1, 1, BATCH); /* once it is taken, the copier has queued it */
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(rig_copies(r), 1);
        rig_hold_stream(r, readers[(first + i) % count].stream, false);
        sl_sleep_until_ns(sl_now_ns() + (uint64_t)MS);
    }
    assert_int_equal(rig_read(r, batch), 0);
    assert_int_equal(rig_copies(r), 2);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(readers[i].bad, 0);
    }
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_OK);
}

TEST(the_next_copy_waits_for_every_stream)
{
    const rig_options options = {
        .host_slots = 2, .device_slots = 1, .batch = BATCH, .image_bytes = IMAGE};
    for (uint32_t count = 1; count <= STREAMS && rig_late() != RIG_DEVICES; count++) {
        for (uint32_t first = 0; first < count; first++) {
            rig r;
            reader readers[STREAMS];
            rig_must_open(&r, rig_late(), &options);
            for (uint32_t i = 0; i < count; i++) {
                readers[i].stream = rig_stream_new(&r);
            }
            wait_for_all_streams(&r, readers, count, first);
            close_rig(&r);
        }
    }
}

typedef struct late_streams {
    rig *rig;
    const reader *readers;
    uint32_t first; /* to be released */
} late_streams;

static void let_go_in_turn(void *argument)
{
    const late_streams *late = argument;
    for (uint32_t i = 0; i < STREAMS; i++) {
        sl_sleep_until_ns(sl_now_ns() + (uint64_t)(2 * MS));
        rig_hold_stream(late->rig, late->readers[(late->first + i) % STREAMS].stream, false);
    }
}

/* The same at close, where memory is freed instead of copied to: the last release waits. */
static void release_last(rig *r, reader *readers, uint32_t first)
{
    late_streams late = {.rig = r, .readers = readers, .first = first};
    sl_thread thread = {.running = 0};
    sluice_batch *batch = next_ok(r, 0);
    assert_int_equal(rig_read(r, batch), 0);
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(i == 0 ? SLUICE_OK : sl_staging_retain(batch), SLUICE_OK);
        rig_hold_stream(r, readers[i].stream, true);
        begin_reading(r, batch, &readers[i]);
    }
    sl_staging_close(r->staging);
    r->staging = NULL;
    assert_int_equal(sl_thread_start(&thread, "release", let_go_in_turn, &late, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(sl_staging_release(batch, true, readers[i].stream), SLUICE_OK);
    }
    sl_thread_join(&thread);
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(readers[i].bad, 0);
    }
}

TEST(memory_waits_for_every_stream)
{
    for (uint32_t first = 0; first < STREAMS && rig_late() != RIG_DEVICES; first++) {
        rig r;
        reader readers[STREAMS];
        rig_must_open(&r, rig_late(), &narrow);
        for (uint32_t i = 0; i < STREAMS; i++) {
            readers[i].stream = rig_stream_new(&r);
        }
        release_last(&r, readers, first);
        close_rig(&r);
    }
}

/* After any number of releases, a stream that fails releases nothing. */
TEST(a_refused_stream_keeps_its_hold)
{
    for (uint32_t before = 0; before < STREAMS && rig_late() != RIG_DEVICES; before++) {
        rig r;
        rig_must_open(&r, rig_late(), &narrow);
        sluice_batch *batch = next_ok(&r, 0);
        struct CUstream_st *other = rig_stream_new(&r);
        for (uint32_t i = 0; i < before; i++) {
            assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
            assert_int_equal(sl_staging_release(batch, true, other), SLUICE_OK);
        }
        assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
        rig_capture(&r, true);
        const sluice_status refused = r.kind == RIG_FAKE ? SLUICE_INVALID : SLUICE_STATE;
        assert_int_equal(sl_staging_release(batch, true, r.stream), refused);
        assert_int_equal(sl_staging_release(batch, true, r.stream), refused);
        rig_capture(&r, false);
        rig_fill(&r, 1, 1, BATCH);
        for (int holder = 0; holder < 2; holder++) {
            expect_none(&r);
            assert_int_equal(rig_read(&r, batch), 0);
            assert_int_equal(sl_staging_release(batch, true, r.stream), SLUICE_OK);
        }
        assert_int_equal(sl_staging_next(r.staging, LONG, &batch, NULL), SLUICE_OK);
        assert_int_equal(rig_read(&r, batch), 0);
        assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
        close_rig(&r);
    }
}

TEST(a_device_that_fails_releases_all_the_same)
{
    for (uint64_t nth = 1; nth <= 12 && rig_late() != RIG_DEVICES; nth++) {
        rig r;
        rig_must_open(&r, rig_late(), &narrow);
        sluice_batch *batch = next_ok(&r, 0);
        assert_int_equal(rig_read(&r, batch), 0);
        for (uint32_t i = 1; i < STREAMS; i++) {
            assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
        }
        rig_fail(&r, nth, true);
        for (uint32_t i = 0; i < STREAMS; i++) {
            const sluice_status status = sl_staging_release(batch, true, r.stream);
            assert_true(status == SLUICE_OK || status == SLUICE_DEVICE);
        }
        assert_int_equal(sl_staging_release(batch, true, r.stream), SLUICE_STATE);
        if (rig_has_failed(&r)) {
            assert_int_equal(sl_staging_next(r.staging, 0, &batch, NULL), SLUICE_DEVICE);
        }
        rig_fail(&r, 0, false);
        (void)rig_close(&r); /* a lost device returns nothing */
    }
}

/* ---- times ---- */

/* A step ends with its last holder's release and is counted once. */
TEST(steps_of_several_holders_are_timed)
{
    enum { STEPS = 8 };
    if (rig_late() == RIG_DEVICES) {
        return;
    }
    rig r;
    rig_must_open(&r, rig_late(), &narrow);
    struct CUstream_st *other = rig_stream_new(&r);
    for (uint64_t step = 0; step < STEPS; step++) {
        sluice_batch *batch = next_ok(&r, step);
        assert_int_equal(sl_staging_retain(batch), SLUICE_OK);
        assert_int_equal(sl_staging_wait(batch, r.stream), SLUICE_OK);
        assert_int_equal(sl_staging_wait(batch, other), SLUICE_OK);
        assert_int_equal(sl_staging_release(batch, true, other), SLUICE_OK);
        rig_synchronize(&r, other);
        assert_int_equal(sl_staging_release(batch, true, r.stream), SLUICE_OK);
        rig_synchronize(&r, r.stream);
    }
    sl_staging_stats stats;
    sl_staging_get_stats(r.staging, &stats);
    assert_int_equal(stats.stream.steps, STEPS - 2); /* not the first, and the last is not read */
    close_rig(&r);
}

/* ---- threads ---- */

enum { HOLDERS = 7, ROUNDS = 60 };

typedef struct crowd crowd;

typedef struct holder {
    crowd *crowd;
    uint32_t number;
    reader reader;
    sl_thread thread;
} holder;

struct crowd {
    rig rig;
    pthread_barrier_t barrier; /* the holders and the main thread */
    sluice_batch *batch;       /* written by the main thread before the barrier */
    _Atomic uint32_t wrong;
    holder holders[HOLDERS];
};

static void count(crowd *c, bool wrong)
{
    atomic_fetch_add_explicit(&c->wrong, wrong, memory_order_relaxed);
}

static void hold_once(holder *h, uint64_t round)
{
    crowd *c = h->crowd;
    reader *own = &h->reader;
    sluice_batch *batch = c->batch;
    const bool on_stream = (h->number + round) % 3 != 0;
    own->view = rig_view_of(batch->parts);
    own->step = batch->facts.step;
    own->bad = BATCH;
    count(c, sl_staging_retain(batch) != SLUICE_OK); /* the main thread gave it another hold */
    count(c, sl_staging_wait(batch, own->stream) != SLUICE_OK);
    rig_kernel(&c->rig, own->stream, &own->view, read_batch, own);
    if (!on_stream) {
        rig_synchronize(&c->rig, own->stream);
    }
    count(c, sl_staging_release(batch, on_stream, own->stream) != SLUICE_OK);
    count(c, sl_staging_release(batch, on_stream, own->stream) != SLUICE_OK);
}

static void hold_again_and_again(void *argument)
{
    holder *h = argument;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        (void)pthread_barrier_wait(&h->crowd->barrier);
        hold_once(h, round);
        rig_synchronize(&h->crowd->rig, h->reader.stream);
        count(h->crowd, h->reader.bad != 0);
    }
}

/* All release concurrently, while the main thread requests the next batch. */
static void release_at_once(rig_device kind)
{
    static crowd c;
    memset(&c, 0, sizeof(c));
    rig_must_open(&c.rig, kind, &narrow);
    assert_int_equal(pthread_barrier_init(&c.barrier, NULL, HOLDERS + 1), 0);
    for (uint32_t i = 0; i < HOLDERS; i++) {
        c.holders[i] =
            (holder){.crowd = &c, .number = i, .reader = {.stream = rig_stream_new(&c.rig)}};
        assert_int_equal(sl_thread_start(&c.holders[i].thread, "holder", hold_again_and_again,
                                         &c.holders[i], NULL),
                         SLUICE_OK);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        sluice_batch *batch = NULL;
        bool good = rig_fill(&c.rig, 1, round, BATCH) >= 0 &&
                    sl_staging_next(c.rig.staging, LONG, &batch, NULL) == SLUICE_OK;
        for (uint32_t i = 1; i < HOLDERS && good; i++) {
            good = sl_staging_retain(batch) == SLUICE_OK;
        }
        assert_true(good);
        c.batch = batch;
        (void)pthread_barrier_wait(&c.barrier);
    }
    for (uint32_t i = 0; i < HOLDERS; i++) {
        sl_thread_join(&c.holders[i].thread);
    }
    pthread_barrier_destroy(&c.barrier);
    assert_int_equal(c.wrong, 0);
    close_rig(&c.rig);
}

TEST(holders_may_release_at_once)
{
    for
        RIG_EACH(kind)
        {
            release_at_once(kind);
        }
}

int main(void)
{
    const int skipped = rig_skip();
    if (skipped != 0) {
        return skipped;
    }
    return test_run(NULL, NULL);
}
