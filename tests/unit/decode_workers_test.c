/* SPDX-License-Identifier: Apache-2.0 */
/* The worker pool: each job runs once, a decoder for each thread, back-pressure, starting and
 * stopping. */
#include "jpeg_make.h"
#include "test.h"
#include "workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JOBS = 400, CAPACITY = 4 };

typedef struct job {
    uint32_t number;
    uint32_t padding[5];
} job;

typedef struct record {
    jpeg_file file;
    _Atomic uint32_t runs[JOBS];
    _Atomic uint32_t good, named;
    pthread_mutex_t gate; /* workers pass through this mutex */
} record;

static void run(void *ctx, uint32_t number, sl_decoder *decoder, void *argument)
{
    record *r = ctx;
    job *mine = argument;
    (void)pthread_mutex_lock(&r->gate);
    (void)pthread_mutex_unlock(&r->gate);
    sl_value stored = {.bytes = {r->file.data, r->file.size}};
    sl_picture picture;
    sl_image view;
    if (sl_decoder_open_picture(decoder, &stored, &picture, NULL) == SLUICE_OK &&
        sl_decoder_decode(decoder, (sl_rect){0, 0, picture.width, picture.height}, 0, 0, &view,
                          NULL) == SLUICE_OK) {
        /* sums only, read after the join: relaxed */
        atomic_fetch_add_explicit(&r->good, 1, memory_order_relaxed);
    }
    char name[16] = "";
    (void)pthread_getname_np(pthread_self(), name, sizeof(name));
    char own[24];
    (void)snprintf(own, sizeof(own), "sluice-dec-%u", number);
    if (strcmp(name, own) == 0) {
        atomic_fetch_add_explicit(&r->named, 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&r->runs[mine->number], 1, memory_order_relaxed);
    memset(mine, 0xFF, sizeof(*mine)); /* the job is the worker's own copy */
}

static void open_record(record *r)
{
    memset(r, 0, sizeof(*r));
    r->file = jpeg_make_pattern(40, 30, 1, NULL);
    (void)pthread_mutex_init(&r->gate, NULL);
}

static void close_record(record *r)
{
    (void)pthread_mutex_destroy(&r->gate);
    jpeg_free(&r->file);
}

static sl_workers *open_workers(record *r, uint32_t threads)
{
    sl_workers *workers = NULL;
    sl_workers_config config = {.threads = threads,
                                .queue_capacity = CAPACITY,
                                .job_bytes = sizeof(job),
                                .decoder = {1 << 20, 1 << 20, SLUICE_EXIF_IGNORE},
                                .run = run,
                                .ctx = r};
    assert_int_equal(sl_workers_open(&workers, &config, NULL), SLUICE_OK);
    return workers;
}

TEST(every_job_runs_once)
{
    static record r;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        open_record(&r);
        sl_workers *workers = open_workers(&r, threads);
        for (uint32_t i = 0; i < JOBS; i++) {
            job next = {.number = i};
            assert_int_equal(sl_workers_submit(workers, &next, 1), SLUICE_OK);
        }
        sl_workers_close(workers);
        for (uint32_t i = 0; i < JOBS; i++) {
            assert_int_equal(atomic_load(&r.runs[i]), 1);
        }
        assert_int_equal(atomic_load(&r.good), JOBS);
        assert_int_equal(atomic_load(&r.named), JOBS);
        close_record(&r);
    }
}

typedef struct submitter {
    sl_workers *workers;
    _Atomic uint32_t submitted;
} submitter;

static void *submit_all(void *argument)
{
    submitter *s = argument;
    for (uint32_t i = 0; i < JOBS; i++) {
        job next = {.number = i};
        if (sl_workers_submit(s->workers, &next, 1) != SLUICE_OK) {
            break;
        }
        atomic_fetch_add(&s->submitted, 1);
    }
    return NULL;
}

/* While the workers are stopped, only as many jobs are accepted as they and the queue hold. */
TEST(a_full_queue_holds_the_submitter)
{
    static record r;
    open_record(&r);
    (void)pthread_mutex_lock(&r.gate);
    submitter s = {.workers = open_workers(&r, 2)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, submit_all, &s), 0);
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 2000 && atomic_load(&s.submitted) < CAPACITY + 2; i++) {
        (void)nanosleep(&pause, NULL);
    }
    pause.tv_nsec = 30000000;
    (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&s.submitted), CAPACITY + 2);
    (void)pthread_mutex_unlock(&r.gate);
    (void)pthread_join(thread, NULL);
    uint64_t bins[SL_DEPTH_BINS] = {0};
    sl_workers_depths(s.workers, bins);
    sl_workers_close(s.workers);
    assert_true(bins[SL_DEPTH_BINS - 1] > 0);
    assert_int_equal(atomic_load(&r.good), JOBS);
    close_record(&r);
}

/* Number of the thread whose creation fails, counted down; 0: none. */
static int failing_thread;

/* The linker's names for a function replaced with --wrap.
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (failing_thread > 0 && --failing_thread == 0) {
        return EAGAIN;
    }
    return __real_pthread_create(thread, attributes, start, argument);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

TEST(pools_that_fail_to_open_leave_nothing)
{
    static record r;
    open_record(&r);
    sl_workers_config config = {.threads = 3,
                                .queue_capacity = CAPACITY,
                                .job_bytes = sizeof(job),
                                .decoder = {1 << 20, 1 << 20, SLUICE_EXIF_IGNORE},
                                .run = run,
                                .ctx = &r};
    for (int nth = 1; nth <= 3; nth++) {
        sl_workers *workers = (sl_workers *)&r;
        sluice_error error = SLUICE_ERROR_INIT;
        failing_thread = nth;
        assert_true(sl_workers_open(&workers, &config, &error) < 0);
        assert_string_not_equal(error.text, "");
        assert_null(workers);
        assert_int_equal(failing_thread, 0);
    }
    sl_workers_close(NULL);
    close_record(&r);
}
