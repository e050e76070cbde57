/* SPDX-License-Identifier: Apache-2.0 */
/* Combines everything with random delays: fillers, a consumer that holds batches and releases them
 * out of order on several streams, failing steps, cancels and drains. Every row is verified, on the
 * fake device by kernels that run late. */
#include "clock.h"
#include "error.h"
#include "queue.h"
#include "staging_rig.h"
#include "test.h"
#include "thread.h"

#include <stdio.h>
#include <string.h>

#define BATCH       3
#define IMAGE       160
#define FILLERS     3
#define STREAMS     2
#define RUNS        25
#define STEPS_MAX   24
#define HOST_MAX    4
#define READERS     64
#define US          UINT64_C(1000)
#define LONG        INT64_C(30000000000)
#define FAILED_RUNS 12 /* one in this many runs has a failing row */

typedef struct job {
    rig_view view;
    uint64_t step;
    int slot;
    uint32_t row;
    bool fails;
} job;

typedef struct stress stress;

typedef struct late_reader {
    stress *owner;
    rig_view view;
    uint64_t step;
    uint32_t rows;
    _Atomic bool busy;
} late_reader;

struct stress {
    rig rig;
    struct CUstream_st *streams[STREAMS];
    sl_queue jobs;
    sl_thread fillers[FILLERS], canceler;
    uint64_t random; /* the consumer's */
    _Atomic bool over;
    _Atomic uint64_t bad_rows, cancels;
    late_reader readers[READERS];
    sluice_batch *held[HOST_MAX];
    uint32_t held_count, held_max;
    uint64_t expected, taken;

    pthread_mutex_t mutex;
    /* under mutex */
    bool running;
    uint64_t step, failing_step, random_feed;
};

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33) % below;
}

static void nap(uint64_t *random, uint32_t longest_us)
{
    if (draw(random, 3) == 0) {
        sl_sleep_until_ns(sl_now_ns() + draw(random, longest_us) * US);
    }
}

/* ---- the filler's side, as the loader does it ---- */

static bool begin_step_locked(stress *s)
{
    const sl_batch_facts facts = {
        .epoch = 1, .step = s->step, .rows = draw(&s->random_feed, BATCH + 1)};
    job j = {.step = s->step};
    j.slot = s->running ? rig_begin_view(&s->rig, &facts, &j.view) : -1;
    if (j.slot < 0) {
        return false;
    }
    s->step++;
    j.fails = j.step == s->failing_step;
    for (j.row = 0; j.row < facts.rows; j.row++) {
        sl_queue_push(&s->jobs, &j, 1); /* has capacity for all slots' rows */
    }
    return true;
}

static void begin_steps(void *ctx)
{
    stress *s = ctx;
    sl_lock(&s->mutex);
    while (begin_step_locked(s)) {
    }
    sl_unlock(&s->mutex);
}

static void fill(void *ctx)
{
    stress *s = ctx;
    uint64_t random = (uintptr_t)&random;
    job j;
    while (sl_queue_pop(&s->jobs, &j) == SLUICE_OK) {
        nap(&random, 60);
        if (j.fails) {
            sluice_error error;
            sl_error_set(&error, SLUICE_CORRUPT, "decode", "row %u is bad", j.row);
            sl_staging_fail(s->rig.staging, (uint32_t)j.slot, &error);
        } else {
            rig_fill_row(&j.view, IMAGE, j.step, j.row);
        }
        rig_complete(&s->rig, j.slot, 1);
    }
}

static void cancel_at_random(void *ctx)
{
    stress *s = ctx;
    uint64_t random = 99;
    /* Relaxed: a flag that orders nothing. */
    while (!atomic_load_explicit(&s->over, memory_order_relaxed)) {
        sl_sleep_until_ns(sl_now_ns() + 500 * US + draw(&random, 4000) * US);
        sl_staging_stats stats = {0};
        sl_staging_get_stats(s->rig.staging, &stats);
        if (draw(&random, 3) == 0) {
            sl_staging_cancel(s->rig.staging, true);
            atomic_fetch_add_explicit(&s->cancels, 1, memory_order_relaxed);
        }
    }
}

/* ---- the consumer ---- */

static void read_batch(void *ctx)
{
    late_reader *reader = ctx;
    const uint32_t bad = rig_bad_rows(&reader->view, IMAGE, reader->step, reader->rows);
    atomic_fetch_add_explicit(&reader->owner->bad_rows, bad, memory_order_relaxed);
    /* Release: pairs with the acquire in free_reader, which reuses the fields. */
    atomic_store_explicit(&reader->busy, false, memory_order_release);
}

static late_reader *free_reader(stress *s)
{
    for (;;) {
        for (uint32_t i = 0; i < READERS; i++) {
            if (!atomic_load_explicit(&s->readers[i].busy, memory_order_acquire)) {
                return &s->readers[i];
            }
        }
        sl_sleep_until_ns(sl_now_ns() + 50 * US);
    }
}

/* Reads the batch the way its device does. Returns the stream that was used. */
static struct CUstream_st *look(stress *s, sluice_batch *batch)
{
    struct CUstream_st *stream = s->streams[draw(&s->random, STREAMS)];
    assert_int_equal(sl_staging_wait(batch, stream), SLUICE_OK);
    late_reader *reader = free_reader(s);
    reader->owner = s;
    reader->view = rig_view_of(batch->parts);
    reader->step = batch->facts.step;
    reader->rows = batch->facts.rows;
    atomic_store_explicit(&reader->busy, true, memory_order_relaxed);
    rig_kernel(&s->rig, stream, &reader->view, read_batch, reader);
    return stream;
}

static void release_one(stress *s)
{
    const uint32_t which = draw(&s->random, s->held_count);
    sluice_batch *batch = s->held[which];
    s->held[which] = s->held[--s->held_count];
    struct CUstream_st *stream = look(s, batch);
    const bool on_stream = draw(&s->random, 4) > 0;
    if (!on_stream) {
        rig_synchronize(&s->rig, stream);
    }
    assert_int_equal(sl_staging_release(batch, on_stream, stream), SLUICE_OK);
}

static void take(stress *s, sluice_batch *batch)
{
    assert_int_equal(batch->facts.step, s->expected);
    s->expected++;
    s->taken++;
    s->held[s->held_count++] = batch;
    while (s->held_count > s->held_max || (s->held_count > 0 && draw(&s->random, 2) == 0)) {
        release_one(s);
    }
}

static void stop(stress *s)
{
    sl_lock(&s->mutex);
    s->running = false;
    sl_unlock(&s->mutex);
    sl_staging_drain(s->rig.staging);
    assert_int_equal(sl_staging_begun(s->rig.staging), rig_taken(&s->rig));
}

static void start(stress *s, uint64_t steps, bool fails)
{
    const uint64_t first = sl_staging_begun(s->rig.staging);
    sl_staging_set_end(s->rig.staging, first + steps);
    sl_staging_cancel(s->rig.staging, false);
    sl_lock(&s->mutex);
    s->expected = first;
    s->step = first;
    s->failing_step = fails ? first + draw(&s->random, STEPS_MAX) : UINT64_MAX;
    s->running = true;
    sl_unlock(&s->mutex);
    begin_steps(s);
}

/* Runs once to its end, to a failure, to its cancellation or to a random drain. */
static sluice_status consume_run(stress *s)
{
    const uint64_t steps = 1 + draw(&s->random, STEPS_MAX);
    const bool stops_early = draw(&s->random, 3) == 0;
    const uint64_t stop_after = draw(&s->random, STEPS_MAX);
    start(s, steps, draw(&s->random, FAILED_RUNS) == 0);
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; status == SLUICE_OK && !(stops_early && i == stop_after); i++) {
        sluice_batch *batch = NULL;
        sluice_error error;
        status = sl_staging_next(s->rig.staging, LONG, &batch, &error);
        if (status == SLUICE_OK) {
            take(s, batch);
        }
        nap(&s->random, 200);
    }
    assert_true(status == SLUICE_OK || status == SLUICE_END || status == SLUICE_CANCELED ||
                status == SLUICE_CORRUPT);
    stop(s);
    return status;
}

static void open_stress(stress *s, rig_device kind, uint32_t host, uint32_t device, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    const rig_options options = {
        .host_slots = host,
        .device_slots = device,
        .batch = BATCH,
        .image_bytes = IMAGE,
        .fake = {.seed = seed, .delay_us = 150},
        .on_empty = begin_steps,
        .ctx = s,
    };
    s->random = seed;
    s->random_feed = seed + 1;
    s->held_max = (kind == RIG_SHARED ? host : device) - 1;
    sl_mutex_init(&s->mutex);
    assert_int_equal(rig_open(&s->rig, kind, &options, NULL), SLUICE_OK);
    s->streams[0] = s->rig.stream;
    s->streams[1] = rig_stream_new(&s->rig);
    assert_int_equal(sl_queue_open(&s->jobs, (size_t)HOST_MAX * BATCH, sizeof(job), NULL),
                     SLUICE_OK);
    for (int i = 0; i < FILLERS; i++) {
        assert_int_equal(sl_thread_start(&s->fillers[i], "filler", fill, s, NULL), SLUICE_OK);
    }
    assert_int_equal(sl_thread_start(&s->canceler, "canceler", cancel_at_random, s, NULL),
                     SLUICE_OK);
}

static void close_stress(stress *s)
{
    atomic_store_explicit(&s->over, true, memory_order_relaxed);
    sl_thread_join(&s->canceler);
    sl_queue_close(&s->jobs);
    for (int i = 0; i < FILLERS; i++) {
        sl_thread_join(&s->fillers[i]);
    }
    sl_queue_destroy(&s->jobs);
    sl_staging_close(s->rig.staging); /* held batches outlive it */
    s->rig.staging = NULL;
    while (s->held_count > 0) {
        release_one(s);
    }
    rig_synchronize(&s->rig, s->streams[0]);
    rig_synchronize(&s->rig, s->streams[1]);
    assert_int_equal(rig_close(&s->rig), 0);
    assert_int_equal(atomic_load_explicit(&s->bad_rows, memory_order_relaxed), 0);
    sl_mutex_destroy(&s->mutex);
}

static void stress_device(rig_device kind)
{
    static const uint32_t depths[][2] = {{1, 1}, {2, 1}, {1, 2}, {3, 2}, {HOST_MAX, 3}};
    static stress s;
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        uint64_t ended = 0;
        open_stress(&s, kind, depths[i][0], depths[i][1], 1000 + i);
        for (int run = 0; run < RUNS; run++) {
            ended += consume_run(&s) == SLUICE_END;
        }
        printf("%s, %u+%u slots: %d batches, %d of %d runs to their end, %d cancels\n",
               rig_device_name(kind), depths[i][0], depths[i][1], (int)s.taken, (int)ended, RUNS,
               (int)atomic_load_explicit(&s.cancels, memory_order_relaxed));
        close_stress(&s);
        assert_true(s.taken > 0);
    }
}

TEST(every_row_arrives)
{
    for
        RIG_EACH(kind)
        {
            stress_device(kind);
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
