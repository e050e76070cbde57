/* SPDX-License-Identifier: Apache-2.0 */
/* Makes every call that can fail do so once: the error is clean, and nothing leaks or hangs. */
#include "clock.h"
#include "error.h"
#include "staging_rig.h"
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCH 3
#define IMAGE 100
#define STEPS 8
#define MS    INT64_C(1000000)
#define LONG  (20000 * MS)

/* ---- refusals of the system: the countdown reaches 0 at the call that fails ---- */

static _Atomic long countdown; /* <= 0: off */

static bool refuse(void)
{
    if (atomic_load_explicit(&countdown, memory_order_relaxed) <= 0) {
        return false;
    }
    return atomic_fetch_sub_explicit(&countdown, 1, memory_order_relaxed) == 1;
}

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t bytes)
{
    return refuse() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return refuse() ? NULL : __real_calloc(count, bytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return refuse() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

int __wrap_eventfd(unsigned count, int flags)
{
    if (refuse()) {
        errno = EMFILE;
        return -1;
    }
    return __real_eventfd(count, flags);
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (refuse()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(address, bytes, protection, flags, fd, offset);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static sl_staging_config config_of(rig_part_list *parts, uint64_t image_bytes, sl_budget *budget)
{
    *parts = rig_parts(image_bytes);
    const sl_staging_config config = {.host_slots = 3,
                                      .device_slots = 2,
                                      .batch = BATCH,
                                      .parts = parts->of,
                                      .part_count = RIG_PARTS,
                                      .budget = budget};
    return config;
}

/* Opens with the nth call failing. True if no call failed. */
static bool open_refused(rig_device kind, long nth)
{
    sl_budget budget;
    sl_budget_init(&budget, UINT64_MAX);
    rig_part_list parts;
    const sl_staging_config config = config_of(&parts, IMAGE, &budget);
    sl_device *device = rig_host_open(kind);
    sl_staging *staging = NULL;
    sluice_error error;
    sl_error_clear(&error);
    atomic_store_explicit(&countdown, nth, memory_order_relaxed);
    const sluice_status status = sl_staging_open(&staging, device, &config, &error);
    const bool refused = atomic_load_explicit(&countdown, memory_order_relaxed) <= 0;
    atomic_store_explicit(&countdown, 0, memory_order_relaxed);
    if (!refused || status == SLUICE_OK) { /* threads that only populate memory are optional */
        assert_int_equal(status, SLUICE_OK);
        sl_staging_close(staging);
        return !refused;
    }
    assert_true(status == SLUICE_NOMEM || status == SLUICE_IO);
    assert_null(staging);
    assert_int_equal(error.status, status);
    assert_true(error.text[0] != '\0');
    assert_int_equal(sl_budget_used(&budget), 0);
    return false;
}

TEST(open_survives_every_refusal)
{
    for (rig_device kind = RIG_SHARED; kind <= RIG_COPYING; kind++) {
        long nth = 1;
        while (!open_refused(kind, nth)) {
            nth++;
        }
        printf("%s: %ld refusals survived\n", rig_device_name(kind), nth - 1);
        assert_true(nth > (kind == RIG_SHARED ? 3 : 7));
    }
}

TEST(the_budget_is_kept)
{
    for
        RIG_EACH(kind)
        {
            sl_budget budget;
            sl_budget_init(&budget, 1000);
            rig_options options = {.host_slots = 3,
                                   .device_slots = 2,
                                   .batch = BATCH,
                                   .image_bytes = IMAGE,
                                   .budget = &budget};
            rig r;
            sluice_error error;
            sl_error_clear(&error);
            assert_int_equal(rig_open(&r, kind, &options, &error), SLUICE_NOMEM);
            assert_non_null(strstr(error.text, "budget"));
            assert_int_equal(sl_budget_used(&budget), 0);
            assert_int_equal(rig_close(&r), 0);
        }
}

TEST(an_absurd_size_is_refused)
{
    const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX / BATCH, UINT64_MAX / BATCH / 3,
                              UINT64_C(1) << 62};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        rig_part_list parts;
        const sl_staging_config config = config_of(&parts, sizes[i], NULL);
        sl_staging *staging;
        sluice_error error;
        sl_error_clear(&error);
        sl_device *device = rig_host_open(RIG_SHARED);
        assert_int_equal(sl_staging_open(&staging, device, &config, &error), SLUICE_NOMEM);
        assert_int_equal(error.status, SLUICE_NOMEM);
    }
}

TEST(unknown_devices_are_named)
{
    static const char *const names[] = {"cuda:x", "", "hos", "hosts", "host:1", ":", "host:host"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sl_device *device = NULL;
        sluice_error error;
        sl_error_clear(&error);
        assert_int_equal(sl_device_open(&device, names[i], &error), SLUICE_INVALID);
        assert_null(device);
        assert_string_equal(error.stage, "staging");
        assert_true(error.text[0] != '\0');
    }
    sl_device_close(NULL);
}

/* ---- refusals of the device ---- */

typedef struct run {
    rig rig;
    uint32_t bad[STEPS]; /* written by kernels; read after the stream is done */
    uint64_t steps[STEPS];
    rig_view views[STEPS];
    uint32_t next_kernel;
} run;

typedef struct kernel {
    run *run;
    uint32_t number;
} kernel;

static kernel kernels[STEPS];

static void read_batch(void *ctx)
{
    const kernel *k = ctx;
    k->run->bad[k->number] =
        rig_bad_rows(&k->run->views[k->number], IMAGE, k->run->steps[k->number], BATCH);
}

static sluice_status use(run *it, sluice_batch *batch)
{
    rig *r = &it->rig;
    const sluice_status waited = sl_staging_wait(batch, r->stream);
    if (waited == SLUICE_OK) {
        kernel *k = &kernels[it->next_kernel];
        *k = (kernel){.run = it, .number = it->next_kernel++};
        it->steps[k->number] = batch->facts.step;
        it->views[k->number] = rig_view_of(batch->parts);
        rig_kernel(r, r->stream, &it->views[k->number], read_batch, k);
    }
    const sluice_status released = sl_staging_release(batch, true, r->stream);
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_STATE);
    return waited != SLUICE_OK ? waited : released;
}

/* Waits for a slot while staging has not failed. */
static sluice_status fill(rig *r, uint64_t step)
{
    while (rig_try_fill(r, 1, step, BATCH) < 0) {
        sluice_batch *batch;
        const sluice_status status = sl_staging_next(r->staging, MS / 5, &batch, NULL);
        if (status != SLUICE_AGAIN) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status one_step(run *it, uint64_t step, sluice_error *error)
{
    sluice_status status = fill(&it->rig, step);
    if (status != SLUICE_OK) {
        return status;
    }
    if (step == STEPS / 2) {
        sl_staging_drain(it->rig.staging);
        return SLUICE_OK;
    }
    sluice_batch *batch = NULL;
    status = sl_staging_next(it->rig.staging, LONG, &batch, error);
    return status == SLUICE_OK ? use(it, batch) : status;
}

/* The device has failed: every caller gets the error, and none waits for the device. */
static void expect_broken(rig *r)
{
    for (int i = 0; i < 2; i++) {
        sluice_batch *batch = NULL;
        sluice_error error;
        sl_error_clear(&error);
        assert_int_equal(sl_staging_next(r->staging, LONG, &batch, &error), SLUICE_DEVICE);
        assert_int_equal(error.status, SLUICE_DEVICE);
        assert_int_equal(error.device_code, 700);
    }
    struct pollfd poller = {.fd = sl_staging_fd(r->staging), .events = POLLIN};
    assert_int_equal(poll(&poller, 1, 0), 1);
    assert_int_equal(rig_begin(r, 99, BATCH), -1);
    sl_staging_drain(r->staging);
}

/* Runs a whole lifetime with the nth device call failing. True if no call failed. */
static bool live(uint64_t nth, bool sticky)
{
    const rig_options options = {.host_slots = 3,
                                 .device_slots = 2,
                                 .batch = BATCH,
                                 .image_bytes = IMAGE,
                                 .fake = {.seed = nth, .delay_us = 50}};
    run it = {.next_kernel = 0};
    sl_device *device = rig_prepare(&it.rig, rig_late(), &options);
    rig_part_list parts;
    const sl_staging_config config = config_of(&parts, IMAGE, NULL);
    sluice_error error;
    sl_error_clear(&error);
    rig_fail(&it.rig, nth, sticky);
    sluice_status status = sl_staging_open(&it.rig.staging, device, &config, &error);
    const bool opened = status == SLUICE_OK;
    assert_true(opened || (status == SLUICE_DEVICE && error.device_code == 700));
    for (uint64_t step = 0; step < STEPS && status == SLUICE_OK; step++) {
        status = one_step(&it, step, &error);
    }
    assert_true(status == SLUICE_OK || status == SLUICE_DEVICE);
    if (opened && status == SLUICE_DEVICE) {
        expect_broken(&it.rig);
    }
    rig_synchronize(&it.rig, it.rig.stream);
    sl_staging_close(it.rig.staging);
    it.rig.staging = NULL;
    for (uint32_t i = 0; i < it.next_kernel; i++) {
        assert_int_equal(it.bad[i], 0);
    }
    const bool failed = rig_has_failed(&it.rig);
    if (rig_violations(&it.rig) > 0) {
        print_error("call %d: %s\n", (int)nth, rig_first_violation(&it.rig));
    }
    assert_int_equal(rig_close(&it.rig), 0);
    return !failed;
}

TEST(every_device_call_may_fail)
{
    for (int sticky = 0; sticky < 2; sticky++) {
        uint64_t nth = 1;
        while (!live(nth, sticky != 0)) {
            nth += (uint64_t)TEST_AMOUNT(1, 2 + sticky);
        }
        printf("%s: %d failing calls survived\n", sticky ? "sticky" : "once", (int)nth - 1);
        assert_true(nth > 40);
    }
}

TEST(a_device_error_ends_the_wait)
{
    const rig_options options = {
        .host_slots = 2, .device_slots = 2, .batch = BATCH, .image_bytes = IMAGE};
    rig r;
    assert_int_equal(rig_open(&r, rig_late(), &options, NULL), SLUICE_OK);
    rig_fail(&r, 1, true);
    assert_true(rig_try_fill(&r, 1, 0, BATCH) >= 0);
    sluice_batch *batch;
    assert_int_equal(sl_staging_next(r.staging, LONG, &batch, NULL), SLUICE_DEVICE);
    sl_staging_cancel(r.staging, true);
    assert_int_equal(sl_staging_next(r.staging, LONG, &batch, NULL), SLUICE_CANCELED);
    sl_staging_cancel(r.staging, false);
    expect_broken(&r);
    assert_int_equal(rig_close(&r), 0);
}

int main(void)
{
    const int skipped = rig_skip_late();
    if (skipped != 0) {
        return skipped;
    }
    return test_run(NULL, NULL);
}
