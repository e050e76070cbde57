/* SPDX-License-Identifier: Apache-2.0 */
#include "staging_rig.h"

#include "clock.h"
#include "error.h"
#include "fake_cuda_client.h"
#include "rig_cuda.h"
#include "staging_state.h"
#include "test.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77
#define LOST    700 /* the same as fake_device's */

#define NAP_NS      UINT64_C(100000)
#define PATIENCE_NS TEST_PATIENCE_NS

const char *rig_device_name(rig_device kind)
{
    static const char *const names[] = {"shared host", "copying host", "fake", "fake CUDA", "CUDA"};
    return names[kind];
}

/* ---- which devices ---- */

rig_device rig_first(void)
{
    const char *wanted = getenv("SLUICE_TEST_DEVICE");
    if (wanted == NULL) {
        return RIG_SHARED;
    }
    return strcmp(wanted, "cuda") == 0 ? RIG_CUDA : RIG_FAKE_CUDA;
}

rig_device rig_after(rig_device kind)
{
    return kind < RIG_FAKE ? kind + 1 : RIG_DEVICES;
}

rig_device rig_late(void)
{
    const rig_device first = rig_first();
    if (first == RIG_CUDA) {
        return RIG_DEVICES;
    }
    return first == RIG_FAKE_CUDA ? RIG_FAKE_CUDA : RIG_FAKE;
}

int rig_skip(void)
{
    char reason[sizeof(((sluice_error *)NULL)->text)] =
        "the environment variable SLUICE_CUDA_DRIVER names no fake driver";
    sl_device *device = NULL;
    if (rig_first() < RIG_FAKE_CUDA || (rig_first() == RIG_FAKE_CUDA && fake_cuda_open() != NULL)) {
        return 0;
    }
    if (rig_first() == RIG_CUDA) {
        sluice_error error;
        sl_error_clear(&error);
        if (sl_device_open(&device, "cuda", &error) == SLUICE_OK) {
            sl_device_close(device);
            return 0;
        }
        snprintf(reason, sizeof(reason), "%s", error.text);
    }
    printf("skipped: %s\n", reason);
    return SKIPPED;
}

int rig_skip_late(void)
{
    if (rig_late() == RIG_DEVICES) {
        printf("skipped: a real device cannot be held back or made to fail\n");
        return SKIPPED;
    }
    return rig_skip();
}

/* ---- opening and closing ---- */

static sl_device *open_device(const char *name)
{
    sl_device *device = NULL;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_device_open(&device, name, &error) != SLUICE_OK) {
        fprintf(stderr, "%s: %s\n", name, error.text);
        abort();
    }
    return device;
}

sl_device *rig_host_open(rig_device kind)
{
    assert(kind <= RIG_COPYING);
    sl_device *device = open_device("host");
    device->shares_memory = kind == RIG_SHARED;
    return device;
}

/* A process has only one driver: rigs open at the same time share it. */
static uint32_t fake_cuda_users;

static sl_device *prepare_fake_cuda(rig *r, const fake_options *options)
{
    static const fake_cuda_control *shared;
    if (fake_cuda_users++ == 0) {
        shared = fake_cuda_open();
    }
    r->cuda = shared;
    assert(r->cuda != NULL);
    r->cuda->set(&(fake_cuda_options){.seed = options->seed,
                                      .delay_us = options->delay_us,
                                      .ignore_releases = options->ignore_releases,
                                      .ignore_ready = options->ignore_ready,
                                      .events_lie = options->events_lie});
    return open_device("cuda:0");
}

sl_device *rig_prepare(rig *r, rig_device kind, const rig_options *options)
{
    memset(r, 0, sizeof(*r));
    r->kind = kind;
    r->options = *options;
    sl_device *device = NULL;
    switch (kind) {
    case RIG_FAKE:
        r->fake = fake_device_new(&options->fake);
        device = fake_device_get(r->fake);
        break;
    case RIG_FAKE_CUDA:
        device = prepare_fake_cuda(r, &options->fake);
        break;
    case RIG_CUDA:
        r->real = rig_cuda_open();
        device = open_device("cuda:0");
        break;
    default:
        device = rig_host_open(kind);
        break;
    }
    r->stream = rig_stream_new(r);
    return device;
}

sluice_status rig_open(rig *r, rig_device kind, const rig_options *options, sluice_error *error)
{
    sl_device *device = rig_prepare(r, kind, options);
    const rig_part_list parts = rig_parts(options->image_bytes);
    const sl_staging_config config = {
        .host_slots = options->host_slots,
        .device_slots = options->device_slots,
        .batch = options->batch,
        .parts = parts.of,
        .part_count = RIG_PARTS,
        .budget = options->budget,
        .on_empty = options->on_empty,
        .ctx = options->ctx,
    };
    return sl_staging_open(&r->staging, device, &config, error);
}

/* A thread that cannot enter the context cannot submit anything. */
static bool entry_failed(const fake_cuda_control *fake)
{
    const char *failed = fake->failed_call();
    return failed != NULL && (strcmp(failed, "cuCtxPushCurrent_v2") == 0 ||
                              strcmp(failed, "cuThreadExchangeStreamCaptureMode") == 0);
}

static uint64_t close_fake_cuda(rig *r)
{
    char left[160] = "";
    const bool last = --fake_cuda_users == 0;
    const bool tells = last && !entry_failed(r->cuda);
    const uint64_t leaks = tells ? r->cuda->leaks(left, sizeof(left)) : 0;
    const uint64_t violations = r->cuda->violations();
    const bool in_place = r->cuda->context_depth() == 0 && r->cuda->capture_mode() == 0;
    if (leaks + violations > 0 || !in_place) {
        fprintf(stderr, "first misuse: \"%s\"; left open: \"%s\"; thread %s\n",
                r->cuda->first_violation(), left, in_place ? "put back" : "not put back");
    }
    if (last) {
        r->cuda->reset();
    }
    r->cuda = NULL;
    return violations + leaks + !in_place;
}

uint64_t rig_close(rig *r)
{
    uint64_t violations = 0;
    sl_staging_close(r->staging);
    r->staging = NULL;
    if (r->cuda != NULL) {
        return close_fake_cuda(r);
    }
    if (r->fake != NULL) {
        violations = fake_violations(r->fake);
        if (violations > 0) {
            fprintf(stderr, "first misuse: %s\n", fake_first_violation(r->fake));
        }
        fake_device_free(r->fake);
        r->fake = NULL;
    }
    rig_cuda_close(r->real);
    r->real = NULL;
    return violations;
}

void rig_must_open(rig *r, rig_device kind, const rig_options *options)
{
    sluice_error error;
    sl_error_clear(&error);
    if (rig_open(r, kind, options, &error) != SLUICE_OK) {
        fail_msg("%s: %s", rig_device_name(kind), error.text);
    }
}

void rig_on_each(void (*body)(rig *r), const rig_options *options)
{
    for
        RIG_EACH(kind)
        {
            rig r;
            rig_must_open(&r, kind, options);
            body(&r);
            assert_int_equal(rig_close(&r), 0);
        }
}

/* ---- the consumer's side ---- */

struct CUstream_st *rig_stream_new(rig *r)
{
    switch (r->kind) {
    case RIG_FAKE:
        return fake_stream_new(r->fake);
    case RIG_FAKE_CUDA:
        return r->cuda->stream_new(false);
    case RIG_CUDA:
        return rig_cuda_stream_new(r->real);
    default:
        return NULL;
    }
}

void rig_synchronize(rig *r, struct CUstream_st *stream)
{
    if (r->fake != NULL) {
        fake_stream_synchronize(r->fake, stream);
    } else if (r->cuda != NULL) {
        r->cuda->synchronize(stream);
    } else if (r->real != NULL) {
        rig_cuda_synchronize(r->real, stream);
    }
}

/* Size of the fields after the images, in one block. */
static size_t tail_bytes(const rig *r, const rig_view *view)
{
    return (size_t)(view->mask - (const uint8_t *)view->labels) + r->options.batch;
}

static void kernel_on_fake_cuda(rig *r, struct CUstream_st *stream, rig_view *view,
                                void (*run)(void *ctx), void *ctx)
{
    const fake_cuda_reader reader = {
        .from = {view->images, view->labels},
        .bytes = {(size_t)r->options.image_bytes * r->options.batch, tail_bytes(r, view)},
        .run = run,
        .ctx = ctx};
    view->images = r->cuda->memory(view->images);
    view->labels = r->cuda->memory(view->labels);
    view->indices = r->cuda->memory(view->indices);
    view->status = r->cuda->memory(view->status);
    view->mask = r->cuda->memory(view->mask);
    r->cuda->launch(stream, &reader);
}

void rig_kernel(rig *r, struct CUstream_st *stream, rig_view *view, void (*run)(void *ctx),
                void *ctx)
{
    const size_t images = (size_t)r->options.image_bytes * r->options.batch;
    switch (r->kind) {
    case RIG_FAKE:
        fake_kernel_on(r->fake, stream, (const void *const[]){view->images, view->labels}, run,
                       ctx);
        break;
    case RIG_FAKE_CUDA:
        kernel_on_fake_cuda(r, stream, view, run, ctx);
        break;
    case RIG_CUDA:
        rig_cuda_kernel(r->real, &(rig_cuda_reader){.stream = stream,
                                                    .view = view,
                                                    .images = images,
                                                    .tail = tail_bytes(r, view),
                                                    .run = run,
                                                    .ctx = ctx});
        break;
    default:
        run(ctx);
        break;
    }
}

/* ---- operations of late devices ---- */

void rig_hold(rig *r, bool hold)
{
    if (r->fake != NULL) {
        fake_hold(r->fake, hold);
    } else if (r->cuda != NULL) {
        r->cuda->hold(hold);
    }
}

void rig_hold_stream(rig *r, struct CUstream_st *stream, bool hold)
{
    if (r->fake != NULL) {
        fake_hold_stream(r->fake, stream, hold);
    } else {
        r->cuda->hold_stream(stream, hold);
    }
}

void rig_capture(rig *r, bool capture)
{
    if (r->fake != NULL) {
        fake_refuse_streams(r->fake, capture);
    } else {
        r->cuda->capture(r->stream, capture);
    }
}

void rig_fail(rig *r, uint64_t nth, bool sticky)
{
    if (r->fake != NULL) {
        fake_fail(r->fake, nth, sticky);
    } else {
        r->cuda->fail_call(&(fake_cuda_fault){.nth = nth, .code = LOST, .sticky = sticky});
    }
}

bool rig_has_failed(rig *r)
{
    return r->fake != NULL ? fake_has_failed(r->fake) : r->cuda->failed_call() != NULL;
}

uint64_t rig_copies(rig *r)
{
    return r->fake != NULL ? fake_copies(r->fake) : r->cuda->copies();
}

uint64_t rig_violations(rig *r)
{
    if (r->fake != NULL) {
        return fake_violations(r->fake);
    }
    return r->cuda != NULL ? r->cuda->violations() : 0;
}

const char *rig_first_violation(rig *r)
{
    if (r->fake != NULL) {
        return fake_first_violation(r->fake);
    }
    return r->cuda != NULL ? r->cuda->first_violation() : "";
}

/* ---- contents ---- */

static uint8_t image_byte(uint64_t step, uint32_t row, uint32_t at)
{
    const uint64_t mixed =
        (step * 1000003 + (uint64_t)row * 7919 + at / 8) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint8_t)(mixed >> 40) ^ (uint8_t)at;
}

static int64_t label_of(uint64_t step, uint32_t row)
{
    return (int64_t)(step * 131 + row);
}

static int64_t index_of(uint64_t step, uint32_t row)
{
    return -(int64_t)(step << 16 | row);
}

void rig_fill_row(const rig_view *view, uint32_t image_bytes, uint64_t step, uint32_t row)
{
    uint8_t *image = view->images + (size_t)row * image_bytes;
    for (uint32_t i = 0; i < image_bytes; i++) {
        image[i] = image_byte(step, row, i);
    }
    view->labels[row] = label_of(step, row);
    view->indices[row] = index_of(step, row);
    view->status[row] = (uint8_t)((step + row) % 4);
    view->mask[row] = (uint8_t)((step ^ row) & 1);
}

static bool row_is_good(const rig_view *view, uint32_t image_bytes, uint64_t step, uint32_t row)
{
    const uint8_t *image = view->images + (size_t)row * image_bytes;
    for (uint32_t i = 0; i < image_bytes; i++) {
        if (image[i] != image_byte(step, row, i)) {
            return false;
        }
    }
    return view->labels[row] == label_of(step, row) && view->indices[row] == index_of(step, row) &&
           view->status[row] == (step + row) % 4 && view->mask[row] == ((step ^ row) & 1);
}

uint32_t rig_bad_rows(const rig_view *view, uint32_t image_bytes, uint64_t step, uint32_t rows)
{
    uint32_t bad = 0;
    for (uint32_t row = 0; row < rows; row++) {
        bad += !row_is_good(view, image_bytes, step, row);
    }
    return bad;
}

/* ---- steps ---- */

int rig_begin_view(rig *r, const sl_batch_facts *facts, rig_view *view)
{
    sl_part_view parts;
    uint32_t slot;
    if (sl_staging_begin(r->staging, facts, &slot, &parts) != SLUICE_OK) {
        return -1;
    }
    if (view != NULL) {
        *view = rig_view_of(parts);
    }
    /* Relaxed: threads that complete rows have received the slot from this thread. */
    atomic_store_explicit(&r->left[slot], facts->rows, memory_order_relaxed);
    if (facts->rows == 0) {
        sl_staging_filled(r->staging, slot, NULL);
    }
    return (int)slot;
}

int rig_begin(rig *r, uint64_t step, uint32_t rows)
{
    const sl_batch_facts facts = {.epoch = 1, .step = step, .rows = rows};
    return rig_begin_view(r, &facts, NULL);
}

void rig_complete(rig *r, int slot, uint32_t rows)
{
    /* Acquire and release: the thread that completes the last row sees all rows. */
    if (rows > 0 && atomic_fetch_sub_explicit(&r->left[slot], rows, memory_order_acq_rel) == rows) {
        sl_staging_filled(r->staging, (uint32_t)slot, NULL);
    }
}

int rig_try_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows)
{
    const sl_batch_facts facts = {.epoch = epoch, .step = step, .rows = rows};
    rig_view view;
    const int slot = rig_begin_view(r, &facts, &view);
    for (uint32_t row = slot >= 0 ? rows : 0; row-- > 0;) {
        rig_fill_row(&view, r->options.image_bytes, step, row);
        rig_complete(r, slot, 1);
    }
    return slot;
}

int rig_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows)
{
    const uint64_t deadline = sl_now_ns() + PATIENCE_NS;
    int slot;
    while ((slot = rig_try_fill(r, epoch, step, rows)) < 0 && sl_now_ns() < deadline) {
        sl_sleep_until_ns(sl_now_ns() + NAP_NS);
    }
    return slot;
}

typedef struct reading {
    const sluice_batch *batch;
    rig_view view;
    uint32_t image_bytes;
    uint32_t bad;
} reading;

static void read_batch(void *ctx)
{
    reading *this = ctx;
    this->bad = rig_bad_rows(&this->view, this->image_bytes, this->batch->facts.step,
                             this->batch->facts.rows);
}

uint32_t rig_read(rig *r, sluice_batch *batch)
{
    reading this = {
        .batch = batch, .image_bytes = r->options.image_bytes, .bad = batch->facts.rows};
    if (sl_staging_wait(batch, r->stream) != SLUICE_OK) {
        return this.bad;
    }
    this.view = rig_view_of(batch->parts);
    rig_kernel(r, r->stream, &this.view, read_batch, &this);
    rig_synchronize(r, r->stream);
    return this.bad;
}

uint64_t rig_taken(const rig *r)
{
    sl_lock(&r->staging->mutex);
    const uint64_t taken = r->staging->slots.taken;
    sl_unlock(&r->staging->mutex);
    return taken;
}
