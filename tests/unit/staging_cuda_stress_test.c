/* SPDX-License-Identifier: Apache-2.0 */
/* Sends ten thousand batches through the CUDA device and a fake driver with randomly late streams.
 * One thread fills, one takes; batches are held, read late on one of two streams, and released in
 * any order. The device converts half of them. The driver must see no misuse, every byte must be
 * right, and the consumer's thread must never wait for the device. */
#include "clock.h"
#include "fake_cuda_client.h"
#include "staging.h"
#include "staging_rig.h"
#include "test.h"
#include "thread.h"

#include <stdio.h>
#include <string.h>

#define BATCH    3
#define WIDTH    5
#define HEIGHT   4
#define IMAGE    ((size_t)WIDTH * HEIGHT * 3)
#define HALF     5000
#define STREAMS  2
#define SLOTS    4
#define DELAY_US 80
#define READERS  512 /* more than can be in flight: one per slot, plus its stream's queue */
#define LONG     INT64_C(30000000000)

typedef struct reader {
    struct stress *owner;
    rig_view view;
    uint64_t step;
} reader;

typedef struct stress {
    rig rig;
    bool converts;
    struct CUstream_st *streams[STREAMS];
    reader readers[READERS];
    _Atomic uint64_t bad, read;
    sl_thread filler;
    uint64_t random;
} stress;

static uint32_t draw(stress *s, uint32_t below)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->random >> 33) % below;
}

static void fill(void *ctx)
{
    stress *s = ctx;
    for (uint64_t step = 0; step < HALF; step++) {
        if (rig_fill(&s->rig, 1, step, BATCH) < 0) {
            return;
        }
    }
    sl_staging_set_end(s->rig.staging, HALF);
}

/* Applies the conversion to planes to a row, for comparison with the row as it was filled. */
static uint32_t bad_planes(const reader *r)
{
    uint8_t images[BATCH * IMAGE];
    int64_t labels[BATCH];
    int64_t indices[BATCH];
    uint8_t status[BATCH];
    uint8_t mask[BATCH];
    const rig_view filled = {
        .images = images, .labels = labels, .indices = indices, .status = status, .mask = mask};
    uint32_t bad = 0;
    for (uint32_t row = 0; row < BATCH; row++) {
        rig_fill_row(&filled, IMAGE, r->step, row);
        for (size_t at = 0; at < IMAGE; at++) {
            const size_t there = at % 3 * ((size_t)WIDTH * HEIGHT) + at / 3;
            bad += r->view.images[row * IMAGE + there] != images[row * IMAGE + at];
        }
        bad += r->view.labels[row] != labels[row] || r->view.mask[row] != mask[row];
    }
    return bad;
}

static void look(void *ctx)
{
    const reader *r = ctx;
    const uint32_t bad =
        r->owner->converts ? bad_planes(r) : rig_bad_rows(&r->view, IMAGE, r->step, BATCH);
    atomic_fetch_add_explicit(&r->owner->bad, bad, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->owner->read, 1, memory_order_relaxed);
}

static void release(stress *s, sluice_batch *batch)
{
    struct CUstream_st *stream = s->streams[draw(s, STREAMS)];
    assert_int_equal(sl_staging_wait(batch, stream), SLUICE_OK);
    reader *r = &s->readers[batch->facts.step % READERS];
    *r = (reader){.owner = s, .view = rig_view_of(batch->parts), .step = batch->facts.step};
    rig_kernel(&s->rig, stream, &r->view, look, r);
    assert_int_equal(sl_staging_release(batch, true, stream), SLUICE_OK);
}

static void consume(stress *s)
{
    sluice_batch *held[SLOTS];
    uint32_t count = 0;
    sluice_batch *batch;
    sluice_status status;
    for (uint64_t step = 0;
         (status = sl_staging_next(s->rig.staging, LONG, &batch, NULL)) == SLUICE_OK; step++) {
        assert_int_equal(batch->facts.step, step);
        held[count++] = batch;
        while (count == SLOTS - 1 || (count > 0 && draw(s, 2) == 0)) {
            const uint32_t which = draw(s, count);
            batch = held[which];
            held[which] = held[--count];
            release(s, batch);
        }
    }
    assert_int_equal(status, SLUICE_END);
    while (count > 0) {
        release(s, held[--count]);
    }
}

static void run(bool converts)
{
    static stress s;
    memset(&s, 0, sizeof(s));
    s.converts = converts;
    s.random = 7;
    const rig_options options = {.batch = BATCH,
                                 .image_bytes = IMAGE,
                                 .fake = {.seed = 1U + converts, .delay_us = DELAY_US}};
    sl_device *device = rig_prepare(&s.rig, RIG_FAKE_CUDA, &options);
    const sl_staging_conversion conversion = {
        .how = {.dtype = SLUICE_U8, .layout = SLUICE_NCHW, .width = WIDTH, .height = HEIGHT},
        .part = RIG_IMAGE,
        .flags = RIG_FLAGS};
    const rig_part_list parts = rig_parts(IMAGE);
    const sl_staging_config config = {
        .host_slots = SLOTS,
        .device_slots = SLOTS,
        .batch = BATCH,
        .parts = parts.of,
        .part_count = RIG_PARTS,
        .conversions = &conversion,
        .conversion_count = converts,
    };
    assert_true(!converts || device->converts);
    assert_int_equal(sl_staging_open(&s.rig.staging, device, &config, NULL), SLUICE_OK);
    for (int i = 0; i < STREAMS; i++) {
        s.streams[i] = rig_stream_new(&s.rig);
    }
    const fake_cuda_control *fake = s.rig.cuda;
    assert_int_equal(sl_thread_start(&s.filler, "filler", fill, &s, NULL), SLUICE_OK);
    const uint64_t waits = fake->host_waits();
    consume(&s);
    assert_int_equal(fake->host_waits(), waits);
    sl_thread_join(&s.filler);
    for (int i = 0; i < STREAMS; i++) {
        rig_synchronize(&s.rig, s.streams[i]);
    }
    assert_int_equal(fake->copies(), HALF);
    assert_int_equal(fake->kernels(), converts ? HALF : 0);
    assert_int_equal(rig_close(&s.rig), 0);
    assert_int_equal(atomic_load_explicit(&s.read, memory_order_relaxed), HALF);
    assert_int_equal(atomic_load_explicit(&s.bad, memory_order_relaxed), 0);
}

static void as_they_are(void **state)
{
    run(false);
}

static void converted(void **state)
{
    run(true);
}

int main(void)
{
    if (fake_cuda_open() == NULL) {
        printf("SLUICE_CUDA_DRIVER names no fake driver\n");
        return 77;
    }
    sl_device *device = NULL;
    const bool converts = sl_device_open(&device, "cuda:0", NULL) == SLUICE_OK && device->converts;
    sl_device_close(device);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_they_are),
        cmocka_unit_test(converted),
    };
    if (!converts) {
        printf("built without kernels: nothing is converted\n");
        const struct CMUnitTest first[] = {cmocka_unit_test(as_they_are)};
        return cmocka_run_group_tests(first, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
